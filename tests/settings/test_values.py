"""Settings: where they come from, what is refused and with which words, units, round trips."""

import pickle
from collections.abc import Mapping
from pathlib import Path

import pytest

from lycosa.errors import UserError
from lycosa.settings.options import (
    OPTIONS,
    options_of,
    parse_contact_url,
    parse_email,
    parse_nameserver,
    parse_port_map,
    parse_seconds,
    parse_size,
    parse_switch,
    parse_whole,
)
from lycosa.settings.values import (
    CrawlSettings,
    Values,
    collect,
    crawl_settings,
    node_settings,
    run_limits,
    stored_settings,
)
from lycosa.terminal import redact

EMAIL = {"email": "you@example.org"}


def crawl(
    flags: Mapping[str, object] | None = None, environ: dict[str, str] | None = None
) -> Values:
    return collect("crawl", flags or {}, environ or {})


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


def test_flags_win_over_variables_over_file_over_defaults(tmp_path: Path) -> None:
    file = tmp_path / "crawl.toml"
    file.write_text('delay = 5\nmax-workers = 7\nmax_pages = 3\nemail = "file@example.org"\n')
    values = collect(
        "crawl",
        {"delay": "1", "config": str(file)},
        {"LYCOSA_DELAY": "2", "LYCOSA_MAX_WORKERS": "8", "LYCOSA_EMAIL": ""},
    )
    assert (values["delay"], values["max-workers"], values["max-pages"]) == (1.0, 8, 3)
    assert values["email"] == "file@example.org"  # an empty variable is none
    assert values["lease-time"] == 180.0
    assert values.given >= {"delay", "max-workers", "max-pages", "email"}
    assert "lease-time" not in values.given


def test_the_file_can_be_named_by_its_variable(tmp_path: Path) -> None:
    file = tmp_path / "crawl.toml"
    file.write_text("warc = true\n")
    assert crawl({}, {"LYCOSA_CONFIG": str(file)})["warc"] is True
    assert crawl({"warc": False}, {"LYCOSA_CONFIG": str(file)})["warc"] is False


def test_lists() -> None:
    want = (("192.0.2.1", 53), ("192.0.2.2", 53))
    assert crawl({"nameserver": ["192.0.2.1", "192.0.2.2"]})["nameserver"] == want
    assert crawl({}, {"LYCOSA_NAMESERVER": "192.0.2.1,192.0.2.2"})["nameserver"] == want


