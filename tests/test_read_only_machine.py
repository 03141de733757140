"""Where neither the package nor the home can be written: compiled code is kept elsewhere, and privately."""

import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import numba
import platformdirs
import pytest

from csid._kernels import cache

FIT = """
import numpy as np
from csid import CSIDRegressor
X = np.random.default_rng(0).uniform(size=(60, 2))
print(CSIDRegressor(max_iter=3).fit(X, X.sum(axis=1)).score(X, X.sum(axis=1)) > 0.5)
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package, a home and a folder for temporary files of this test's own."""
    package = tmp_path / "package"
    package.mkdir()
    (package / "row_loops.py").write_text("one")
    monkeypatch.setattr(cache, "_PACKAGE", package)
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda *_, **__: tmp_path / "home" / "csid")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    cache.cache_folder.cache_clear()
    yield tmp_path
    cache.cache_folder.cache_clear()


def _found() -> Path | None:
    cache.cache_folder.cache_clear()
    return cache.cache_folder()


def _block(folder: Path) -> None:
    """Also root cannot make a folder below a file."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("")


def test_the_package_comes_first_and_keeps_one_generation(machine: Path) -> None:
    first = _found()
    assert first is not None
    assert first.parent == machine / "package" / "__pycache__"
    assert first == _found()
    (machine / "package" / "row_loops.py").write_text("two")
    second = _found()
    assert second is not None
    assert second != first
    assert [second] == list(second.parent.iterdir())


def test_a_folder_that_the_user_names_comes_before_all(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(machine / "mine"))
    found = _found()
    assert found is not None
    assert found.parent == machine / "mine"


def test_the_cache_of_the_user_comes_second(machine: Path) -> None:
    _block(machine / "package" / "__pycache__")
    found = _found()
    assert found is not None
    assert found.parent == machine / "home" / "csid"


def test_the_last_resort_is_private_and_named_once(machine: Path) -> None:
    _block(machine / "package" / "__pycache__")
    _block(machine / "home")
    with pytest.warns(UserWarning, match="NUMBA_CACHE_DIR"):
        found = _found()
    assert found is not None
    assert found.parent.parent == machine / "temporary"
    assert found.parent.stat().st_mode & 0o077 == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _found() == found


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders have owners on POSIX only")
@pytest.mark.parametrize("trap", ["a link", "open to others", "of another user"])
def test_machine_code_of_somebody_else_is_not_loaded(machine: Path, trap: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _block(machine / "package" / "__pycache__")
    _block(machine / "home")
    private = machine / "temporary" / f"csid-{os.getuid()}"
    if trap == "a link":
        (machine / "elsewhere").mkdir(mode=0o700)
        private.symlink_to(machine / "elsewhere")
    elif trap == "open to others":
        private.mkdir()
        private.chmod(0o777)
    else:
        private.mkdir(mode=0o700)
        private.rename(machine / "temporary" / f"csid-{os.getuid() + 1}")
        other = os.getuid() + 1
        monkeypatch.setattr(os, "getuid", lambda: other)
    assert _found() is None


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="other users are for POSIX only")
def test_another_user_without_a_home_can_fit() -> None:
    """As in a container that does not run as root: who may read all files, write none, and has no home."""
    reader = [*([] if os.getuid() == 0 else ["sudo", "-n"]), "setpriv", "--reuid=65534", "--regid=65534"]
    reader += ["--clear-groups", "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    possible = shutil.which(reader[0]) is not None
    possible = possible and subprocess.run([*reader, "true"], capture_output=True, check=False).returncode == 0
    if not possible and not os.environ.get("CSID_REQUIRE_OTHER_USER"):
        pytest.skip("needs root or sudo, setpriv and the capability DAC_READ_SEARCH")
    with tempfile.TemporaryDirectory(prefix="csid-test-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o777)  # pytest's own folder cannot be entered by others
        environment = [f"PATH={os.environ['PATH']}", "HOME=/nonexistent", f"TMPDIR={folder}"]
        environment += [f"PYTHONPATH={os.environ['PYTHONPATH']}"] if "PYTHONPATH" in os.environ else []
        command = [*reader, "env", "-i", *environment, sys.executable, "-c", FIT]
        runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(2)]
    assert [run.stdout for run in runs] == ["True\n"] * 2
    assert f"kept in {folder}" in runs[0].stderr
    assert "NUMBA_CACHE_DIR" in runs[0].stderr
    assert runs[1].stderr == ""
