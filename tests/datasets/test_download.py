"""Downloads from a web site on this machine: what arrives is whole, or there is an error and no file."""

import socket
import time
from collections.abc import Callable
from email.message import Message
from http.server import BaseHTTPRequestHandler
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.request import Request

import pytest

from csid.datasets import DatasetError, download
from csid.datasets.download import _SafeRedirects

BODY = bytes(range(256)) * 1000

Answer = Callable[..., Callable[[BaseHTTPRequestHandler], None]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file"


def refused(site: Any, path: Path, message: str, address: str = "/file") -> None:
    """A download fails with a message and leaves nothing behind."""
    with pytest.raises(DatasetError, match=message):
        download.download(site.url + address, path)
    assert list(path.parent.iterdir()) == []


def test_a_file_is_written_as_it_is_sent(site: Any, answer: Answer, path: Path) -> None:
    agents = []

    def record(handler: BaseHTTPRequestHandler) -> None:
        agents.append(handler.headers["User-Agent"])
        answer(200, BODY)(handler)

    site.answers["/file"] = record
    download.download(f"{site.url}/file", path)
    assert path.read_bytes() == BODY
    assert agents[0].startswith("csid/")


def test_a_file_of_unknown_length_is_written_too(site: Any, path: Path) -> None:
    def chunked(handler: BaseHTTPRequestHandler) -> None:
        handler.protocol_version = "HTTP/1.1"
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        handler.wfile.write(b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")

    site.answers["/file"] = chunked
    download.download(f"{site.url}/file", path)
    assert path.read_bytes() == b"abcde"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_followed(site: Any, answer: Answer, path: Path, status: int) -> None:
    site.answers["/old"] = answer(status, Location="/newer")
    site.answers["/newer"] = answer(status, Location=f"{site.url}/file")
    site.answers["/file"] = answer(200, BODY)
    download.download(f"{site.url}/old", path)
    assert path.read_bytes() == BODY
    assert site.asked == ["/old", "/newer", "/file"]


def test_a_circle_of_redirects_ends(site: Any, answer: Answer, path: Path) -> None:
    site.answers["/file"] = answer(302, Location="/back")
    site.answers["/back"] = answer(302, Location="/file")
    refused(site, path, "answers 302 .*infinite loop")
    assert len(site.asked) < 30


@pytest.mark.parametrize("address", ["file:///etc/passwd", "ftp://127.0.0.1/file"])
def test_redirects_away_from_the_web_are_refused(site: Any, answer: Answer, path: Path, address: str) -> None:
    site.answers["/file"] = answer(302, Location=address)
    refused(site, path, "not allowed|no web address")


@pytest.mark.parametrize("old", ["http", "https"])
@pytest.mark.parametrize("new", ["http", "https"])
def test_redirects_may_gain_encryption_but_not_lose_it(old: str, new: str) -> None:
    def redirect() -> Request | None:
        request = Request(f"{old}://here/file")
        return _SafeRedirects().redirect_request(request, BytesIO(), 302, "", Message(), f"{new}://there/file")

    if (old, new) == ("https", "http"):
        with pytest.raises(DatasetError, match=r"https://here/file redirects to http://there/file.*not encrypted"):
            redirect()
    else:
        request = redirect()
        assert request is not None
        assert request.full_url == f"{new}://there/file"


@pytest.mark.parametrize("address", ["file:///etc/passwd", "ftp://here/file", "/etc/passwd", "data:,abc"])
def test_only_web_addresses_are_downloaded(path: Path, address: str) -> None:
    with pytest.raises(DatasetError, match=f"{address} is no web address"):
        download.download(address, path)
    assert not path.exists()


def test_a_transfer_cut_short_is_tried_again(site: Any, answer: Answer, path: Path) -> None:
    answers = iter([answer(200, BODY[:1000], length=len(BODY)), answer(503), answer(200, BODY)])
    site.answers["/file"] = lambda handler: next(answers)(handler)
    download.download(f"{site.url}/file", path)
    assert path.read_bytes() == BODY
    assert len(site.asked) == 3


def test_a_transfer_cut_short_every_time_is_an_error(site: Any, answer: Answer, path: Path) -> None:
    site.answers["/file"] = answer(200, BODY[:1000], length=len(BODY))
    refused(site, path, "/file could not be read in 3 attempts: .*interrupted after 1000 of 256000 bytes")
    assert len(site.asked) == 3


def test_a_chunked_transfer_cut_short_is_an_error(site: Any, path: Path) -> None:
    def cut(handler: BaseHTTPRequestHandler) -> None:
        handler.protocol_version = "HTTP/1.1"
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        handler.wfile.write(b"ff\r\nabc")
        handler.close_connection = True

    site.answers["/file"] = cut
    refused(site, path, "interrupted .*IncompleteRead")


def test_a_connection_closed_without_an_answer_is_an_error(site: Any, path: Path) -> None:
    site.answers["/file"] = lambda handler: handler.connection.shutdown(socket.SHUT_RDWR)
    refused(site, path, "interrupted|no connection")


def test_a_server_that_falls_silent_is_given_up(site: Any, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "10")
        handler.end_headers()
        handler.wfile.write(b"abc")
        handler.wfile.flush()
        time.sleep(0.5)

    monkeypatch.setattr(download, "_TIMEOUT", 0.1)
    site.answers["/file"] = silent
    refused(site, path, "in 3 attempts: the transfer was interrupted .*timed out")


def test_an_absent_server_is_an_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(download, "_PAUSE", 0.0)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/file"
        with pytest.raises(DatasetError, match=r"in 3 attempts: no connection .*refused"):
            download.download(url, path)
    assert not path.exists()


@pytest.mark.parametrize(("status", "asked"), [(403, 1), (404, 1), (429, 3), (500, 3)])
def test_only_passing_answers_are_asked_for_again(
    site: Any, answer: Answer, path: Path, status: int, asked: int
) -> None:
    site.answers["/file"] = answer(status)
    refused(site, path, f"answers {status} ")
    assert len(site.asked) == asked


def test_a_huge_file_is_refused_while_it_arrives(site: Any, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        try:
            for _ in range(10_000):
                handler.wfile.write(BODY)
        except OSError:
            handler.close_connection = True

    monkeypatch.setattr(download, "_MOST_BYTES", 10**6)
    site.answers["/file"] = endless
    refused(site, path, "sends more than 1000000 bytes")
    assert len(site.asked) == 1


def test_a_full_disk_is_reported_as_it_is(site: Any, answer: Answer) -> None:
    class Full(BytesIO):
        unlinked = False

        def open(self, _: str) -> "Full":
            return self

        def write(self, _: Any) -> int:
            raise OSError(28, "No space left on device")

        def unlink(self, missing_ok: bool) -> None:
            self.unlinked = missing_ok

    site.answers["/file"] = answer(200, BODY)
    full: Any = Full()
    with pytest.raises(OSError, match="No space left"):
        download.download(f"{site.url}/file", full)
    assert full.unlinked
    assert len(site.asked) == 1
