"""Passwords in what is printed are blanked out."""

import pytest

from lycosa.terminal import redact


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("postgresql://u:p@h/db", "postgresql://u:***@h/db"),
        ("postgresql://u:p@ss/w@h:5432/db", "postgresql://u:***@h:5432/db"),
        ("postgresql://u@h/db", "postgresql://u@h/db"),
        ("postgresql://:p@h/db", "postgresql://:***@h/db"),
        ("postgresql://h/db?password=p&x=1", "postgresql://h/db?password=***&x=1"),
        ("host=h PASSWORD=p user=u", "host=h PASSWORD=*** user=u"),
        ("https://example.org:8080/a", "https://example.org:8080/a"),
    ],
)
def test_redact(text: str, clean: str) -> None:
    assert redact(text) == clean
