"""Who may talk to the explorer: attacks by real requests, a fuzzer of them, and how the server works and ends."""

import http.client
import json
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from serving import start

from mercer import datasets
from mercer.app.cli import main

pytest.importorskip("starlette", reason="the server is an extra: pip install 'mercer[explore]'")
pytest.importorskip("uvicorn", reason="the server is an extra: pip install 'mercer[explore]'")

from mercer.app.explore import server as server_module
from mercer.app.explore.data import of_rows
from mercer.app.explore.server import FILES, Explorer
from mercer.app.explore.session import KINDS, Session

N = 60
FUZZ = 300  # requests


@pytest.fixture(scope="module")
def explorer():
    explorer = Explorer(lambda: Session(of_rows(datasets.three_tanks(n=N)[0])))
    thread = start(explorer)
    yield explorer
    explorer.stop()
    thread.join(10)
    assert not thread.is_alive()


def ask(explorer, kind="open", body=None, *, path=None, method="POST", drop=(), **headers):
    """One request with all that the page sends, but for what is changed or dropped: status, headers, body."""
    host, port = explorer.guard.host.rsplit(":", 1)
    sent = {
        "Host": explorer.guard.host,
        "Origin": explorer.guard.origin,
        "Sec-Fetch-Site": "same-origin",
        "X-Mercer-Token": explorer.guard.token,
        "Content-Type": "application/json",
    }
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    body = body if isinstance(body, bytes) else json.dumps({} if body is None else body).encode()
    connection = http.client.HTTPConnection(host, int(port), timeout=30)
    connection.putrequest(method, path or f"/api/{kind}", skip_host=True)
    for name, value in sent.items():
        if name not in drop:
            connection.putheader(name, value)
    connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    answer = connection.getresponse()
    found = answer.status, answer.headers, answer.read()
    connection.close()
    return found


