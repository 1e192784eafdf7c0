"""A number with its noun, as people read it: 1 row, 27,000 rows."""


def counted(number: int, noun: str, plural: str = "") -> str:
    """With commas between thousands; `plural` where the noun does not just get an s."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
