"""The map of the code: `docs/architecture.md` names files and folders that exist, and has a row for what gets added."""

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
PAGE = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
ROOTS = [REPOSITORY / name for name in ("src", "tests", "docs", "benchmarks")]
PACKAGES = sorted(path.parent.name for path in (REPOSITORY / "src" / "csid").glob("*/__init__.py"))
FILES = [path.relative_to(REPOSITORY).as_posix() for root in ROOTS for path in [root, *root.rglob("*")]]


def test_files_and_folders_exist() -> None:
    named = {name for name in re.findall(r"`([^`\s]+)`", PAGE) if re.search(r"\.(py|js|md|html)$|/", name)}
    assert len(named) > 50
    missing = [name for name in named if not _exists(name)]
    assert not missing


def _exists(name: str) -> bool:
    """Whether a path ends with the name. Capitals, as in `NAME.py`, and * stand for anything."""
    pattern = re.sub(r"NAME|\\\*", r"[^/]+", re.escape(name.rstrip("/")))
    return any(re.search(rf"(^|/){pattern}$", file) for file in FILES)


@pytest.mark.parametrize("package", PACKAGES)
def test_the_page_names_every_package(package: str) -> None:
    assert re.search(rf"`{package}\b[/`]?", PAGE), package
