"""Every pair of party and target has its line, whatever was found."""

from plumbob import check
from plumbob.plan import Party, Plan
from plumbob.report.pairs import pairs_of, pairs_table

PLAN = Plan.for_columns((5, 18), rows=3200).replace(
    parties=(Party("bank", "label", 5), Party("processor", "features", 18))
)


def test_all_four_pairs_have_their_parties_names() -> None:
    """Also where an attack is blocked or has nothing to work on: silence could be read either way."""
    pairs = pairs_of(PLAN, check(PLAN))
    assert list(pairs) == [
        ("processor", "bank's labels"),
        ("bank", "processor's columns and scores"),
        ("processor", "bank's columns and scores"),
        ("bank", "processor's weights"),
    ]
    assert pairs["bank", "processor's columns and scores"]["cheating"].verdict == "leaks"
    assert all(
        f"{by}</th><td>{about.replace(chr(39), '&#39;')}" in pairs_table(PLAN, check(PLAN)) for by, about in pairs
    )
