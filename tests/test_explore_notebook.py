"""The explorer as a notebook's widget: its messages, and the widget in a real JupyterLab."""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from importlib.util import find_spec

import numpy as np
import pytest
from chromium import PROGRAM, Chromium

from mercer import KernelPCA, datasets
from mercer.app.explore.session import Session
from mercer.app.explore.widget import answer, markup, widget

HERE = (
    shutil.which("jupyter", path=os.path.dirname(sys.executable))
    if find_spec("jupyterlab") and find_spec("anywidget")
    else None
)
LAB = os.environ.get("MERCER_JUPYTER", HERE)
CODE = """import mercer
X, y = mercer.datasets.rings()
mercer.explore(mercer.KernelPCA(3).fit(X), X, target=y)"""
TRIES = 10  # to run the cell
PATIENCE = 90  # seconds for JupyterLab to start on a busy machine


def session():
    X = datasets.rings()[0]
    return Session.of(KernelPCA(3).fit(X), X)


def test_messages_are_answered_as_requests_are():
    from test_explore_server import unpacked

    shown = session()
    header, (body,) = answer(shown, {"id": 7, "kind": "open", "body": {}})
    assert header == {"id": 7}
    key = unpacked(body)[0]["model"]
    _, (body,) = answer(shown, {"id": 8, "kind": "map", "body": {"model": key, "axes": [0, 1]}})
    view = shown.views[key]
    assert np.all(unpacked(body)[1][0] == view.Y[:, 0].astype(np.float32))
    for message in ({"id": 9, "kind": "evil"}, {"id": 9, "kind": "map", "body": {"model": "m99"}}, {"kind": "fit"}):
        assert answer(shown, message)[0]["error"]


def test_the_widget_is_the_same_module():
    pytest.importorskip("anywidget", reason="notebooks are an extra: pip install 'mercer[notebook]'")
    shown = widget(session())
    assert "export function render" in shown._esm
    assert ".mx" in shown._css
    assert shown.markup.strip().startswith('<div class="mx">')
    assert shown.markup.count("<div") == shown.markup.count("</div>")


PAGE = """<!doctype html><link rel="stylesheet" href="/explorer.css"><div id="cell"></div><script type="module">
import widget from "/explorer.js";
const heard = [];
const model = {
  get: (name) => ({ markup: %s })[name],
  on: (name, hear) => name === "msg:custom" && heard.push(hear),
  send: async (message) => {
    const answer = await fetch("/message", { method: "POST", body: JSON.stringify(message) });
    const header = JSON.parse(answer.headers.get("x-header"));
    const buffer = await answer.arrayBuffer();
    for (const hear of heard) hear(header, [new DataView(buffer)]);
  },
};
const el = document.createElement("div"); // not yet on the page, as in a notebook
window.close_ = widget.render({ model, el });
document.getElementById("cell").append(el);
const other = document.createElement("div"); // a new view of the same output
document.body.append(other);
window.closeOther = widget.render({ model, el: other });
</script>"""


