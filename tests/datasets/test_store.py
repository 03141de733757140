"""Where tables come from: a folder, the cache, an original saved there by hand, or a local web server."""

import gzip
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from numpy.testing import assert_array_equal

from csid.datasets import DatasetError
from csid.datasets.descriptions import Description, Origin
from csid.datasets.originals import from_csv, from_zip
from csid.datasets.store import cache_folder, read_tables
from csid.datasets.tables import Table, fingerprint, parse_csv, read_csv_gz, write_csv_gz

Answer = Callable[..., Callable[[Any], None]]


def files_in(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


# --- the cache ----------------------------------------------------------------------------------------------------


def test_the_cache_is_the_users_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_folder().parts[-2:] == ("csid", "datasets")


def test_a_data_set_is_downloaded_once_and_then_read_from_the_cache(small: Description, site: Any, cache: Path) -> None:
    (first,) = read_tables(small)
    site.close()
    (second,) = read_tables(small)
    assert site.asked == ["/small.csv"]
    assert_array_equal(first["y"], [0.1, 0.2, 0.3])
    for table in (first, second):
        assert table.keys() == first.keys()
        for name, column in table.items():
            assert_array_equal(column, first[name])
    assert files_in(cache) == ["originals/small/small.csv", "paper/small.csv.gz"]


@pytest.mark.parametrize(
    "damage",
    [b"", b"no gzip", gzip.compress(b"a,b,y\n9,u,0.1\n"), gzip.compress(b"\xff")],
    ids=["empty", "no gzip", "other values", "no text"],
)
def test_a_damaged_table_in_the_cache_is_restored_from_its_original(
    small: Description, site: Any, cache: Path, damage: bytes
) -> None:
    (good,) = read_tables(small)
    path = cache / "paper/small.csv.gz"
    path.write_bytes(damage)
    (again,) = read_tables(small)
    assert site.asked == ["/small.csv"]
    assert_array_equal(again["a"], good["a"])
    assert_array_equal(read_csv_gz(path.read_bytes())["a"], good["a"])


def test_a_damaged_table_that_cannot_be_restored_is_named(
    small: Description, site: Any, answer: Answer, cache: Path
) -> None:
    read_tables(small)
    (cache / "originals/small/small.csv").unlink()
    path = cache / "paper/small.csv.gz"
    path.write_bytes(b"damage")
    site.answers["/small.csv"] = answer(404)
    with pytest.raises(DatasetError, match=r"small.csv.gz is damaged: .*/small.csv returned 404 Not Found"):
        read_tables(small)
    assert path.read_bytes() == b"damage"


def test_a_cache_that_cannot_be_written_is_an_error(small: Description, site: Any, cache: Path) -> None:
    cache.parent.parent.mkdir(parents=True)
    cache.parent.write_text("a file where a folder should be")
    with pytest.raises(
        DatasetError, match=r"'small': cannot write to the cache folder .*csid.datasets \(.*CSID_DATA .*small.csv.gz"
    ):
        read_tables(small)
    assert site.asked == []


# --- origins ------------------------------------------------------------------------------------------------------


def test_other_values_than_the_published_are_rejected(
    small: Description, site: Any, answer: Answer, cache: Path
) -> None:
    site.answers["/small.csv"] = answer(200, b"a;b;y\n1;u;0.1\n2;?;0.2\n3;v;0.4\n")
    with pytest.raises(DatasetError, match=r"small.csv does not have the published values: their sha256 is"):
        read_tables(small)
    assert files_in(cache) == []


@pytest.mark.parametrize("body", [b"<html>please log in</html>", b"\xff\xfe", b""])
def test_an_unexpected_file_is_rejected(
    small: Description, site: Any, answer: Answer, cache: Path, body: bytes
) -> None:
    site.answers["/small.csv"] = answer(200, body)
    with pytest.raises(DatasetError, match=r"small.csv (is not the expected file: |does not have the published)"):
        read_tables(small)
    assert files_in(cache) == []


def test_a_page_in_place_of_an_archive_is_rejected(small: Description, site: Any, cache: Path) -> None:
    zipped = Origin(f"{site.url}/small.csv", "small.zip", (from_zip("small.csv", from_csv()),))
    with pytest.raises(DatasetError, match=r"is not the expected file: File is not a zip file"):
        read_tables(replace(small, origins=(zipped,)))


def test_a_failed_download_leaves_the_other_files_alone(
    small: Description, site: Any, answer: Answer, cache: Path
) -> None:
    (cache / "paper").mkdir(parents=True)
    (cache / "paper/small.csv.gz").write_bytes(b"old")
    (cache / "paper/other.csv.gz").write_bytes(b"other")
    site.answers["/small.csv"] = answer(200, b"a;b", length=1000)
    with pytest.raises(DatasetError, match="3 bytes read, 997 more expected"):
        read_tables(small)
    assert files_in(cache) == ["paper/other.csv.gz", "paper/small.csv.gz"]
    assert (cache / "paper/small.csv.gz").read_bytes() == b"old"


def test_mirrors_are_tried_in_turn(small: Description, site: Any, cache: Path) -> None:
    gone = Origin(f"{site.url}/gone.csv", "gone.csv", (from_csv(),))
    read_tables(replace(small, origins=(gone, *small.origins)))
    assert site.asked == ["/gone.csv", "/small.csv"]
    assert files_in(cache) == ["originals/small/small.csv", "paper/small.csv.gz"]


def test_a_mirror_with_other_values_is_skipped(small: Description, site: Any, answer: Answer, cache: Path) -> None:
    site.answers["/other.csv"] = answer(200, b"a;b;y\n1;u;0.4\n")
    other = replace(small.origins[0], url=f"{site.url}/other.csv")
    (table,) = read_tables(replace(small, origins=(other, *small.origins)))
    assert_array_equal(table["y"], [0.1, 0.2, 0.3])
    assert site.asked == ["/other.csv", "/small.csv"]


def test_a_package_that_a_reader_lacks_is_named_and_the_download_kept(
    small: Description, site: Any, cache: Path
) -> None:
    def reader(_: bytes) -> Table:
        raise ImportError("pip install rdata.")

    origin = replace(small.origins[0], readers=(reader,))
    with pytest.raises(ImportError, match="Data set 'small': pip install rdata"):
        read_tables(replace(small, origins=(origin,)))
    read_tables(small)
    assert site.asked == ["/small.csv"]


def test_two_files_of_one_archive_need_one_download(small: Description, site: Any, cache: Path) -> None:
    twice = replace(
        small,
        files=(small.files[0], replace(small.files[0], path="paper/twin.csv.gz")),
        origins=(replace(small.origins[0], readers=small.origins[0].readers * 2),),
    )
    assert len(read_tables(twice)) == 2
    assert site.asked == ["/small.csv"]
    (cache / "paper/twin.csv.gz").unlink()
    assert len(read_tables(twice)) == 2


def test_without_network_the_error_says_where_to_get_the_file_and_where_to_put_it(
    small: Description, site: Any, cache: Path
) -> None:
    site.close()
    with pytest.raises(DatasetError) as caught:
        read_tables(small)
    message = str(caught.value)
    place = cache / "originals" / "small" / "small.csv"
    assert message.startswith("Could not load data set 'small'. ")
    assert "failed 3 times" in message
    assert f"Download {small.origins[0].url} by hand and save it as {place}, " in message
    assert "or set CSID_DATA to a folder that contains paper/small.csv.gz." in message
    assert isinstance(caught.value, OSError)


def test_an_original_saved_by_hand_is_read(small: Description, site: Any, cache: Path) -> None:
    place = cache / "originals" / "small" / "small.csv"
    place.parent.mkdir(parents=True)
    place.write_bytes(b"a;b;y\n1;u;0.1\n2;?;0.2\n3;v;0.3\n")
    read_tables(small)
    assert site.asked == []
    assert files_in(cache) == ["originals/small/small.csv", "paper/small.csv.gz"]


def test_a_wrong_original_saved_by_hand_is_named_and_kept(small: Description, site: Any, cache: Path) -> None:
    place = cache / "originals" / "small" / "small.csv"
    place.parent.mkdir(parents=True)
    place.write_bytes(b"wrong")
    with pytest.raises(DatasetError, match=r"originals.small.small.csv is not the expected file: .* Delete it"):
        read_tables(small)
    assert place.read_bytes() == b"wrong"
    assert site.asked == []


# --- two processes at once ----------------------------------------------------------------------------------------

PROCESS = """
import sys
import platformdirs
platformdirs.user_cache_dir = lambda name, appauthor: sys.argv[2]
from csid.datasets.descriptions import Description, File, Origin
from csid.datasets.originals import from_csv
from csid.datasets.store import read_tables
url, _, fingerprint = sys.argv[1:]
file, origin = File("paper/large.csv.gz", fingerprint), Origin(url, "large.csv", (from_csv(),))
(table,) = read_tables(Description("large", "", "", ("y",), "", "", "", (file,), (origin,)))
print(len(table["a"]))
"""


def test_two_processes_at_once_end_with_the_same_good_file(site: Any, answer: Answer, tmp_path: Path) -> None:
    """Both wait in the middle of the transfer until the other one gets there too."""
    text = "a,b\n" + "".join(f"{n},{n / 7}\n" for n in range(5000))
    meeting = threading.Barrier(2, timeout=60)

    def slowly(handler: Any) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text[:1000].encode())
        handler.wfile.flush()
        meeting.wait()
        handler.wfile.write(text[1000:].encode())

    site.answers["/large.csv"] = slowly
    arguments = [f"{site.url}/large.csv", str(tmp_path), fingerprint(parse_csv(text))]
    environment = {name: value for name, value in os.environ.items() if name != "CSID_DATA"} | {"no_proxy": "127.0.0.1"}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, *arguments], stdout=subprocess.PIPE, env=environment, text=True
        )
        for _ in range(2)
    ]
    assert [process.communicate(timeout=120)[0] for process in processes] == ["5000\n", "5000\n"]
    assert len(site.asked) == 2
    assert files_in(tmp_path) == ["datasets/originals/large/large.csv", "datasets/paper/large.csv.gz"]
    assert (tmp_path / "datasets/paper/large.csv.gz").read_bytes() == write_csv_gz(parse_csv(text))


