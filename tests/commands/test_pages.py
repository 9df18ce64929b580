"""A page as `lycosa pages` and `lycosa show` print it."""

from lycosa.commands.printing import page_json, page_line
from lycosa.commands.show import record_lines
from lycosa.reading.values import page_of
from support.made import made_page

NOW = 1_800_000_000_000


def test_a_page_as_a_line_a_record_and_json() -> None:
    row = made_page("https://example.org/a", "redirect", status=301, depth=1, fetched_ms=NOW)
    row.redirect, row.text_row = "https://example.org/b", b"x"
    page = page_of(1, row)
    assert page_line(page) == (
        "2027-01-15T08:00:00Z 301 redirect     https://example.org/a -> https://example.org/b"
    )
    assert "redirect https://example.org/b" in record_lines(page)
    assert not any(line.startswith("title") for line in record_lines(page))
    values = page_json(page)
    assert values["fetched_at"] == "2027-01-15T08:00:00Z"
    assert not {"text_row", "fp", "order"} & set(values)
