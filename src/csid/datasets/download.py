"""Downloads with pooch: complete files of limited size, over HTTP or HTTPS."""

from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urljoin, urlsplit

_MAX_BYTES = 200 * 2**20
_TIMEOUT = 30.0
_RETRIES = 2
_CHUNK = 2**16
_SCHEMES = ("http", "https")
_TEMPORARY = (408, 429)


class DatasetError(OSError):
    """A data set could not be loaded; the message says why and what to do."""


class _LimitedFile:
    """The file a download is written to; it may not grow beyond the size limit."""

    def __init__(self, file: BinaryIO, url: str) -> None:
        self._file = file
        self._url = url

    def write(self, chunk: bytes) -> int:
        if self._file.tell() + len(chunk) > _MAX_BYTES:
            raise DatasetError(f"{self._url} is larger than {_MAX_BYTES} bytes, more than any data set here: rejected.")
        return self._file.write(chunk)

    def flush(self) -> None:
        self._file.flush()


def fetch(url: str, path: Path) -> None:
    """Download a file to `path`, unless it is there already; after a failure there is no file.

    pooch writes to a temporary file and renames it when the transfer is complete. Failures that may be temporary (a
    lost connection, a busy server) are retried. No checksum of the file is given to pooch, because hosts repack their
    archives: the caller must verify the values.
    """
    import pooch
    from requests import RequestException  # what pooch downloads with, and lets through

    if urlsplit(url).scheme not in _SCHEMES:
        raise DatasetError(f"{url} is not a web address: only http and https are supported.")
    originals = pooch.create(
        path.parent, base_url="", registry={path.name: None}, urls={path.name: url}, retry_if_failed=_RETRIES
    )
    try:
        originals.fetch(path.name, downloader=_download)
    except RequestException as error:
        cause = error.args[0] if error.args else error
        reason = getattr(cause, "reason", cause)  # the plain cause, where urllib3 wraps it in a MaxRetryError
        raise DatasetError(f"Downloading {url} failed {_RETRIES + 1} times: {reason}.") from error


def _download(url: str, output_file: str, _: Any) -> None:
    """One attempt, called by pooch."""
    import pooch
    from requests import TooManyRedirects

    download = pooch.HTTPDownloader(
        chunk_size=_CHUNK,
        timeout=_TIMEOUT,
        headers={"User-Agent": f"csid/{version('csid')}"},
        hooks={"response": _reject_response},
    )
    with Path(output_file).open("wb") as file:
        try:
            download(url, _LimitedFile(file, url), None)
        except TooManyRedirects as error:
            raise DatasetError(f"{url} redirects in a loop.") from error


def _reject_response(response: Any, **_: Any) -> None:
    """Stop at once, without a retry, at an unsafe redirect or at an error that will not go away."""
    problem = None
    if response.is_redirect:
        target = urljoin(response.url, response.headers["location"])
        old, new = urlsplit(response.url).scheme, urlsplit(target).scheme
        if new not in _SCHEMES or (old == "https" and new != "https"):
            problem = f"redirects to {target}, which is not an encrypted web address: rejected"
    elif 400 <= response.status_code < 500 and response.status_code not in _TEMPORARY:
        problem = f"returned {response.status_code} {response.reason}"
    if problem:
        response.close()
        raise DatasetError(f"{response.url} {problem}.")
