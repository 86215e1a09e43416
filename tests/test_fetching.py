"""Fetching: every failure is one error that says what to do, and nothing is kept."""

import gzip
import http.client
import io
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.error import HTTPError, URLError
from urllib.request import Request

import numpy as np
import pytest

from mercer import datasets
from mercer.datasets import download, fetching, monitoring
from mercer.datasets.download import FetchError


class Answer(io.BytesIO):
    """A body with headers."""

    def __init__(self, data, length=None, kind="application/octet-stream"):
        super().__init__(data)
        self.headers = {"Content-Length": str(len(data) if length is None else length), "Content-Type": kind}


class Dropped(Answer):
    """A body whose connection breaks off."""

    def read(self, *_):
        raise http.client.IncompleteRead(b"a", 99)


def raising(error):
    def opener(url, timeout):
        raise error

    return opener


def npz(member=b"x" * 1000, compression=8):
    file = io.BytesIO()

    with zipfile.ZipFile(file, "w", compression) as archive:
        archive.writestr("X.npy", member)
    return file.getvalue()


def damaged(data):
    """The bytes of a zip with a member in ruins."""
    return data[:60] + bytes(20) + data[80:]


FAILURES = {
    "an unknown host": (raising(URLError("no such host")), "does not answer"),
    "a timeout": (raising(TimeoutError("timed out")), "does not answer"),
    "a reset": (raising(ConnectionResetError("reset")), "does not answer"),
    "an old address": (raising(HTTPError("https://x", 404, "Not Found", None, None)), "404"),
    "a dropped connection": (lambda *_, **__: Dropped(b"abc"), "properly"),
    "a bad status line": (raising(http.client.BadStatusLine("x")), "properly"),
    "a truncated body": (lambda *_, **__: Answer(b"abc", 10), "3 of 10 bytes"),
    "a commented login page": (lambda *_, **__: Answer(b"<!-- a --> <html><p>log in"), "login"),
    "a login page without tags": (lambda *_, **__: Answer(b"log in", kind="text/html"), "login"),
    "a reason in red": (raising(HTTPError("https://x", 500, "\x1b[31m\nno", None, None)), "500"),
    "a long field": (lambda *_, **__: Answer(b"a," + b"x" * 200_000 + b"\n1\n"), "not the expected"),
    "a damaged member": (lambda *_, **__: Answer(damaged(npz(compression=14))), "not the expected"),
    "a login page": (lambda *_, **__: Answer(b"\n<!DOCTYPE html><p>log in"), "login"),
    "no data": (lambda *_, **__: Answer(b""), "nothing"),
    "other data": (lambda *_, **__: Answer(gzip.compress(b"1 2 3\n4 5 6\n")), "not the expected"),
    "damaged data": (lambda *_, **__: Answer(gzip.compress(b"1 2 3\n" * 99)[:-20]), "not the expected"),
    "a zip of nothing": (lambda *_, **__: Answer(npz()), "not the expected"),
    "a damaged zip": (lambda *_, **__: Answer(npz()[:40] + b"x" + npz()[41:]), "not the expected"),
}


@pytest.mark.parametrize("name", ["usps", "pima", "mnist", "ad_wine", "te", "ida_banana"])
@pytest.mark.parametrize("failure", FAILURES)
def test_every_failure_is_one_error_and_leaves_nothing(failure, name, tmp_path):
    opener, words = FAILURES[failure]
    with pytest.raises(FetchError, match=words) as error:
        fetching.fetch(name, tmp_path, opener)
    assert "by hand" in str(error.value)
    assert str(error.value).isprintable()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", [b"", b"PK\3\4", b"\x93NUMPY", npz(), damaged(npz(compression=14))])
def test_a_damaged_file_on_this_machine_is_named(content, tmp_path, monkeypatch):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    path = tmp_path / "usps.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"{path} is damaged.*Remove it"):
        datasets.load("usps")


def test_sizes_are_bounded(monkeypatch, tmp_path):
    monkeypatch.setattr(download, "MOST_UNPACKED", 10**6)
    bomb = gzip.compress(bytes(10**7))
    with pytest.raises(FetchError, match="too long"):
        fetching.fetch("usps", tmp_path, lambda *_, **__: Answer(bomb))
    with pytest.raises(FetchError, match="too large"):
        fetching.fetch("ad_wine", tmp_path, lambda *_, **__: Answer(npz(bytes(10**7))))
    monkeypatch.setattr(download, "MOST_BYTES", 100)
    with pytest.raises(FetchError, match="longer than"):
        fetching.fetch("usps", tmp_path, lambda *_, **__: Answer(bytes(10**7)))


@pytest.mark.parametrize("url", ["http://x.org/a", "https://evil.org/a", "file:///etc/passwd", "ftp://x.org/a"])
def test_redirects_to_other_hosts_or_schemes_are_refused(url):
    handler = download._SameHost()
    with pytest.raises(FetchError, match="not trusted"):
        handler.redirect_request(Request("https://x.org/b"), None, 302, "Found", {}, url)
    assert handler.redirect_request(Request("https://x.org/b"), None, 302, "Found", {}, "https://x.org/c")


def test_a_server_that_redirects_is_not_followed():
    class Redirecting(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(302)
            self.send_header("Location", "http://example.invalid/")
            self.end_headers()

        def log_message(self, *_):
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Redirecting) as server:
        thread = threading.Thread(target=server.handle_request, daemon=True)
        thread.start()
        with pytest.raises(FetchError, match="redirects to"):
            download.download(f"http://127.0.0.1:{server.server_port}/", download.open_url)
        thread.join()


def test_addresses_are_of_https_only():
    places = [
        fetching.STANFORD,
        fetching.RDATASETS,
        fetching.MNIST,
        fetching.IDA,
        monitoring.ADBENCH,
        monitoring.EASTMAN,
    ]
    assert all(place.startswith("https://") for place in places)


def test_unzip_returns_plain_arrays():
    file = io.BytesIO()
    np.savez(file, X=np.eye(2), y=np.arange(3))
    assert {key: value.shape for key, value in download.unzip(file.getvalue()).items()} == {"X": (2, 2), "y": (3,)}
