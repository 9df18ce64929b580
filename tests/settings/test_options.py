"""Options: how times, sizes, numbers, name servers and ports are written, and the table itself."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lycosa.settings.amounts import (
    parse_bandwidth,
    parse_bot_name,
    parse_seconds,
    parse_size,
    parse_switch,
    parse_whole,
)
from lycosa.settings.options import (
    OPTIONS,
    options_of,
    parse_contact_url,
    parse_email,
    parse_nameserver,
    parse_port_map,
    parse_when,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *[("90", 90), ("30m", 1800), ("12h", 43200), ("2d", 172800), ("1.5h", 5400)],
        *[("500ms", 0.5), (" 90 s ", 90), ("0", 0), (90, 90), (0.5, 0.5), ("1H", 3600)],
    ],
)
def test_times(text: object, seconds: float) -> None:
    assert parse_seconds(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "x", "-1", -1, "1y", "1h30m", "nan", "inf", True, None, []])
def test_times_refused(text: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        parse_seconds(text)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e16])
def test_times_must_be_finite(value: float) -> None:
    with pytest.raises(ValueError):
        parse_seconds(value)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        *[("5M", 5 << 20), ("5MiB", 5 << 20), ("5mb", 5 << 20), ("512k", 512 << 10)],
        *[("1.5G", 3 << 29), ("100", 100), ("100B", 100), (4096, 4096), ("1 T", 1 << 40)],
    ],
)
def test_sizes(text: object, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["0", "-5M", "M", "5X", "", "5MM", True, None])
def test_sizes_refused(text: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        parse_size(text)


def test_whole_numbers() -> None:
    assert parse_whole("1,000") == parse_whole("1_000") == parse_whole(1000) == 1000
    for bad in ("1.5", "-1", 1.5, True, "", "x"):
        with pytest.raises(ValueError):
            parse_whole(bad)
    with pytest.raises(ValueError):
        parse_whole(0, low=1)


def test_switches() -> None:
    assert parse_switch("yes") and parse_switch("ON") and parse_switch(True)
    assert not parse_switch("0") and not parse_switch(False)
    for bad in ("maybe", 1, ""):
        with pytest.raises(ValueError):
            parse_switch(bad)


def test_name_servers() -> None:
    assert parse_nameserver("192.0.2.1") == ("192.0.2.1", 53)
    assert parse_nameserver("192.0.2.1:5353") == ("192.0.2.1", 5353)
    assert parse_nameserver("[2001:db8::1]:5353") == ("2001:db8::1", 5353)
    assert parse_nameserver("2001:db8::1") == ("2001:db8::1", 53)
    for bad in ("dns.example.org", "192.0.2.1:0", "192.0.2.1:65536", "192.0.2.1:", ""):
        with pytest.raises(ValueError):
            parse_nameserver(bad)


def test_port_maps() -> None:
    assert parse_port_map("80=18080,443=18443") == {80: 18080, 443: 18443}
    assert parse_port_map({"80": 18080}) == {80: 18080}
    for bad in ("80", "80=x", "80=1=2", "0=80", "80=70000", ""):
        with pytest.raises(ValueError):
            parse_port_map(bad)


def test_contact_may_not_break_the_user_agent() -> None:
    assert parse_email("a.b+c@example.org") == "a.b+c@example.org"
    for bad in ("nobody", "a b@c", "a@b\r\nX: y", "a@b;c", "a@b)", "@b", "a@", "a@b@c"):
        with pytest.raises(ValueError):
            parse_email(bad)
    assert parse_contact_url("https://example.org/bot?x=1") == "https://example.org/bot?x=1"
    for bad in ("example.org", "ftp://x", "https://a b", "https://a;b", "https://a)", "https://ü"):
        with pytest.raises(ValueError):
            parse_contact_url(bad)


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("90", timedelta(seconds=90)),
        ("2h", timedelta(hours=2)),
        ("2026-01-31", datetime(2026, 1, 31, tzinfo=UTC)),
        ("2026-01-31T12:30", datetime(2026, 1, 31, 12, 30, tzinfo=UTC)),
        ("2026-01-31T12:30+00:00", datetime(2026, 1, 31, 12, 30, tzinfo=UTC)),
    ],
)
def test_a_time_ago_or_a_day(text: str, when: datetime | timedelta) -> None:
    assert parse_when(text) == when


@pytest.mark.parametrize("text", ["yesterday", "2026-13-01", "2026-1", "-2h", "99999999d", ""])
def test_no_time(text: str) -> None:
    with pytest.raises(ValueError):
        parse_when(text)


def test_the_table_of_options_is_sound() -> None:
    for command in {name for option in OPTIONS for name in option.commands}:
        names = [option.name for option in options_of(command)]
        assert len(names) == len(set(names)), command
    for option in OPTIONS:
        assert option.help[0].islower() or option.help.startswith("URL"), option.name
        assert not option.help.endswith("."), option.name
        defaults = option.default if isinstance(option.default, tuple) else (option.default,)
        assert option.repeat == isinstance(option.default, tuple), option.name
        for default in defaults:
            if default not in (None, ""):
                given = str(default) if isinstance(default, Path) else default
                assert option.kind.parse(given) == default, option.name


@pytest.mark.parametrize(
    ("text", "per_second"),
    [
        *[("2M", 2 << 20), ("2MiB/s", 2 << 20), ("2MB/s", 2 << 20), ("500k/s", 500 << 10)],
        *[("20Mbit/s", 2_500_000), ("20 mbit", 2_500_000), ("8000bit/s", 1000)],
        *[("1.5Gbps", 187_500_000), ("100kbits/s", 12_500), (5000, 5000), ("1000", 1000)],
    ],
)
def test_bandwidths(text: object, per_second: int) -> None:
    assert parse_bandwidth(text) == per_second


@pytest.mark.parametrize("text", ["", "x", "-1", 999, "7kbit", "2M/h", "Mbit", True, None, "1e9"])
def test_bandwidths_refused(text: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        parse_bandwidth(text)


@pytest.mark.parametrize("name", ["lycosa", "Example-Bot", "my_bot", "a", "B" * 64])
def test_names_of_bots(name: str) -> None:
    assert parse_bot_name(name) == name


@pytest.mark.parametrize(
    "name", ["", "bot2", "my bot", "my.bot", "bot/1.0", "*", "büro", "a\nb", "robots", "B" * 65, 7]
)
def test_names_of_bots_refused(name: object) -> None:
    """RFC 9309, 2.2.1: a product token has letters, '-' and '_' alone."""
    with pytest.raises((ValueError, TypeError)):
        parse_bot_name(name)
