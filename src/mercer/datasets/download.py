"""Downloads over https, of limited size, from the named host only, complete or not at all."""

import io
import zipfile
import zlib
from collections.abc import Callable
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import numpy as np

from .._core import npy
from .._core.text import visible

TIMEOUT = 60  # seconds without an answer
CHUNK = 2**20
MOST_BYTES = 2**28  # of a download: the largest data set has 30 MB
MOST_UNPACKED = 2**28  # of a download after decompression: the largest data set has 64 MB
LONGEST_MESSAGE = 500  # characters
GZIP = 16 + zlib.MAX_WBITS  # zlib's code for the gzip format
PAGE = (b"<!doctype html", b"<html")
PAGE_START = 1000  # bytes in which a page says that it is one
REDIRECTS = {"github.com": {"raw.githubusercontent.com"}}  # host → others that it may redirect to


class FetchError(FileNotFoundError):
    """A data set that could not be downloaded, for any reason; the message is one line that says what to do."""

    def __init__(self, problem: str, way_out: str = "") -> None:
        problem = visible(problem[:LONGEST_MESSAGE])[:LONGEST_MESSAGE]  # it may quote the server
        super().__init__(f"{problem} {way_out}".rstrip())


class _SameHost(HTTPRedirectHandler):
    """Follow redirects over https to the same host, or to one that is known to belong to it."""

    def redirect_request(self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Request | None:
        new, old = urlsplit(newurl), urlsplit(req.full_url)
        if new.scheme != "https" or new.hostname not in {old.hostname, *REDIRECTS.get(old.hostname or "", ())}:
            raise FetchError(f"{req.full_url} redirects to {newurl[:200]!r}, which is not trusted.")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


open_url: Callable[..., Any] = build_opener(_SameHost).open


def download(url: str, opener: Callable[..., Any]) -> bytes:
    """Return the content of a URL; raise FetchError if it is too long, incomplete, or a web page."""
    try:
        with opener(url, timeout=TIMEOUT) as answer:
            headers = getattr(answer, "headers", {})
            declared, kind = int(headers.get("Content-Length") or -1), headers.get("Content-Type") or ""
            data = _bounded(answer)
    except HTTPError as error:
        raise FetchError(f"{url} answers {error.code} {error.reason}.") from None
    except FetchError:
        raise
    except (OSError, ValueError, EOFError) as error:  # dropped, refused, unknown host, no certificate, a timeout
        raise FetchError(f"{url} does not answer ({error}).") from None
    except Exception as error:  # http.client raises kinds of its own for bad answers
        raise FetchError(f"{url} does not answer properly ({type(error).__name__}: {error}).") from None
    if declared >= 0 and len(data) != declared:
        raise FetchError(f"The download from {url} is cut short: {len(data)} of {declared} bytes arrived.")
    if not data:
        raise FetchError(f"{url} answers with nothing.")
    if "text/html" in kind.lower() or any(tag in data[:PAGE_START].lower() for tag in PAGE):
        raise FetchError(f"{url} answers with a web page instead of data: does the network ask for a login?")
    return data


def _bounded(answer: Any) -> bytes:
    parts, size = [], 0
    while part := answer.read(CHUNK):
        parts.append(part)
        size += len(part)
        if size > MOST_BYTES:
            raise FetchError(f"The download is longer than {MOST_BYTES // 2**20} MB, so it is not a data set.")
    return b"".join(parts)


def gunzip(data: bytes) -> bytes:
    """Return decompressed data of bounded size; raise ValueError if they are damaged, cut short or too long."""
    stream = zlib.decompressobj(GZIP)
    try:
        found = stream.decompress(data, MOST_UNPACKED)
    except zlib.error as error:
        raise ValueError(f"damaged gzip data: {error}") from None
    if not stream.eof:
        raise ValueError("gzip data that are cut short or too long")
    return found


def unzip(data: bytes) -> dict[str, np.ndarray]:
    """Return the arrays of an ``.npz`` file, without pickles, of bounded size; raise ValueError for any damage."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(member.file_size for member in archive.infolist()) > MOST_UNPACKED:
                raise ValueError("it is too large")
            found = {name: np.frombuffer(archive.read(name), np.uint8) for name in archive.namelist()}
    except npy.ZIP_ERRORS as error:
        raise ValueError(f"a damaged .npz file: {error}") from None
    return {name.removesuffix(".npy"): npy.parse(part) for name, part in found.items()}
