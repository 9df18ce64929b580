"""What the user said: where options come from, what is refused and with which words."""

import pickle
from collections.abc import Mapping
from pathlib import Path

import pytest

from lycosa.errors import UserError
from lycosa.settings.collect import Values, collect, crawl_settings, node_settings, run_limits
from lycosa.settings.options import OPTIONS

EMAIL = {"email": "you@example.org"}


def crawl(
    flags: Mapping[str, object] | None = None, environ: dict[str, str] | None = None
) -> Values:
    return collect("crawl", flags or {}, environ or {})


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
