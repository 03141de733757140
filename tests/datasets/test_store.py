"""Where tables come from: a folder, the cache, an original put there by hand, or a web site on this machine."""

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
from csid.datasets.tables import fingerprint, parse_csv, read_csv_gz, write_csv_gz

Answer = Callable[..., Callable[[Any], None]]


def files_in(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


# --- the cache ----------------------------------------------------------------------------------------------------


def test_the_cache_is_the_users_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_folder().parts[-2:] == ("csid", "datasets")


def test_a_set_is_downloaded_once_and_then_read_from_the_cache(small: Description, site: Any, cache: Path) -> None:
    (first,) = read_tables(small)
    site.close()
    (second,) = read_tables(small)
    assert site.asked == ["/small.csv"]
    assert_array_equal(first["y"], [0.1, 0.2, 0.3])
    for table in (first, second):
        assert table.keys() == first.keys()
        for name, column in table.items():
            assert_array_equal(column, first[name])
    assert files_in(cache) == ["paper/small.csv.gz"]
    assert not list(cache.glob("download-*"))


@pytest.mark.parametrize(
    "damage",
    [b"", b"no gzip", gzip.compress(b"a,b,y\n9,u,0.1\n"), gzip.compress(b"\xff")],
    ids=["empty", "no gzip", "other values", "no text"],
)
def test_a_damaged_file_in_the_cache_is_downloaded_again(small: Description, cache: Path, damage: bytes) -> None:
    (good,) = read_tables(small)
    path = cache / "paper/small.csv.gz"
    path.write_bytes(damage)
    (again,) = read_tables(small)
    assert_array_equal(again["a"], good["a"])
    assert_array_equal(read_csv_gz(path.read_bytes())["a"], good["a"])


def test_a_damaged_file_without_network_is_named(small: Description, site: Any, answer: Answer, cache: Path) -> None:
    read_tables(small)
    path = cache / "paper/small.csv.gz"
    path.write_bytes(b"damage")
    site.answers["/small.csv"] = answer(404)
    with pytest.raises(DatasetError, match=r"small.csv.gz is damaged: .*/small.csv answers 404"):
        read_tables(small)
    assert path.read_bytes() == b"damage"


def test_a_cache_that_cannot_be_written_is_an_error(small: Description, site: Any, cache: Path) -> None:
    cache.parent.parent.mkdir(parents=True)
    cache.parent.write_text("a file where a folder should be")
    with pytest.raises(
        DatasetError, match=r"cache folder .*csid.datasets cannot be written \(.*CSID_DATA .*small.csv.gz"
    ):
        read_tables(small)
    assert site.asked == []


# --- origins ------------------------------------------------------------------------------------------------------


def test_other_values_than_the_published_are_refused(
    small: Description, site: Any, answer: Answer, cache: Path
) -> None:
    site.answers["/small.csv"] = answer(200, b"a;b;y\n1;u;0.1\n2;?;0.2\n3;v;0.4\n")
    with pytest.raises(DatasetError, match=r"small.csv has other values than the published set: their checksum is"):
        read_tables(small)
    assert files_in(cache) == []


@pytest.mark.parametrize("body", [b"<html>please log in</html>", b"\xff\xfe", b""])
def test_something_else_than_the_file_is_refused(
    small: Description, site: Any, answer: Answer, cache: Path, body: bytes
) -> None:
    site.answers["/small.csv"] = answer(200, body)
    with pytest.raises(DatasetError, match=r"small.csv (is not the file expected: |has other values)"):
        read_tables(small)
    assert files_in(cache) == []


def test_a_page_in_place_of_an_archive_is_refused(small: Description, site: Any, cache: Path) -> None:
    zipped = Origin(f"{site.url}/small.csv", "small.zip", (from_zip("small.csv", from_csv()),))
    with pytest.raises(DatasetError, match=r"is not the file expected: File is not a zip file"):
        read_tables(replace(small, origins=(zipped,)))


def test_a_failed_download_leaves_the_other_files_alone(
    small: Description, site: Any, answer: Answer, cache: Path
) -> None:
    (cache / "paper").mkdir(parents=True)
    (cache / "paper/small.csv.gz").write_bytes(b"old")
    (cache / "paper/other.csv.gz").write_bytes(b"other")
    site.answers["/small.csv"] = answer(200, b"a;b", length=1000)
    with pytest.raises(DatasetError, match="interrupted after 3 of 1000 bytes"):
        read_tables(small)
    assert files_in(cache) == ["paper/other.csv.gz", "paper/small.csv.gz"]
    assert (cache / "paper/small.csv.gz").read_bytes() == b"old"


def test_a_second_origin_stands_in_for_the_first(small: Description, site: Any, cache: Path) -> None:
    gone = Origin(f"{site.url}/gone.csv", "gone.csv", (from_csv(),))
    read_tables(replace(small, origins=(gone, *small.origins)))
    assert site.asked == ["/gone.csv", "/small.csv"]
    assert files_in(cache) == ["paper/small.csv.gz"]


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
    assert message.startswith("The data set small could not be had. ")
    assert "no connection" in message
    assert f"Get {small.origins[0].url} and put it at {place}, " in message
    assert "or set CSID_DATA to a folder that holds paper/small.csv.gz." in message
    assert isinstance(caught.value, OSError)


def test_an_original_put_there_by_hand_is_read(small: Description, site: Any, cache: Path) -> None:
    place = cache / "originals" / "small" / "small.csv"
    place.parent.mkdir(parents=True)
    place.write_bytes(b"a;b;y\n1;u;0.1\n2;?;0.2\n3;v;0.3\n")
    read_tables(small)
    assert site.asked == []
    assert files_in(cache) == ["originals/small/small.csv", "paper/small.csv.gz"]


def test_a_wrong_original_put_there_by_hand_is_named_and_kept(small: Description, site: Any, cache: Path) -> None:
    place = cache / "originals" / "small" / "small.csv"
    place.parent.mkdir(parents=True)
    place.write_bytes(b"wrong")
    with pytest.raises(DatasetError, match=r"originals.small.small.csv is not the file expected"):
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
    """Both wait in the middle of the transfer until the other one is there too."""
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
    assert files_in(tmp_path) == ["datasets/paper/large.csv.gz"]
    assert (tmp_path / "datasets/paper/large.csv.gz").read_bytes() == write_csv_gz(parse_csv(text))


# --- a folder that stands in for the download ---------------------------------------------------------------------


@pytest.fixture
def folder(small: Description, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, site: Any) -> Path:
    """A data folder that holds the set, while the site has nothing."""
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
        DatasetError, match=r"CSID_DATA is .*data', where paper/small.csv.gz cannot be read .*: put it there, or unset"
    ):
        read_tables(small)


@pytest.mark.parametrize(
    ("content", "message"),
    [(gzip.compress(b"a,b,y\n1,u,0.1\n"), "has other values than the published set"), (b"junk", "is damaged")],
    ids=["other values", "damaged"],
)
def test_a_wrong_file_in_the_folder_is_named(small: Description, folder: Path, content: bytes, message: str) -> None:
    (folder / "paper/small.csv.gz").write_bytes(content)
    with pytest.raises(
        DatasetError, match=rf"small.csv.gz {message}.* Replace it, or unset CSID_DATA to download small"
    ):
        read_tables(small)


def test_an_empty_variable_is_none(
    small: Description, folder: Path, monkeypatch: pytest.MonkeyPatch, site: Any, cache: Path
) -> None:
    monkeypatch.setenv("CSID_DATA", "")
    with pytest.raises(DatasetError, match="could not be had"):
        read_tables(small)
    assert site.asked == ["/small.csv"]
