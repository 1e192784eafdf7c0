"""What to change in another system's job, in that system's own words: its settings, not our flags."""

from plumbob.jobs.reading import Job
from plumbob.plan import PROTOCOLS

KEYS = {
    "hetero_lr": "set encrypt_param.key_length to 2048 or more",
    "hetero_sshe_lr": "set encrypt_param.key_length to 2048 or more",
    "coordinated_lr": "set he_param.key_length to 2048 or more",
    "sshe_lr": "SSHELR takes no key length; CoordinatedLR has he_param.key_length",
}
ENCRYPTION = {
    "hetero_lr": "set encrypt_param.method to Paillier",
    "hetero_sshe_lr": "set encrypt_param.method to Paillier",
    "coordinated_lr": "set he_param.kind to paillier",
}
# What FATE offers instead of an arbiter, by component.
WITHOUT_ARBITER = {
    "hetero_lr": "HeteroSSHELR with reveal_every_iter off (1.7 and later)",
    "coordinated_lr": "SSHELR with early_stop diff",
    "hetero_lr_alpha": "SSHELR with early_stop diff (2.0 and later)",
}
HEU_BITS = "give the HEU a key_size (bit_size) of 2048 or more"
SPU = (
    "set the SPU's runtime_config.protocol to CHEETAH (two nodes), ABY3 (three nodes), or SEMI2K with beaver_type "
    "TrustedThirdParty"
)
OPENED = "keep report_weights off, and reveal no weights"
SHARED = "use ss_sgd_train (SSRegression) or HESSLogisticRegression, which open no scores and no gradients"


def advice(job: Job, protocol: str, attack: str) -> str:
    """How to stop an attack there; the last resort is to move the job."""
    offered = _fate(job, protocol, attack) if job.system == "FATE" else _secretflow(job, attack)
    return offered or f"{job.system} has no setting against it; move the job: plumbob plan new --from-{_flag(job)} FILE"


def _flag(job: Job) -> str:
    return job.system.lower()


def _fate(job: Job, protocol: str, attack: str) -> str:
    if attack == "no-encryption":
        return ENCRYPTION.get(job.component, "")
    if attack == "keys":
        return KEYS.get(job.component, "")
    if job.component in WITHOUT_ARBITER:
        own = "let an organisation be arbiter that is neither guest nor host, or " if attack == "arbiter-key" else ""
        return f"{own}use {WITHOUT_ARBITER[job.component]}, which has no arbiter and shows no gradients"
    if PROTOCOLS[protocol].shows_gradients:
        return (
            "set reveal_every_iter to false" if job.component == "hetero_sshe_lr" else "set early_stop to diff or abs"
        )
    if job.component == "hetero_sshe_lr":
        return "set reveal_strategy to encrypted_reveal_in_host, so that the host never holds its weights in the clear"
    return ""


def _secretflow(job: Job, attack: str) -> str:
    if attack == "no-encryption":
        return SPU if "SPU" in job.unprotected else "choose a schema of the HEU that encrypts, such as paillier"
    if attack == "keys":
        return HEU_BITS
    return SHARED if job.scores_in_the_clear else OPENED