def unpacked(body):
    length = struct.unpack("<I", body[:4])[0]
    header, at, arrays = json.loads(body[4 : 4 + length]), 4 + length, []
    for kind, size in header["arrays"]:
        arrays.append(np.frombuffer(body, f"<{kind}", size, at))
        at += -(-arrays[-1].nbytes // 4) * 4
    return header, arrays


def fit(explorer, **settings):
    first = unpacked(ask(explorer)[2])[0]["settings"]
    return unpacked(ask(explorer, "fit", {"settings": first | {"components": 3} | settings, "axes": [0, 1]})[2])


def test_the_page_and_its_files(explorer):
    status, headers, body = ask(explorer, method="GET", path=f"/?token={explorer.guard.token}", body=b"")
    assert status == 200
    assert b"explorer" in body
    cookie = headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert explorer.guard.token not in cookie
    for path, (_, kind) in FILES.items():
        status, headers, body = ask(explorer, method="GET", path=path, body=b"", Cookie=cookie.partition(";")[0])
        assert (status, headers["Content-Type"]) == (200, kind)
        assert body


def test_every_kind_answers_as_the_session_does(explorer):
    header, (x, _) = fit(explorer)
    view = explorer.session.views[header["model"]]
    assert np.all(x == view.model.transform(view.X)[:, 0].astype(np.float32))
    body = {"model": header["model"], "axes": [0, 1], "at": [0, 0], "row": 1, "rows": [1, 2], "by": "novelty"}
    for kind in set(KINDS) - {"fit"}:
        status, _, answer = ask(explorer, kind, body)
        assert status == 200, kind
        direct = explorer.session.answer(kind, body)
        told, arrays = unpacked(answer)
        assert {k: v for k, v in told.items() if k != "arrays"} == json.loads(json.dumps(direct[0]))
        if kind != "save":  # a file has its time in it
            assert all(np.allclose(a, b, equal_nan=True) for a, b in zip(arrays, direct[1], strict=True))


def test_answers_carry_the_security_headers(explorer):
    answers = [ask(explorer), ask(explorer, drop=("X-Mercer-Token",)), ask(explorer, Host="evil.example")]
    answers += [ask(explorer, method="GET", path=f"/?token={explorer.guard.token}", body=b"")]
    for _, headers, _ in answers:
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'self';")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["Cache-Control"] == "no-store"
        assert not [name for name in headers if name.lower().startswith("access-control")]
        assert "Server" not in headers


def port_of(explorer):
    return explorer.guard.host.rpartition(":")[2]


def cookie_of(explorer):
    return f"{explorer.guard.cookie_name}={explorer.guard.cookie}"


def page(explorer, before=""):
    return {"method": "GET", "path": f"{before}/?token={explorer.guard.token}", "body": b""}


ATTACKS = {
    "foreign host": (421, lambda e: {"Host": f"evil.example:{port_of(e)}"}),
    "foreign host that resolves here": (421, lambda e: {"Host": f"localhost:{port_of(e)}"}),
    "host without port": (421, lambda e: {"Host": "127.0.0.1"}),
    "host with a suffix": (421, lambda e: {"Host": e.guard.host + ".evil.example"}),
    "host with a user": (421, lambda e: {"Host": f"a@{e.guard.host}"}),
    "host as a number": (421, lambda e: {"Host": f"2130706433:{port_of(e)}"}),
    "host with a final dot": (421, lambda e: {"Host": f"127.0.0.1.:{port_of(e)}"}),
    "foreign host with the token": (421, lambda e: {"Host": "evil.example", **page(e)}),
    "foreign host in the address": (421, lambda e: {"Host": "evil.example", **page(e, e.guard.origin)}),
    # without a body: the server answers and closes the connection before it reads one, which resets it
    "no host": (400, lambda e: {"drop": ("Host",), "body": b""}),
    "no token": (403, lambda e: {"drop": ("X-Mercer-Token",)}),
    "empty token": (403, lambda e: {"X_Mercer_Token": ""}),
    "wrong token": (403, lambda e: {"X_Mercer_Token": "a" * len(e.guard.token)}),
    "the cookie as token": (403, lambda e: {"X_Mercer_Token": e.guard.cookie}),
    "a cookie alone": (403, lambda e: {"drop": ("X-Mercer-Token",), "Cookie": cookie_of(e)}),
    "foreign origin": (403, lambda e: {"Origin": "https://evil.example"}),
    "the origin of another port": (403, lambda e: {"Origin": "http://127.0.0.1:1"}),
    "null origin": (403, lambda e: {"Origin": "null"}),
    "no origin": (403, lambda e: {"drop": ("Origin",)}),
    "cross-site": (403, lambda e: {"Sec_Fetch_Site": "cross-site"}),
    "same-site": (403, lambda e: {"Sec_Fetch_Site": "same-site"}),
    "form": (415, lambda e: {"Content_Type": "application/x-www-form-urlencoded", "body": b"a=1"}),
    "form with a file": (415, lambda e: {"Content_Type": "multipart/form-data; boundary=x", "body": b"--x--"}),
    "plain text": (415, lambda e: {"Content_Type": "text/plain", "body": b"{}"}),
    "no content type": (415, lambda e: {"drop": ("Content-Type",)}),
    "preflight": (405, lambda e: {"method": "OPTIONS", "Origin": "https://evil.example"}),
    "GET of an answer": (405, lambda e: {"method": "GET"}),
    "page without token": (403, lambda e: {"method": "GET", "path": "/"}),
    "page with a wrong token": (403, lambda e: {"method": "GET", "path": "/?token=" + "b" * 43}),
    "script without cookie": (403, lambda e: {"method": "GET", "path": "/explorer.js"}),
    "POST to the page": (405, lambda e: {"path": "/"}),
    "the token of another address": (403, lambda e: {"method": "GET", "path": f"/page.js?token={e.guard.token}"}),
    "HEAD with the token": (405, lambda e: {**page(e), "method": "HEAD"}),
    "websocket": (403, lambda e: {"method": "GET", "path": "/", "Upgrade": "websocket", "Connection": "Upgrade"}),
    "unknown kind": (404, lambda e: {"path": "/api/evil"}),
}  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks_are_refused(explorer, name):
    status, change = ATTACKS[name]
    found, headers, body = ask(explorer, **change(explorer))
    assert found == status
    assert "Set-Cookie" not in headers
    assert explorer.guard.token.encode() not in body


PATHS = (
    "/../server.py",
    "/..%2fserver.py",
    "/%2e%2e/%2e%2e/pyproject.toml",
    "//etc/passwd",
    "/explorer.js/../guard.py",
    "/./page.html",
    "/page.html",
    "/explorer.js%00.html",
    "/api/../page.js",
)


@pytest.mark.parametrize("path", PATHS)
def test_no_path_of_a_client_reaches_a_file(explorer, path):
    status, _, body = ask(explorer, method="GET", path=path, Cookie=cookie_of(explorer), body=b"")
    assert status in {403, 404, 405}
    assert b"root:" not in body
    assert b"import" not in body


def test_a_body_too_large_is_refused_before_it_is_read(explorer):
    with socket.create_connection(explorer.socket.getsockname()) as raw:
        raw.sendall(head(explorer, "open", "Content-Length: 99999999999"))
        assert b" 413 " in raw.recv(1000)


def test_a_chunked_body_too_large_is_refused(explorer, monkeypatch):
    monkeypatch.setattr(server_module, "MOST_JSON", 1000)
    with socket.create_connection(explorer.socket.getsockname()) as raw:
        chunk = b"64\r\n" + b" " * 100 + b"\r\n"
        raw.sendall(head(explorer, "open", "Transfer-Encoding: chunked") + 20 * chunk)  # at once: it is read at once
        assert b" 413 " in raw.recv(1000)


def test_a_slow_client_is_cut_off_and_nobody_waits_for_it(explorer, monkeypatch):
    monkeypatch.setattr(explorer, "body_seconds", 0.3)
    with socket.create_connection(explorer.socket.getsockname()) as raw:
        raw.sendall(head(explorer, "open", "Content-Length: 100") + b"{")
        assert ask(explorer)[0] == 200
        assert b" 408 " in raw.recv(1000)


def head(explorer, kind, *more):
    lines = [f"POST /api/{kind} HTTP/1.1", f"Host: {explorer.guard.host}", f"Origin: {explorer.guard.origin}"]
    lines += [f"X-Mercer-Token: {explorer.guard.token}", "Content-Type: application/json", *more, "", ""]
    return "\r\n".join(lines).encode()


def test_two_tabs_keep_their_models(explorer):
    first, second = fit(explorer, width=0.5)[0]["model"], fit(explorer, width=2.0)[0]["model"]
    shares = [unpacked(ask(explorer, "map", {"model": m, "axes": [0, 1]})[2])[0]["shares"] for m in (first, second)]
    assert shares[0] != shares[1]


def test_a_table_of_ten_thousand_columns_is_refused(explorer):
    text = ",".join(f"c{i}" for i in range(10_000)).encode() + b"\n" + b",".join([b"1"] * 10_000) + b"\n"
    status, _, body = ask(explorer, "table", text, Content_Type="text/csv")
    assert status == 422
    assert "10000 columns" in body.decode()
    assert len(explorer.session.data) == N


VALUES = [
    None,
    True,
    0,
    -1,
    1e308,
    2**70,
    "",
    "m1",
    "\0",
    "../..",
    [],
    [0],
    [0, 1],
    [[]] * 3,
    {},
    {"a": 1},
    0.5,
    "x" * 5000,
]


def test_fuzzed_requests_are_answered_or_refused_in_plain_words(explorer):
    """Seeded: bodies of wrong types and shapes, damaged JSON, damaged headers. Never a fault of ours."""
    rng = np.random.default_rng(0)
    model = fit(explorer)[0]["model"]
    good = {"model": model, "axes": [0, 1], "at": [0, 0], "row": 1, "rows": [1, 2], "by": "novelty", "causes": True}
    good["settings"] = unpacked(ask(explorer)[2])[0]["settings"]
    kinds = [*KINDS, "table", "stop"]
    for _ in range(FUZZ):
        kind, body = kinds[rng.integers(len(kinds))], dict(good)
        for key in rng.choice(list(good), rng.integers(0, 4)):
            body[key] = VALUES[rng.integers(len(VALUES))]
        if rng.random() < 0.3:
            body["settings"] = good["settings"] | {
                rng.choice(list(good["settings"])): VALUES[rng.integers(len(VALUES))]
            }
        text = bytearray(json.dumps(body).encode())
        if rng.random() < 0.3:
            text[rng.integers(len(text))] = rng.integers(256)
        if rng.random() < 0.05:
            text = bytearray(b"[" * 100_000)
        kind_of_text = "text/csv" if kind == "table" else "application/json"
        status, _, answer = ask(explorer, kind, bytes(text), Content_Type=kind_of_text)
        assert status in {200, 409, 422}, (kind, status, bytes(text[:300]), answer)
    assert ask(explorer)[0] == 200
    assert len(explorer.session.data) == N


def test_damaged_requests_do_not_stop_the_server(explorer):
    rng = np.random.default_rng(1)
    for _ in range(30):
        with socket.create_connection(explorer.socket.getsockname()) as raw:
            text = bytearray(head(explorer, "open", "Content-Length: 2") + b"{}")
            for at in rng.integers(len(text), size=3):
                text[at] = rng.integers(256)
            raw.sendall(bytes(text))
    assert ask(explorer)[0] == 200


def test_only_loopback_is_served():
    session = Session(of_rows(datasets.three_tanks(n=N)[0]))
    for host in ("0.0.0.0", "::", "192.168.1.2", "localhost", ""):
        with pytest.raises(ValueError, match="this machine only"):
            Explorer(lambda: session, host)


def own(seconds=60.0):
    explorer = Explorer(lambda: Session(of_rows(datasets.three_tanks(n=N)[0])), seconds=seconds)
    return explorer, start(explorer)


def test_requests_are_answered_one_after_the_other_also_of_one_kind(monkeypatch):
    """Two tabs do not take each other's turn."""
    explorer, thread = own()
    running, most = [], []

    def slow(session, body):
        running.append(body)
        most.append(len(running))
        time.sleep(0.05)
        running.pop()
        return {"number": body["number"]}, []

    monkeypatch.setattr(Session, "fit", slow)
    found = {}

    def send(number):
        found[number] = ask(explorer, "fit", {"number": number})

    threads = [threading.Thread(target=send, args=(i,)) for i in range(3)]
    for sender in threads:
        sender.start()
    for sender in threads:
        sender.join(10)
    assert [unpacked(found[i][2])[0]["number"] for i in range(3)] == [0, 1, 2]
    assert max(most) == 1
    explorer.stop()
    thread.join(10)


def wait_until(true, seconds=10):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("how", ["stop", "time limit"])
def test_a_computation_ends_where_it_should(how, monkeypatch):
    """A loop that makes no pass over rows is interrupted, too; the server goes on."""
    explorer, thread = own(seconds=60.0 if how == "stop" else 0.1)
    begun = threading.Event()

    def endless(session, body):
        begun.set()
        while True:
            time.sleep(0.01)

    monkeypatch.setattr(Session, "fit", endless)
    found = []
    sender = threading.Thread(target=lambda: found.append(ask(explorer, "fit")))
    sender.start()
    assert begun.wait(10)
    if how == "stop":
        assert ask(explorer, "stop")[0] == 200
    sender.join(20)
    status, _, body = found[0]
    assert status == 409
    assert b"stopped" in body
    assert (b"time-limit" in body) == (how == "time limit")
    assert ask(explorer)[0] == 200
    explorer.stop()
    thread.join(10)


def test_a_fit_is_stopped_between_two_tiles(monkeypatch):
    explorer, thread = own(seconds=0.0)
    body = {"settings": {"components": 3}, "axes": [0, 1]}
    explorer.session.data = of_rows(datasets.three_tanks(n=2000)[0])
    status, _, answer = ask(explorer, "fit", body)
    assert status == 409, answer
    assert b"stopped" in answer
    explorer.stop()
    thread.join(10)


def test_the_server_ends_when_its_page_is_closed():
    explorer, thread = own()
    explorer.alone_seconds = 0.2
    with socket.create_connection(explorer.socket.getsockname()) as raw:
        raw.sendall(head(explorer, "alive", "Content-Length: 2") + b"{}")
        assert b" 200 " in raw.recv(1000)
        time.sleep(0.6)
        assert thread.is_alive()
    thread.join(10)
    assert not thread.is_alive()


def test_a_fault_of_ours_is_told_and_the_server_goes_on(monkeypatch, capsys):
    explorer, thread = own()

    def fault(session, body):
        raise KeyError("oops")

    monkeypatch.setattr(Session, "fit", fault)
    status, _, body = ask(explorer, "fit")
    assert status == 500
    assert b"inside mercer: KeyError" in body
    assert ask(explorer)[0] == 200
    explorer.stop()
    thread.join(10)
    assert "oops" in capsys.readouterr().err


LIGHT = """
import sys
import mercer.app.explore
from mercer.app.cli import main
from mercer.app.explore.server import Explorer
from serving import start

def serve(load, **options):
    explorer = Explorer(load)
    heavy = {"numpy", "scipy", "sklearn"} & set(sys.modules)
    assert not heavy, heavy
    thread = start(explorer)
    session = explorer.session
    explorer.stop()
    thread.join(10)
    settings = session.answer("open", {})[0]["settings"]
    session.answer("fit", {"settings": settings, "axes": [0, 1]})

mercer.app.explore.serve = serve
main(["explore", "--no-browser"], standalone_mode=False)
import scipy.stats
assert "norm" not in vars(scipy.stats)
from scipy import stats
assert stats.norm.cdf(0) == scipy.stats.norm.cdf(0) == 0.5
from scipy.stats import rankdata
"""


def test_the_address_is_known_before_anything_large_is_imported():
    """And scikit-learn does not import the largest module of SciPy for the map."""
    here = Path(__file__).parent
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, timeout=120, cwd=here)
    assert done.returncode == 0, done.stderr


