"""Numbers of common ids name members if there are enough of them; a limit on alignments stops that."""

from benchmarks.attacks.repeated_alignments import counted, halved


def test_numbers_alone_name_every_member() -> None:
    """Sizes alone name every member, with far fewer alignments than people where members are few."""
    found = counted(200, 0.05)
    assert found.members + found.others == 200
    assert found.alignments < 100


def test_two_lists_that_differ_by_one_person_tell_of_that_person() -> None:
    """One number less is a member."""
    ids = {"a", "c"}
    assert halved(["a", "b"], lambda asked: len(ids & set(asked))) == ({"a"}, {"b"})


def test_a_limit_on_alignments_leaves_most_people_unknown() -> None:
    """Five sizes leave most people unknown."""
    found = counted(200, 0.3, most=5)
    assert found.alignments == 5
    assert found.members + found.others < 20
