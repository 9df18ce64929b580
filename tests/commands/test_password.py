"""A password on the command line: said once, with the way to avoid it."""

from pathlib import Path

from support.program import lycosa


def test_a_password_in_the_store_is_told_of(postgres_url: str, tmp_path: Path) -> None:
    store = postgres_url + ("&" if "?" in postgres_url else "?") + "password=hush-hush"
    where = ["--data-dir", f"{tmp_path}/d", "--email", "t@example.org", "--delay", "0"]
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("http://127.0.0.1:9999/\n")
    crawled = lycosa("crawl", seeds, *where, "--store", store, "--engines", "1")
    assert crawled.returncode == 0, crawled.stderr
    looked = lycosa("status", "--store", store)
    for done in (crawled, looked):
        assert done.stderr.count("can read the password in --store (ps)") == 1, done.stderr
        assert "LYCOSA_STORE" in done.stderr and "PGPASSWORD" in done.stderr
        assert "hush" not in done.stdout + done.stderr
    quiet = lycosa("status", variables={"LYCOSA_STORE": store})
    assert (quiet.returncode, quiet.stderr) == (0, "")


def test_a_mistake_is_still_one_sentence() -> None:
    done = lycosa("status", "--store", "postgresql://u:hush@127.0.0.1:1/d")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
