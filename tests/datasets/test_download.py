"""Downloads from a local web server: either the file is complete, or there is an error and no file."""

import socket
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from requests import PreparedRequest, Response

from csid.datasets import DatasetError, download

BODY = bytes(range(256)) * 1000

Answer = Callable[..., Callable[[BaseHTTPRequestHandler], None]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file"


def fails(site: Any, path: Path, message: str, address: str = "/file") -> None:
    """A download fails with a message and leaves nothing behind."""
    with pytest.raises(DatasetError, match=message):
        download.fetch(site.url + address, path)
    assert list(path.parent.iterdir()) == []


def test_a_file_is_written_as_it_is_sent(site: Any, answer: Answer, path: Path) -> None:
    agents = []

    def record(handler: BaseHTTPRequestHandler) -> None:
        agents.append(handler.headers["User-Agent"])
        answer(200, BODY)(handler)

    site.answers["/file"] = record
    download.fetch(f"{site.url}/file", path)
    assert path.read_bytes() == BODY
    assert agents[0].startswith("csid/")


def test_an_existing_file_is_not_downloaded(site: Any, path: Path) -> None:
    path.write_bytes(b"by hand")
    download.fetch(f"{site.url}/file", path)
    assert path.read_bytes() == b"by hand"
    assert site.asked == []


def test_a_file_of_unknown_length_is_written_too(site: Any, path: Path) -> None:
    def chunked(handler: BaseHTTPRequestHandler) -> None:
        handler.protocol_version = "HTTP/1.1"
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        handler.wfile.write(b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")

    site.answers["/file"] = chunked
    download.fetch(f"{site.url}/file", path)
    assert path.read_bytes() == b"abcde"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_followed(site: Any, answer: Answer, path: Path, status: int) -> None:
    site.answers["/old"] = answer(status, Location="/newer")
    site.answers["/newer"] = answer(status, Location=f"{site.url}/file")
    site.answers["/file"] = answer(200, BODY)
    download.fetch(f"{site.url}/old", path)
    assert path.read_bytes() == BODY
    assert site.asked == ["/old", "/newer", "/file"]


def test_a_loop_of_redirects_ends(site: Any, answer: Answer, path: Path) -> None:
    site.answers["/file"] = answer(302, Location="/back")
    site.answers["/back"] = answer(302, Location="/file")
    fails(site, path, "/file redirects in a loop")
    assert len(site.asked) < 40


@pytest.mark.parametrize("address", ["file:///etc/passwd", "ftp://127.0.0.1/file"])
def test_redirects_away_from_the_web_are_rejected(site: Any, answer: Answer, path: Path, address: str) -> None:
    site.answers["/file"] = answer(302, Location=address)
    fails(site, path, f"redirects to {address}, which is not an encrypted web address: rejected")
    assert len(site.asked) == 1


@pytest.mark.parametrize("old", ["http", "https"])
@pytest.mark.parametrize("new", ["http", "https"])
def test_redirects_may_gain_encryption_but_not_lose_it(
    old: str, new: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answers come from a stand-in for the network, as the local server has no certificate."""
    asked = []

    def send(_: Any, request: PreparedRequest, **__: Any) -> Response:
        asked.append(request.url)
        response = Response()
        response.request, response.url, response.raw = request, str(request.url), SimpleNamespace(read=lambda *_: b"")
        response.raw.close = response.raw.release_conn = lambda: None
        response.status_code = 302 if len(asked) == 1 else 200
        response.headers["location"] = f"{new}://there/file"
        return response

    monkeypatch.setattr("requests.adapters.HTTPAdapter.send", send)
    if (old, new) == ("https", "http"):
        with pytest.raises(DatasetError, match=r"https://here/file redirects to http://there/file.*not an encrypted"):
            download.fetch(f"{old}://here/file", path)
        assert not path.exists()
    else:
        download.fetch(f"{old}://here/file", path)
        assert asked[1] == f"{new}://there/file"


@pytest.mark.parametrize("address", ["file:///etc/passwd", "ftp://here/file", "/etc/passwd", "data:,abc"])
def test_only_web_addresses_are_downloaded(path: Path, address: str) -> None:
    with pytest.raises(DatasetError, match=f"{address} is not a web address"):
        download.fetch(address, path)
    assert not path.exists()


def test_an_interrupted_transfer_is_retried(site: Any, answer: Answer, path: Path) -> None:
    answers = iter([answer(200, BODY[:1000], length=len(BODY)), answer(503), answer(200, BODY)])
    site.answers["/file"] = lambda handler: next(answers)(handler)
    download.fetch(f"{site.url}/file", path)
    assert path.read_bytes() == BODY
    assert len(site.asked) == 3


def test_a_transfer_interrupted_every_time_is_an_error(site: Any, answer: Answer, path: Path) -> None:
    site.answers["/file"] = answer(200, BODY[:1000], length=len(BODY))
    fails(site, path, r"/file failed 3 times: .*1000 bytes read, 255000 more expected")
    assert len(site.asked) == 3


def test_an_interrupted_chunked_transfer_is_an_error(site: Any, path: Path) -> None:
    def cut(handler: BaseHTTPRequestHandler) -> None:
        handler.protocol_version = "HTTP/1.1"
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        handler.wfile.write(b"ff\r\nabc")
        handler.close_connection = True

    site.answers["/file"] = cut
    fails(site, path, "failed 3 times: .*Connection broken")


def test_a_connection_closed_without_an_answer_is_an_error(site: Any, path: Path) -> None:
    site.answers["/file"] = lambda handler: handler.connection.shutdown(socket.SHUT_RDWR)
    fails(site, path, "failed 3 times: .*Connection aborted")


def test_a_server_that_stops_sending_is_given_up(site: Any, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "10")
        handler.end_headers()
        handler.wfile.write(b"abc")
        handler.wfile.flush()
        time.sleep(0.5)

    monkeypatch.setattr(download, "_TIMEOUT", 0.1)
    site.answers["/file"] = silent
    fails(site, path, "failed 3 times: .*timed out")


@pytest.mark.usefixtures("site")
def test_an_absent_server_is_an_error(path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/file"
        with pytest.raises(DatasetError, match=r"failed 3 times: .*refused"):
            download.fetch(url, path)
    assert not path.exists()


@pytest.mark.parametrize(("status", "asked"), [(403, 1), (404, 1), (429, 3), (500, 3)])
def test_only_temporary_failures_are_retried(site: Any, answer: Answer, path: Path, status: int, asked: int) -> None:
    site.answers["/file"] = answer(status)
    fails(site, path, f"/file returned {status} " if asked == 1 else f"/file failed 3 times: {status} ")
    assert len(site.asked) == asked


def test_a_huge_file_is_rejected_while_it_arrives(site: Any, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        try:
            for _ in range(10_000):
                handler.wfile.write(BODY)
        except OSError:
            handler.close_connection = True

    monkeypatch.setattr(download, "_MAX_BYTES", 10**6)
    site.answers["/file"] = endless
    fails(site, path, "/file is larger than 1000000 bytes")
    assert len(site.asked) == 1


def test_a_full_disk_is_reported_as_it_is(
    site: Any, answer: Answer, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("csid.datasets.download._LimitedFile.write", full)
    site.answers["/file"] = answer(200, BODY)
    with pytest.raises(OSError, match="No space left"):
        download.fetch(f"{site.url}/file", path)
    assert list(path.parent.iterdir()) == []
    assert len(site.asked) == 1