@pytest.mark.skipif(PROGRAM is None, reason="there is no Chromium: apt install chromium")
def test_the_module_as_a_widget(tmp_path):
    """The front end's part of a notebook, played by a page: messages and buffers go to the same function."""
    shown = session()
    files = resources.files("mercer.app.explore")
    served = {"/explorer.js": "text/javascript", "/explorer.css": "text/css"}
    page = (PAGE % json.dumps(markup())).encode()

    class Kernel(BaseHTTPRequestHandler):
        def do_GET(self):
            kind = served.get(self.path, "text/html")
            self.reply({}, kind, files.joinpath(self.path[1:]).read_bytes() if self.path in served else page)

        def do_POST(self):
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            header, buffers = answer(shown, message)
            self.reply({"x-header": json.dumps(header)}, "application/octet-stream", b"".join(buffers))

        def reply(self, headers, kind, body):
            self.send_response(200)
            for name, value in ({"Content-Type": kind, "Content-Length": str(len(body))} | headers).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    app = "document.getElementById('cell').firstChild?.explorer"
    server = ThreadingHTTPServer(("127.0.0.1", 0), Kernel)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with Chromium(tmp_path) as browser:
        browser.show(1280, 900)
        browser.open(f"http://127.0.0.1:{server.server_port}/")
        browser.until(f"{app}?.map.x.length === 600 && {app}.alarm")
        other = "document.body.lastElementChild.explorer"
        browser.until(f"{other}?.map.x.length === 600 && {other}.alarm")
        browser.value("window.closeOther()")
        model = browser.value(f"{app}.model.model")
        assert browser.value(f"{app}.theme.paper") == [255, 255, 255]
        browser.value(f"(() => {{ const app = {app}; app.fields.width.value = 1; app.refit() }})()")
        browser.until(f"{app}.model.model !== '{model}'")
        assert browser.value(f"{app}.root.classList.contains('widget')")
        browser.until(f"!Object.values({app}.lines).some((line) => line.busy)")
        assert browser.value(f"{app}.map.x[3]") == np.float32(next(reversed(shown.views.values())).Y[3, 0])
        browser.value("window.close_()")
        assert browser.value("document.querySelectorAll('.mx').length") == 0
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The address of a JupyterLab on loopback that has a notebook with our three lines."""
    if LAB is None or PROGRAM is None:
        pytest.skip("there is no JupyterLab or no Chromium: pip install jupyterlab anywidget; apt install chromium")
    folder = tmp_path_factory.mktemp("lab")
    cell = {"cell_type": "code", "source": CODE, "metadata": {}, "outputs": [], "execution_count": None, "id": "a"}
    kernel = {"name": os.environ.get("MERCER_KERNEL", "python3"), "display_name": "mercer", "language": "python"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    notebook = {"cells": [cell], "metadata": about, "nbformat": 4, "nbformat_minor": 5}
    (folder / "explore.ipynb").write_text(json.dumps(notebook))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [LAB, "lab", "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}"]
    command += ["--IdentityProvider.token=test", f"--ServerApp.root_dir={folder}"]
    home = os.environ | {"HOME": str(folder), "JUPYTER_RUNTIME_DIR": str(folder / "runtime")}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=home)
    address = f"http://127.0.0.1:{port}"
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        try:
            urllib.request.urlopen(f"{address}/api?token=test", timeout=1).close()
            break
        except OSError:
            time.sleep(0.3)
    yield f"{address}/lab/tree/explore.ipynb?token=test"
    process.terminate()
    process.wait(20)


def test_the_widget_in_jupyterlab(lab, tmp_path):
    """Run the notebook's cell by its menu's key: the map of the rows appears, and a refit moves it."""
    app = "document.querySelector('.mx')?.parentElement.explorer"
    with Chromium(tmp_path) as browser:
        browser.show(1400, 1000)
        browser.open(lab)
        browser.until("document.querySelector('.jp-CodeCell .cm-content')", PATIENCE)
        browser.until("document.querySelector('.jp-Notebook-ExecutionIndicator')?.dataset.status === 'idle'", PATIENCE)
        run = "document.querySelector('[data-jp-item-name=run] jp-button, [data-jp-item-name=run] button')"
        browser.until(run, PATIENCE)
        shown = f"{app}?.map.x.length === 600"
        accept = "document.querySelector('.jp-Dialog .jp-mod-accept')"
        for _ in range(TRIES):  # a click before the notebook is ready runs nothing, and moves on to another cell
            if browser.value("/[*1-9]/.test(document.querySelector('.jp-InputPrompt').innerText)"):
                break
            for target in ("document.querySelector('.jp-CodeCell .cm-content')", run):
                box = browser.value(f"JSON.parse(JSON.stringify({target}.getBoundingClientRect()))")
                browser.mouse((box["x"] + box["width"] / 2, box["y"] + box["height"] / 2))
            time.sleep(3)
            browser.value(f"{accept}?.click()")  # a kernel is to be confirmed
        browser.until(shown, PATIENCE)
        browser.until(f"{app}.alarm", PATIENCE)
        model = browser.value(f"{app}.model.model")
        browser.value(f"(() => {{ const app = {app}; app.fields.width.value = 1; app.refit() }})()")
        browser.until(f"{app}.model.model !== '{model}'", PATIENCE)
        assert browser.value(f"{app}.root.classList.contains('widget')")
        box = browser.value(f"JSON.parse(JSON.stringify({app}.map.over.getBoundingClientRect()))")
        cells = browser.value("document.querySelectorAll('.jp-Cell').length")
        browser.mouse((box["x"] + 40, box["y"] + 40))  # leaves the cell's editor: keys are JupyterLab's commands now
        for key in ("l", "b"):  # ours, and JupyterLab's "insert a cell below"
            browser.key(key)
        assert not browser.value(f"{app}.straight.node.hidden")
        assert browser.value("document.querySelectorAll('.jp-Cell').length") == cells
        if folder := os.environ.get("MERCER_SCREENSHOTS"):
            with open(os.path.join(folder, "explorer-notebook.png"), "wb") as file:
                file.write(browser.picture(False))
