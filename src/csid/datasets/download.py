"""A file from a public address: whole, not too large, and over HTTP or HTTPS only."""

import http.client
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

_MOST_BYTES = 200 * 2**20
_TIMEOUT = 30.0
_ATTEMPTS = 3
_PAUSE = 1.0
_CHUNK = 2**16
_SCHEMES = ("http", "https")
_PASSING = (408, 429)


class DatasetError(OSError):
    """A data set that could not be had; the message says where to get it and where to put it."""


class _PassingFailure(Exception):
    """A failure that another attempt may not meet."""


class _SafeRedirects(HTTPRedirectHandler):
    """Redirects to HTTP or HTTPS, and never from HTTPS to HTTP."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: http.client.HTTPMessage, newurl: str
    ) -> Request | None:
        old, new = urlsplit(req.full_url).scheme, urlsplit(newurl).scheme
        if new not in _SCHEMES or (old == "https" and new != "https"):
            fp.close()
            raise DatasetError(
                f"{req.full_url} redirects to {newurl}, which is not encrypted or no web address: refused."
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def download(url: str, path: Path) -> None:
    """The file at an address, written to `path`; after a failure nothing is left there.

    What a passing failure interrupts (a lost connection, a server too busy) is tried again from the start.
    """
    if urlsplit(url).scheme not in _SCHEMES:
        raise DatasetError(f"{url} is no web address: only http and https are downloaded.")
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            with path.open("wb") as file:
                for chunk in _chunks(url):
                    file.write(chunk)
            return
        except _PassingFailure as failure:
            path.unlink()
            if attempt == _ATTEMPTS:
                raise DatasetError(f"{url} could not be read in {_ATTEMPTS} attempts: {failure}.") from failure
            time.sleep(_PAUSE * attempt)
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def _chunks(url: str) -> Iterator[bytes]:
    """What an address sends, in pieces; an error when that is not all of it, or too much."""
    request = Request(url, headers={"User-Agent": f"csid/{version('csid')}"})
    try:
        with build_opener(_SafeRedirects).open(request, timeout=_TIMEOUT) as response:
            yield from _all_of(response, url)
    except HTTPError as answer:
        answer.close()
        said = " ".join(f"answers {answer.code} {answer.reason}".split())
        if answer.code in _PASSING or answer.code >= 500:
            raise _PassingFailure(f"it {said}") from None
        raise DatasetError(f"{url} {said}.") from None
    except DatasetError:
        raise
    except URLError as failure:
        raise _PassingFailure(f"no connection ({failure.reason})") from failure
    except (http.client.HTTPException, OSError) as failure:
        raise _PassingFailure(f"the transfer was interrupted ({str(failure) or type(failure).__name__})") from failure


def _all_of(response: Any, url: str) -> Iterator[bytes]:
    expected = response.length  # as the header says, or None; it counts down while reading
    received = 0
    while chunk := response.read(_CHUNK):
        received += len(chunk)
        if received > _MOST_BYTES:
            raise DatasetError(f"{url} sends more than {_MOST_BYTES} bytes, which no set here needs: refused.")
        yield chunk
    if expected is not None and received != expected:
        raise _PassingFailure(f"the transfer was interrupted after {received} of {expected} bytes")