@pytest.mark.parametrize(
    ("toml", "sentence"),
    [
        ("dellay = 5", "unknown key 'dellay'; did you mean delay?"),
        ("max_page = 5", "unknown key 'max_page'; did you mean max-pages?"),
        ("config = 'x'", "unknown key 'config'"),
        ("json = true", "unknown key 'json'"),
        ("delay = -1", "delay in FILE must be a time of at least 0 seconds"),
        ("delay = true", "delay in FILE must be a time"),
        ("max-pages = 1.5", "max-pages in FILE must be a whole number of at least 1, not 1.5."),
        ("warc = 1", "warc in FILE must be true or false, not 1."),
        ("email = 5", "email in FILE must be an email address"),
        ("[delay]\nx = 1", "delay in FILE must be a time"),
        ("delay 5", "FILE is not valid TOML"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, toml: str, sentence: str) -> None:
    file = tmp_path / "crawl.toml"
    file.write_text(toml)
    with pytest.raises(UserError) as caught:
        crawl({"config": str(file)})
    assert sentence.replace("FILE", str(file)) in str(caught.value)


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="can't be read: No such file"):
        crawl({"config": str(tmp_path / "none.toml")})


def test_where_a_wrong_value_stands_is_said() -> None:
    with pytest.raises(UserError, match=r"^--delay must be .*, not '-3'\.$"):
        crawl({"delay": "-3"})
    with pytest.raises(UserError, match=r"^LYCOSA_DELAY must be .*, not 'soon'\.$"):
        crawl({}, {"LYCOSA_DELAY": "soon"})
    with pytest.raises(UserError, match=r"LYCOSA_DELY; did you mean LYCOSA_DELAY\?"):
        crawl({}, {"LYCOSA_DELY": "3"})


def test_flags_of_questions_have_no_variable() -> None:
    with pytest.raises(UserError, match="no setting LYCOSA_OUTCOME"):
        collect("pages", {}, {"LYCOSA_OUTCOME": "ok"})


def test_variables_of_the_crawl_do_not_move_the_demo() -> None:
    values = collect("demo", {}, {"LYCOSA_DATA_DIR": "/somewhere"})
    assert values["data-dir"] == Path("lycosa-demo")


def test_no_email_no_crawl() -> None:
    with pytest.raises(UserError, match="--email"):
        crawl_settings(crawl())


def test_user_agent() -> None:
    plain = CrawlSettings(email="you@example.org")
    assert plain.user_agent.startswith("lycosa/")
    assert plain.user_agent.endswith(" (mailto:you@example.org)")
    full = CrawlSettings(email="you@example.org", contact_url="https://example.org/bot")
    assert full.user_agent.endswith(" (+https://example.org/bot; mailto:you@example.org)")


def test_ip_delay_follows_the_delay() -> None:
    assert crawl_settings(crawl(EMAIL)).ip_delay == 1.0
    assert crawl_settings(crawl({**EMAIL, "delay": "7"})).ip_delay == pytest.approx(0.1)
    assert crawl_settings(crawl({**EMAIL, "delay": "7", "ip-delay": "3"})).ip_delay == 3.0


def test_a_visit_must_fit_into_a_lease() -> None:
    with pytest.raises(UserError, match=r"--lease-time .60 s. must be at least 140 s"):
        crawl_settings(crawl({**EMAIL, "lease-time": "60"}))


def test_exclusions_are_read_from_their_file(tmp_path: Path) -> None:
    file = tmp_path / "exclude.txt"
    file.write_text("# comment\nExample.org\n\n  *.example.com  # why\n", "utf-8")
    settings = crawl_settings(crawl({**EMAIL, "exclude-file": str(file)}))
    assert settings.exclude == ("example.org", ".example.com")
    file.write_text("example.org\n*\n", "utf-8")
    with pytest.raises(UserError, match=r"^In .*exclude.txt: Line 2 .* exclude everything"):
        crawl_settings(crawl({**EMAIL, "exclude-file": str(file)}))


def test_crawl_settings_survive_json_and_pickle() -> None:
    settings = CrawlSettings(email="you@example.org", exclude=("a", "b"), max_depth=0, delay=1.5)
    assert CrawlSettings.from_json(settings.to_json()) == settings
    assert pickle.loads(pickle.dumps(settings)) == settings


def test_settings_of_other_versions() -> None:
    assert CrawlSettings.from_json({"email": "you@example.org"}).delay == 70.0
    with pytest.raises(UserError, match=r"newer lycosa.*'colour'"):
        CrawlSettings.from_json({"email": "you@example.org", "colour": 1})


def test_differences_are_readable() -> None:
    here = CrawlSettings(email="you@example.org", delay=1.0, sitemaps=True, exclude=("a",))
    there = CrawlSettings(email="you@example.org", max_depth=3)
    assert here.difference(here) == []
    assert here.difference(there) == [
        "--delay: 1 s here, 70 s in the crawl",
        "--exclude-file: 1 lines here, 0 lines in the crawl",
        "--max-depth: none here, 3 in the crawl",
        "--sitemaps: on here, off in the crawl",
    ]


def test_resuming_keeps_what_is_not_given() -> None:
    stored = CrawlSettings(email="you@example.org", delay=1.0, ip_delay=0.5, sitemaps=True)
    assert crawl_settings(crawl(), stored) == stored
    changed = crawl_settings(crawl({"delay": "7", "sitemaps": False}), stored)
    assert (changed.delay, changed.ip_delay, changed.sitemaps) == (7.0, 0.1, False)
    assert changed.email == "you@example.org"


def test_stored_settings() -> None:
    assert stored_settings({}) is None
    found = stored_settings({"settings": '{"email": "you@example.org", "delay": 2.0}'})
    assert found is not None
    assert found.delay == 2.0


def test_node_settings_and_limits() -> None:
    values = crawl({"max-workers": "1", "engines": "8", "allow-private-addresses": True})
    node = node_settings(values)
    assert node.engines == 1  # an engine without a fetch to make is of no use
    assert node.allow_private
    assert node_settings(crawl()).engines >= 1
    assert pickle.loads(pickle.dumps(node)) == node
    assert run_limits(crawl()).max_pages == 0
    limits = run_limits(crawl({"max-pages": "5", "max-duration": "2m"}))
    assert (limits.max_pages, limits.max_duration) == (5, 120.0)


def test_a_store_may_come_from_a_variable_and_a_wrong_one_is_named_without_its_password() -> None:
    store = "postgresql://u:secret@h/db"
    assert node_settings(crawl({}, {"LYCOSA_STORE": store})).store == store
    with pytest.raises(UserError) as caught:
        crawl({}, {"LYCOSA_STORE": "mysql://u:secret@h/db"})
    assert "secret" not in str(caught.value)
    assert "mysql://u:***@h/db" in str(caught.value)


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


def test_the_table_of_options_is_sound() -> None:
    for command in {name for option in OPTIONS for name in option.commands}:
        names = [option.name for option in options_of(command)]
        assert len(names) == len(set(names)), command
    for option in OPTIONS:
        assert option.help[0].islower() or option.help.startswith("URL"), option.name
        assert not option.help.endswith("."), option.name
        if option.default not in (None, "", ()):
            given = str(option.default) if isinstance(option.default, Path) else option.default
            assert option.kind.parse(given) == option.default, option.name


# A value of each shared setting that is not its default, and another one for a resume.
SHARED = {
    "email": ("a@example.org", "b@example.org"),
    "contact-url": ("https://a.example/", "https://b.example/"),
    "delay": ("70", "140"),
    "ip-delay": ("1", "3"),
    "seeded-urls-only": (True, False),
    "max-depth": ("0", "5"),
    "max-pages-per-domain": ("7", "8"),
    "max-queued-per-domain": ("70", "80"),
    "sitemaps": (True, False),
    "ignore-nofollow": (True, False),
    "visit-timeout": ("60", "50"),
    "lease-time": ("200", "300"),
    "max-body": ("1M", "2M"),
}


def test_every_shared_setting_is_in_the_table_above() -> None:
    assert set(SHARED) | {"exclude-file"} == {o.name for o in OPTIONS if o.shared}


@pytest.mark.parametrize("changed", SHARED)
def test_no_option_of_a_resume_resets_another(changed: str) -> None:
    """Also not one whose value is what it would have been anyway: the user said so."""
    before = crawl_settings(crawl({name: first for name, (first, _) in SHARED.items()}))
    after = crawl_settings(crawl({changed: SHARED[changed][1]}), before)
    assert len(after.difference(before)) == 1
    assert after.difference(before)[0].startswith(f"--{changed}: ")
    again = crawl_settings(crawl({"delay": "11"}), CrawlSettings.from_json(after.to_json()))
    assert again.ip_delay == after.ip_delay


def test_a_derived_ip_delay_still_follows_the_delay() -> None:
    before = crawl_settings(crawl(EMAIL))
    assert crawl_settings(crawl({"delay": "7"}), before).ip_delay == pytest.approx(0.1)


# The same of what belongs to a machine.
NODE = {
    "warc": True,
    "tls-verify": True,
    "allow-private-addresses": True,
    "allow-network": ["10.0.0.0/8"],
    "only-network": ["10.0.0.0/8"],
    "ip-delay-exempt": ["192.0.2.0/24"],
    "nameserver": ["192.0.2.1"],
    "port-map": "80=8080",
    "max-workers": "77",
    "engines": "5",
}


@pytest.mark.parametrize("changed", ["warc", "max-workers", "engines", "nameserver"])
def test_a_resume_keeps_what_was_said_of_the_machine(changed: str) -> None:
    import json
    from dataclasses import asdict

    from lycosa.settings.values import node_json

    before = node_settings(crawl(NODE))
    stored = {"node": json.dumps(node_json(before))}
    other = {"warc": False, "max-workers": "78", "engines": "6", "nameserver": ["192.0.2.2"]}
    after = node_settings(crawl({changed: other[changed]}), stored)
    different = {key for key, value in asdict(after).items() if value != getattr(before, key)}
    assert different == {changed.replace("-", "_").replace("nameserver", "nameservers")}


def test_every_number_has_an_end() -> None:
    """100,000 engines are no wish, they are a slip; the machine must not pay for it."""
    numbers = ("whole number", "time of", "size")
    asked = [o for o in OPTIONS if any(word in o.kind.expects for word in numbers)]
    assert len(asked) >= 18
    for option in asked:
        for huge in ("999999999999999", "99999999999999999999999", 10**15, 1e14):
            with pytest.raises(UserError) as caught:
                collect(option.commands[0], {option.name: huge}, {})
            assert f"--{option.name} must be " in str(caught.value)


def test_a_hundred_thousand_engines_are_refused() -> None:
    with pytest.raises(UserError, match=r"^--engines must be at most 256, not '100000'\.$"):
        crawl({"engines": "100000"})
    with pytest.raises(UserError, match=r"^LYCOSA_MAX_WORKERS must be at most 100,000, not"):
        crawl({}, {"LYCOSA_MAX_WORKERS": "1000000"})
    assert crawl({"engines": "256"})["engines"] == 256
