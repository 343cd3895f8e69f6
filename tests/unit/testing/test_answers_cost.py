"""The table of what the settings for right answers cost."""

from __future__ import annotations

from tests.answers.cost import section


def test_the_section_names_what_became_slower_and_has_each_query() -> None:
    text = section({1: (1.0, 1.0), 2: (3.0, 2.0), 3: (1.0, 2.0), 4: (1.0, 1.1)}, {5: "no plan"})
    assert "All together take 6 s with the settings and 6 s with upstream's values:\n0.98 times" in text
    assert "1.25 is asked 6 times more each way.\n" in text
    assert "Beyond that factor: query 2 1.50 times as long, query 3 0.50 times as long." in text
    assert "Not measured: query 5, no plan." in text
    assert "| 1 | 1.00 | 1.00 | 3 | 1.00 | 2.00 | | | |" in text
    assert "| 2 | 3.00 | 2.00 | 4 | 1.00 | 1.10 | | | |" in text
