"""Columns with two values are read from their rotation without a known row; normal ones, and noisy ones, are not."""

from benchmarks.attacks.binary_columns import attack, table


def test_binary_columns_come_out_of_the_rotation() -> None:
    """Every row of every column with two values, and nothing that is none of them."""
    found = attack(table(400, 3, 0, 2, 1), 3, 0, 25, 1)
    assert found.binary == 1.0
    assert found.wrong == 0


def test_normal_columns_stay_hidden() -> None:
    """No direction takes few values only."""
    assert attack(table(400, 0, 0, 5, 2), 0, 0, 10, 2).wrong == 0


def test_errors_of_the_readings_stop_it() -> None:
    """Errors such as noise on residuals leaves stop it."""
    assert attack(table(400, 3, 0, 2, 1), 3, 0, 10, 1, noise=0.3).binary == 0.0