def test_a_process_killed_in_the_middle_of_a_download_leaves_nothing_that_looks_complete(
    small: Description, site: Any, cache: Path
) -> None:
    text, ready, end = "a,b\n1,2\n", threading.Event(), threading.Event()

    def slowly(handler: Any) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text[:6].encode())
        handler.wfile.flush()
        ready.set()
        end.wait(60)

    site.answers["/large.csv"] = slowly
    arguments = [f"{site.url}/large.csv", str(cache.parents[1]), fingerprint(parse_csv(text))]
    environment = {name: value for name, value in os.environ.items() if name != "CSID_DATA"} | {"no_proxy": "127.0.0.1"}
    process = subprocess.Popen(
        [sys.executable, "-c", PROCESS, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    )
    assert ready.wait(60)
    process.kill()
    process.communicate(timeout=60)
    end.set()
    assert not any(name.endswith((".csv", ".csv.gz")) for name in files_in(cache.parents[1]))


# --- a folder that stands in for the download ---------------------------------------------------------------------


@pytest.fixture
def folder(small: Description, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, site: Any) -> Path:
    """A data folder with the data set, while the server has nothing."""
    read_tables(small)
    folder = tmp_path / "data"
    cache.rename(folder)
    site.answers.clear()
    site.asked.clear()
    monkeypatch.setenv("CSID_DATA", str(folder))
    return folder


def test_the_folder_is_read_and_nothing_is_downloaded_or_cached(
    small: Description, folder: Path, site: Any, cache: Path
) -> None:
    (table,) = read_tables(small)
    assert_array_equal(table["y"], [0.1, 0.2, 0.3])
    assert site.asked == []
    assert not cache.exists()


def test_a_file_absent_from_the_folder_is_named(small: Description, folder: Path) -> None:
    (folder / "paper/small.csv.gz").unlink()
    with pytest.raises(
        DatasetError,
        match=r"'small': cannot read paper/small.csv.gz in the folder .*data' given by CSID_DATA .* Put the file",
    ):
        read_tables(small)


@pytest.mark.parametrize(
    ("content", "message"),
    [(gzip.compress(b"a,b,y\n1,u,0.1\n"), "does not have the published values"), (b"junk", "is damaged")],
    ids=["other values", "damaged"],
)
def test_a_wrong_file_in_the_folder_is_named(small: Description, folder: Path, content: bytes, message: str) -> None:
    (folder / "paper/small.csv.gz").write_bytes(content)
    with pytest.raises(
        DatasetError, match=rf"small.csv.gz {message}.* Replace the file, or unset CSID_DATA to download small"
    ):
        read_tables(small)


def test_an_empty_variable_is_like_none(
    small: Description, folder: Path, monkeypatch: pytest.MonkeyPatch, site: Any, cache: Path
) -> None:
    monkeypatch.setenv("CSID_DATA", "")
    with pytest.raises(DatasetError, match="Could not load data set 'small'"):
        read_tables(small)
    assert site.asked == ["/small.csv"]
