"""What a run does not protect, in sentences: the part of docs/limitations.md that this plan makes true."""

from collections.abc import Iterator

from plumbob.plan import Plan


def limits_of(plan: Plan) -> Iterator[str]:
    """From the most to the least important for whoever decides."""
    yield from _of_protocol(plan)
    yield from _of_noise(plan)
    yield "The finished model and every prediction that is shown depend on everybody's data."
    yield "Integrity: a dishonest party can spoil the model without being noticed."
    yield "Shapes are public: rows, columns, steps and the length of messages."
    yield "Attacks that nobody has thought of: blocked only means that the known attacks got nowhere."


def decided_limits_of(plan: Plan) -> Iterator[str]:
    """The same for one page, where shapes and attacks that nobody knows have a place of their own."""
    yield from _of_protocol(plan)
    yield from _of_noise(plan)
    yield "What the finished model and each prediction say: they depend on everybody's data."
    yield "The result itself: a dishonest organisation can spoil the model without being noticed."
    yield "That a person is in several tables: the organisations learn which rows they have in common."


def _of_protocol(plan: Plan) -> Iterator[str]:
    if plan.protocol == "clear":
        yield "Nothing was encrypted: clear is for research and protects nobody."
    elif plan.protocol != "shares":
        yield (
            "Every party gets its own gradient in every step, and each gradient is an equation about labels. "
            "Encryption does not change that, and larger batches only slow it down."
        )
        yield "A party that sets all but a few of its rows to zero chooses whose labels it learns; nobody can notice."
    elif plan.open == "own" and plan.noise == "rows":
        yield (
            "The weights opened at the end say something about single people, but no more than the promise in numbers "
            "allows."
        )
    elif plan.open == "own":
        yield (
            "The weights opened at the end give each party one equation about labels per column, and a party that "
            "chooses its rows chooses whose labels these are about."
        )


def _of_noise(plan: Plan) -> Iterator[str]:
    if plan.noise == "rows":
        yield "Who takes part and how many, held-out rows, later predictions: the promise about rows leaves these out."
    if plan.noise == "sound":
        yield "The noise gives differential privacy to single labels, not about whole rows, and not about columns."
    if plan.label_flip_epsilon:
        yield "Flipped labels give differential privacy to labels, not about columns."
