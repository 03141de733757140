"""A local web server, an empty cache folder, and a small data set that the server offers."""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import platformdirs
import pytest

from csid.datasets.descriptions import Description, File, Origin
from csid.datasets.originals import from_csv
from csid.datasets.tables import fingerprint, parse_csv

Answer = Callable[[BaseHTTPRequestHandler], None]

ORIGINAL = b"a;b;y\n1;u;0.1\n2;?;0.2\n3;v;0.3\n"


class Site:
    """A web server whose paths are answered by functions; `asked` lists the requests."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.asked: list[str] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append(self.path)
                site.answers.get(self.path, says(404))(self)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def says(status: int, body: bytes = b"", length: int | None = None, **headers: str) -> Answer:
    """An answer with a body; its announced length may be wrong."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(body) if length is None else length))
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    return answer


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr("pooch.core.time", SimpleNamespace(sleep=lambda seconds: None))  # no pause before a retry
    site = Site()
    yield site
    site.close()


@pytest.fixture
def answer() -> Callable[..., Answer]:
    return says


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The cache folder, which does not exist yet."""
    monkeypatch.delenv("CSID_DATA", raising=False)
    monkeypatch.setattr(platformdirs, "user_cache_dir", lambda name, appauthor: str(tmp_path / "cache" / name))
    return tmp_path / "cache" / "csid" / "datasets"


@pytest.fixture
def small(site: Site) -> Description:
    """A data set of three rows, offered at /small.csv."""
    site.answers["/small.csv"] = says(200, ORIGINAL)
    file = File("paper/small.csv.gz", fingerprint(parse_csv(ORIGINAL.decode(), separator=";")))
    return Description(
        name="small",
        title="A small set",
        task="y from a and b.",
        target=("y",),
        categorical=("b",),
        licence="none",
        citation="nobody",
        page=site.url,
        files=(file,),
        origins=(Origin(f"{site.url}/small.csv", "small.csv", (from_csv(separator=";"),)),),
    )
