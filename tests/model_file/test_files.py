"""Atomic files."""

from pathlib import Path

import pytest

from csid.files import atomic_file


def test_the_new_file_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    for text in ("one", "two"):
        with atomic_file(path) as temporary:
            assert temporary.parent == tmp_path
            temporary.write_text(text)
        assert path.read_text() == text
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file_whole_and_nothing_else(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail() -> None:
        with atomic_file(path) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_rights_are_those_of_the_old_file_or_of_any_new_one(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with atomic_file(path) as temporary:
        temporary.write_text("new")
    plain = tmp_path / "plain"
    plain.touch()
    assert path.stat().st_mode == plain.stat().st_mode
    path.chmod(0o640)
    with atomic_file(path) as temporary:
        temporary.write_text("newer")
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    path, link = tmp_path / "a.txt", tmp_path / "link"
    path.write_text("old")
    link.symlink_to(path)
    with atomic_file(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert path.read_text() == "new"


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), atomic_file(tmp_path / "absent" / "a.txt"):
        pass
