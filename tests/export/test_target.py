"""An export has its name only when it is whole, and replaces nothing that is not its own."""

from pathlib import Path
from typing import Any

import pytest

from lycosa.errors import UserError
from lycosa.export.target import NOTE, Target

PLAN = {"format": "jsonl"}


def begun(out: Path, plan: dict[str, Any] = PLAN, **options: Any) -> Target:
    return Target(out, plan, **{"directory": True, **options})


def with_a_file(target: Target, name: str = "a/b") -> None:
    target.draft(name).write_bytes(b"whole")
    target.keep(name)
    target.note({"files": [name]})


def test_it_has_its_name_only_at_the_end(tmp_path: Path) -> None:
    target = begun(tmp_path / "out")
    with_a_file(target)
    assert not (tmp_path / "out").exists()
    target.finish({"counts": {"text": 1}})
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["a", NOTE]
    assert (tmp_path / "out/a/b").read_bytes() == b"whole"


def test_a_single_file_is_all_that_stays(tmp_path: Path) -> None:
    target = begun(tmp_path / "out.wacz", directory=False)
    with_a_file(target, "made")
    target.finish({}, keep="made")
    assert [p.name for p in tmp_path.iterdir()] == ["out.wacz"]


def test_the_same_plan_goes_on_and_drops_what_was_not_noted(tmp_path: Path) -> None:
    first = begun(tmp_path / "out")
    with_a_file(first)
    first.draft("half").write_bytes(b"ha")
    first.close()
    second = begun(tmp_path / "out")
    assert second.resumed and second.state == {"files": ["a/b"]}
    assert not (second.work / "half.new").exists()


def test_another_plan_begins_anew(tmp_path: Path) -> None:
    first = begun(tmp_path / "out")
    with_a_file(first)
    first.close()
    second = begun(tmp_path / "out", {"format": "wet"})
    assert not second.resumed
    assert not (second.work / "a").exists()


def test_a_noted_file_that_is_gone_means_to_begin_anew(tmp_path: Path) -> None:
    first = begun(tmp_path / "out")
    with_a_file(first)
    first.close()
    (first.work / "a/b").unlink()
    assert not begun(tmp_path / "out").resumed


def test_two_at_once_are_refused(tmp_path: Path) -> None:
    first = begun(tmp_path / "out")
    with pytest.raises(UserError, match="is running"):
        begun(tmp_path / "out")
    first.discard()
    assert list(tmp_path.iterdir()) == []


def test_what_exists_is_replaced_only_on_demand(tmp_path: Path) -> None:
    target = begun(tmp_path / "out")
    target.finish({})
    with pytest.raises(UserError, match="--overwrite"):
        begun(tmp_path / "out")
    second = begun(tmp_path / "out", overwrite=True)
    with_a_file(second)
    assert not (tmp_path / "out/a").exists()
    second.finish({})
    assert (tmp_path / "out/a/b").exists()
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_directory_of_somebody_else_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home/thesis").write_text("five years")
    with pytest.raises(UserError, match="no export"):
        begun(tmp_path / "home", overwrite=True)
    with pytest.raises(UserError, match="is no file"):
        begun(tmp_path / "home", overwrite=True, directory=False)
    assert (tmp_path / "home/thesis").exists()


def test_a_directory_above_it_has_to_be_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no directory"):
        begun(tmp_path / "no" / "out")