def test_the_page_is_served_while_the_table_is_read():
    """A question waits for the session, the page does not."""
    go, answers = threading.Event(), []

    def load():
        assert go.wait(30)
        return Session(of_rows(datasets.three_tanks(n=N)[0]))

    explorer = Explorer(load)
    thread = threading.Thread(target=explorer.run)
    thread.start()
    assert ask(explorer, path=f"/?token={explorer.guard.token}", method="GET")[0] == 200
    asking = threading.Thread(target=lambda: answers.append(ask(explorer)))
    asking.start()
    assert ask(explorer, path=f"/?token={explorer.guard.token}", method="GET")[0] == 200
    assert not answers
    go.set()
    asking.join(30)
    assert answers[0][0] == 200
    explorer.stop()
    thread.join(10)


def test_a_browser_is_opened_where_there_is_a_screen(monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("sys.platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert not server_module.open_browser("http://here")
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert server_module.open_browser("http://here")
    wait_until(lambda: opened == ["http://here"])


BAD = {
    "no such file": (["none.csv"], "none.csv: No such file"),
    "no such model": (["none.mercer", "words.csv"], "none.mercer: No such file"),
    "two tables": (["words.csv", "words.csv"], "Two tables were given"),
    "image": (["words.csv", "--image", "8"], "not the size of a picture"),
    "table": (["words.csv"], "no column of numbers is left"),
    "column": (["numbers.csv", "--columns", "c"], "there is no column 'c'"),
    "format": (["numbers.xyz"], "cannot infer the format"),
    "model": (["bad.mercer", "numbers.csv"], "bad.mercer"),
}


@pytest.mark.parametrize("case", sorted(BAD))
def test_bad_input_ends_the_command_with_one_line(case, tmp_path, monkeypatch):
    """Also where it is found behind the page: nobody has opened it, so the command ends at once."""
    arguments, text = BAD[case]
    monkeypatch.chdir(tmp_path)
    Path("words.csv").write_text("a\n" + "".join(f"{chr(97 + i)}x\n" for i in range(25)))
    Path("numbers.csv").write_text("a,b\n1,2\n3,4\n5,7\n")
    Path("numbers.xyz").write_text("a,b\n1,2\n")
    Path("bad.mercer").write_text("no zip archive")
    done = CliRunner().invoke(main, ["explore", *arguments, "--no-browser"])
    assert done.exit_code == 2, done.output
    assert text in done.stderr
    assert done.stderr.count("\n") == 1
    seen_at_once = case in {"no such file", "no such model", "two tables", "image"}
    assert done.stdout.startswith("http") != seen_at_once


def test_the_command_prints_the_address_first_and_ends(tmp_path):
    """As a user would: the first line is the address; the server's log is off; interrupting it is a normal end."""
    path = tmp_path / "data.csv"
    path.write_text("a,b,c\n" + "".join(f"{i},{i * i},{-i}\n" for i in range(30)))
    command = [sys.executable, "-m", "mercer.app.cli", "explore", str(path), "--no-browser"]
    command[1:3] = ["-c", "from mercer.app.cli import main; main()"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    address = process.stdout.readline().strip()
    assert address.startswith("http://127.0.0.1:")
    host, _, rest = address.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(host, timeout=30)
    wait_until(lambda: connects(connection), 30)
    connection.request("GET", "/" + rest)
    assert connection.getresponse().status == 200
    connection.close()
    sent = {"Origin": f"http://{host}", "X-Mercer-Token": rest.partition("=")[2], "Content-Type": "application/json"}
    connection.request("POST", "/api/open", "{}", sent)  # answered when the table has been read
    assert connection.getresponse().status == 200
    connection.close()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (0, "", "")
    assert sorted(item.name for item in tmp_path.iterdir()) == ["data.csv"]


def test_interrupted_while_it_reads():
    """From a pipe that gives nothing, where the thread that reads cannot be interrupted."""
    command = [sys.executable, "-c", "from mercer.app.cli import main; main()", "explore", "-", "--no-browser"]
    pipes = dict.fromkeys(["stdin", "stdout", "stderr"], subprocess.PIPE)
    process = subprocess.Popen([*command, "--from", "csv"], text=True, **pipes)
    assert process.stdout.readline().startswith("http://127.0.0.1:")
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=60)
    assert (process.returncode, process.stdout.read(), process.stderr.read()) == (130, "", "Interrupted.\n")
    for pipe in (process.stdin, process.stdout, process.stderr):
        pipe.close()


def connects(connection):
    try:
        connection.connect()
    except OSError:
        return False
    return True
