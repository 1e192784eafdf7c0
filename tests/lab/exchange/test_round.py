"""One whole round, as two parties do it: equal to plain integers, the same from every engine, and frozen.

The frozen vectors notice any change of format or scheme. If the change is meant, say so in the changelog and rewrite
them with `python -m tests.crypto.test_round`.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from plumbob.lab.exchange import paillier, profiles
from plumbob.lab.exchange.engines.interface import PaillierEngine
from plumbob.lab.exchange.engines.python import PythonEngine
from plumbob.lab.exchange.packing import Slots
from plumbob.lab.exchange.paillier import PrivateKey, PublicKey, admit
from plumbob.lab.exchange.profiles import Profile
from plumbob.lab.exchange.proof import ProofContext, prove
from tests.crypto.support import seeded
from tests.lab.exchange.support import decrypt_signed, integers, plain_product

FROZEN = Path(__file__).with_name("frozen.json")
VALUES = [(-1) ** row * (row * 123457 % (1 << 20)) for row in range(24)]
X = integers([[(row * 31 + column * 17) % 511 - 255 for column in range(9)] for row in range(24)], bits=9)
SLOT_BITS = 34


def play(profile: Profile, engine: PaillierEngine, seed: str = "round") -> dict[str, Any]:
    """A helper encrypts, a learner multiplies and masks, the helper opens, the learner unpacks; all that travelled."""
    key = paillier.generate(profile, engine, seeded(seed))
    request = key.encrypt(VALUES).to_bytes()
    slots = Slots.packed(profile, 9, SLOT_BITS)
    sums = slots.pack(admit(key.public, request, 24) @ X)
    mask = key.public.random_mask(slots.replies, slots.masked_bits)
    reply = (sums + mask).randomised().to_bytes()
    opened = slots.to_bytes(slots.truncate(key.decrypt(admit(key.public, reply, slots.replies))))
    return {
        "key": key.public.to_bytes().hex(),
        "proof": digest(prove(key, CONTEXT)),
        "request": request.hex(),
        "reply": reply.hex(),
        "opened": opened.hex(),
        "sums": slots.unpack(slots.from_bytes(opened), mask),
    }


CONTEXT = ProofContext(b"frozen", "bank", "shop")


def digest(data: bytes) -> str:
    """A digest short enough to be frozen."""
    return hashlib.sha256(data).hexdigest()


def test_frozen_vectors_have_not_changed(engine: PaillierEngine) -> None:
    """The same seed gives the same bytes as when they were frozen, at every step and from every engine.

    The learner ends with exactly the product that it would have from the values themselves.
    """
    frozen = json.loads(FROZEN.read_text())["round"]
    played = play(profiles.insecure_for_tests(frozen["key_bits"]), engine, frozen["seed"])
    assert played["sums"] == plain_product(VALUES, X)
    for step, expected in frozen["steps"].items():
        assert shortened(played[step]) == expected, step


def test_frozen_ciphertexts_still_open(engine: PaillierEngine) -> None:
    """Ciphertexts from the past decrypt today: the key, its byte order and the scheme are what they were."""
    frozen = json.loads(FROZEN.read_text())["ciphertexts"]
    p, q = int(frozen["p"], 16), int(frozen["q"], 16)
    key = PrivateKey(p, q, PublicKey(p * q, profiles.insecure_for_tests(512), engine))
    data = bytes.fromhex(frozen["data"])
    assert decrypt_signed(key, admit(key.public, data, len(frozen["plaintexts"]))) == frozen["plaintexts"]


def shortened(value: Any) -> Any:
    """Long byte strings as their hash."""
    return digest(bytes.fromhex(value)) if isinstance(value, str) and len(value) > 64 else value


def freeze() -> None:
    """Write the vectors again."""
    engine = PythonEngine()
    played = play(profiles.insecure_for_tests(768), engine, "frozen")
    steps = {step: shortened(value) for step, value in played.items()}
    frozen: dict[str, Any] = {"round": {"seed": "frozen", "key_bits": 768, "steps": steps}}
    key = paillier.generate(profiles.insecure_for_tests(512), engine, seeded("frozen ciphertexts"))
    plaintexts = [0, 1, -1, 1 << 64, -(1 << 400)]
    data = key.encrypt(plaintexts).to_bytes().hex()
    frozen["ciphertexts"] = {"p": hex(key._p), "q": hex(key._q), "plaintexts": plaintexts, "data": data}
    FROZEN.write_text(json.dumps(frozen, indent=1) + "\n")


if __name__ == "__main__":
    freeze()
