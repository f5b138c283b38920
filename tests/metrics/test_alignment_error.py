import pytest

from regard.data.links import parse_gold, parse_links
from regard.metrics.alignment_error import ErrorRates, error_rates


def test_error_rates_by_hand() -> None:
    gold = [parse_gold("0-0 1-1 2?1"), parse_gold("0-0 1?0")]
    found = [parse_links("0-0 2-1 3-3"), parse_links("0-0")]
    # A = 4 links, S = 3, of them 2 found; possible ones found: 0-0, 2-1, 0-0
    rates = error_rates(found, gold)
    assert (rates.precision, rates.recall) == (3 / 4, 2 / 3)
    assert rates.error_rate == pytest.approx(1 - (2 + 3) / (4 + 3))
    assert str(error_rates(found, gold)) == "precision 75.0%, recall 66.7%, AER 28.6%"
    assert error_rates([parse_links("0-0 1-1")], [parse_gold("0-0 1-1")]) == ErrorRates(1, 1, 0)
    assert error_rates([()], [parse_gold("0-0")]) == ErrorRates(1, 0, 1)
    assert error_rates([()], [parse_gold("")]).error_rate == 0
    with pytest.raises(ValueError, match="zip"):
        error_rates([()], [])
