"""How numbers are written: plain, with a decimal comma, with thousands set apart, with a currency or a percent sign.

`1,234` is a thousand in one country and little more than one in another. So one reading serves a whole column, and it
needs a cell that proves it: `12,5` and `1.234,5` prove a decimal comma, `12.5` and `1,234.5` a decimal point.
"""

import re
from collections.abc import Callable, Iterable

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|nan|infinity)", re.IGNORECASE)
_CURRENCY = r"[$€£¥₹]|EUR|USD|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK|HUF|AUD|CAD|NZD|BRL|MXN|ZAR|TRY"
_SPACES = "\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE} '\N{RIGHT SINGLE QUOTATION MARK}"
_LAKHS = r"\d{1,2}(?:,\d{2})+,\d{3}"  # 12,34,567 is written so in India.
_DIGITS = rf"\d+|\d{{1,3}}(?:[{_SPACES}]\d{{3}})+|\d{{1,3}}(?:,\d{{3}})+|{_LAKHS}|\d{{1,3}}(?:\.\d{{3}})+"
_SIGN = "[+\N{MINUS SIGN}-]?"
AMOUNT = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>{_SIGN})\s*(?P<before>{_CURRENCY})?\s*(?P<sign2>{_SIGN})"
    rf"(?P<whole>{_DIGITS})(?P<fraction>[.,]\d+)?\s*(?P<after>{_CURRENCY}|%)?\s*(?P<close>\))?"
)
POINT, COMMA = ".", ","


def is_number(text: str) -> bool:
    """Whether a text is a number as a file of numbers would have it."""
    return NUMBER.fullmatch(text.strip()) is not None


def is_amount(text: str) -> bool:
    """Whether a text is a number in some other notation."""
    return AMOUNT.fullmatch(text.strip()) is not None


def decimal_signs(texts: Iterable[str]) -> set[str]:
    """What the cells prove about the decimal sign: nothing, one sign, or, where they contradict one another, both."""
    return {sign for text in texts for sign in _proved(text.strip())}


def has_commas(texts: Iterable[str]) -> bool:
    """Whether the decimal sign matters although no cell proves it: a dot alone is the usual one."""
    return any("," in text for text in texts)


def units(texts: Iterable[str]) -> set[str]:
    """The currencies and percent signs beside the numbers, with "" where there is none."""
    matches = (AMOUNT.fullmatch(text.strip()) for text in texts)
    return {match["before"] or match["after"] or "" for match in matches if match}


def reader_of(sign: str) -> Callable[[str], float | None]:
    """A function that reads amounts with this decimal sign; it returns None for any other text."""
    return lambda text: _amount(text, sign)


def _proved(text: str) -> set[str]:
    match = AMOUNT.fullmatch(text)
    if match is None:
        return {POINT} if NUMBER.fullmatch(text) and "." in text else set()
    whole, fraction = match["whole"], match["fraction"] or ""
    groups = [sign for sign in (POINT, COMMA) if sign in whole]
    if fraction:
        # After set-apart thousands, or with other than three digits, it can be nothing else.
        is_sure = bool(groups) or len(fraction) != 4 or not 1 <= len(whole) <= 3
        return {fraction[0]} if is_sure else set()
    # 1.234.567 sets thousands apart; 1.234 alone may be either.
    return {_other(groups[0])} if groups and whole.count(groups[0]) > 1 else set()


def _amount(text: str, sign: str) -> float | None:
    match = AMOUNT.fullmatch(text)
    if match is None:
        return float(text) if NUMBER.fullmatch(text) and (sign == POINT or "." not in text) else None
    whole, fraction = match["whole"], match["fraction"] or sign
    # 1,234 under a decimal point is a thousand; 1,2 and 12345,678 are nothing.
    is_thousands = fraction[0] != sign and len(fraction) == 4 and len(whole) <= 3
    if sign in whole or not (fraction[0] == sign or is_thousands):
        return None
    plain = re.sub(rf"[{_SPACES}{_other(sign)}]", "", whole + fraction).replace(sign, ".")
    is_negative = bool(match["open"] and match["close"]) or any(match[name] not in "+" for name in ("sign", "sign2"))
    return -float(plain) if is_negative else float(plain)


def _other(sign: str) -> str:
    return COMMA if sign == POINT else POINT
