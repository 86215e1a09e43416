"""Chromium, spoken to through its DevTools pipe: what a page runs, asks for, complains of, and how it is laid out."""

import base64
import json
import os
import select
import shutil
import subprocess
import time

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PATIENCE = 30  # seconds for one answer, on a busy machine
SETTLED = 0.3  # seconds after loading in which late handlers would run
KEY_CODES = {"Tab": 9, "Enter": 13, "Escape": 27, "End": 35, "Home": 36}
KEY_CODES |= {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
FLAGS = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-sync "
    "--disable-component-update --disable-extensions --hide-scrollbars --remote-debugging-pipe"
)


class Chromium:
    """One browser with one tab; a context manager."""

    def __init__(self, folder):
        """Start it with a profile of its own in the folder, the pipe as its descriptors 3 and 4."""
        mine, theirs = os.pipe(), os.pipe()
        ends = (theirs[0], mine[1])
        self.read, self.write = mine[0], theirs[1]
        command = [PROGRAM, *FLAGS.split(), f"--user-data-dir={folder}", "about:blank"]
        turned = ["bash", "-c", f'exec "$@" 3<&{ends[0]} 4>&{ends[1]}', "bash", *command]
        nowhere = subprocess.DEVNULL
        self.process = subprocess.Popen(turned, pass_fds=ends, stdin=nowhere, stdout=nowhere, stderr=nowhere)
        for end in ends:
            os.close(end)
        self.number, self.rest, self.events, self.session = 0, b"", [], None

    def __enter__(self):
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        os.close(self.read)
        os.close(self.write)

    def ask(self, method, **params):
        """Send a command and return its result; events that come meanwhile are kept."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        message |= {"sessionId": self.session} if self.session else {}
        os.write(self.write, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + PATIENCE
        while True:
            answer = self.next(end)
            assert answer is not None, f"no answer to {method}"
            if answer.get("id") == self.number:
                assert "error" not in answer, f"{method}: {answer.get('error')}"
                return answer["result"]
            self.events.append(answer)

    def next(self, end):
        """The next message, or None where none comes in time."""
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.read], [], [], max(0, end - time.monotonic()))
            if not ready:
                return None
            self.rest += os.read(self.read, 1 << 20)
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def open(self, address):
        """Open an address and return what happened until it was loaded and settled: a list of events."""
        self.events = []
        self.ask("Page.navigate", url=address)
        self._listen(PATIENCE, lambda: any(event["method"] == "Page.loadEventFired" for event in self.events))
        assert any(event["method"] == "Page.loadEventFired" for event in self.events), f"{address} was not loaded"
        self._listen(SETTLED, lambda: False)
        return self.events

    def show(self, width=1280, height=900, media="", scheme="light"):
        """Lay pages out for a window of this size, for the screen or for ``media="print"``, light or dark."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.ask(
            "Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": scheme}]
        )

    def _listen(self, seconds, enough):
        end = time.monotonic() + seconds
        while not enough() and (event := self.next(end)) is not None:
            self.events.append(event)
            self._dismiss(event)

    def _dismiss(self, event):
        if event["method"] == "Page.javascriptDialogOpening":
            self.ask("Page.handleJavaScriptDialog", accept=False)

    def value(self, expression):
        """The value of a JavaScript expression in the page."""
        return self.ask("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def until(self, expression, seconds=PATIENCE):
        """Wait until a JavaScript expression is true; events that come meanwhile are kept."""
        end = time.monotonic() + seconds
        while not self.value(f"Boolean({expression})"):
            assert time.monotonic() < end, f"{expression} did not become true"
            self._listen(0.05, lambda: False)

    def mouse(self, *places, button="left", steps=4):
        """Press the button at the first place, drag through the others, and release it at the last: (x, y) each."""
        (x, y), kind = places[0], "Input.dispatchMouseEvent"
        self.ask(kind, type="mouseMoved", x=x, y=y)
        self.ask(kind, type="mousePressed", x=x, y=y, button=button, clickCount=1)
        for to_x, to_y in places[1:]:
            for step in range(1, steps + 1):
                at = {"x": x + (to_x - x) * step / steps, "y": y + (to_y - y) * step / steps}
                self.ask(kind, type="mouseMoved", button=button, buttons=1, **at)
            x, y = to_x, to_y
        self.ask(kind, type="mouseReleased", x=x, y=y, button=button, clickCount=1)

    def point(self, x, y):
        """Move the pointer to a place, no button pressed."""
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def wheel(self, x, y, delta):
        """Turn the wheel at a place."""
        self.ask("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=delta)

    def touch(self, *fingers):
        """Put fingers down, move them and lift them: for each a list of places, all of one length."""
        moments = list(zip(*fingers, strict=True))
        for i, places in enumerate(moments):
            points = [{"x": x, "y": y, "id": k} for k, (x, y) in enumerate(places)]
            self.ask("Input.dispatchTouchEvent", type="touchMove" if i else "touchStart", touchPoints=points)
        self.ask("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def key(self, name, shift=False):
        """Press and release a key: its name, such as ``"ArrowLeft"``, or its character."""
        text = {"Enter": "\r"}.get(name, name if len(name) == 1 else "")
        code = KEY_CODES.get(name, ord(name.upper()) if len(name) == 1 else 0)
        params = {"key": name, "windowsVirtualKeyCode": code, "modifiers": 8 * shift} | ({"text": text} if text else {})
        self.ask("Input.dispatchKeyEvent", type="keyDown", **params)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=name, windowsVirtualKeyCode=code)

    def overflow(self):
        """By how many pixels the page is wider than its window."""
        return self.value("document.documentElement.scrollWidth - document.documentElement.clientWidth")

    def picture(self, whole=True):
        """The whole page as PNG, or what the window shows."""
        return base64.b64decode(self.ask("Page.captureScreenshot", captureBeyondViewport=whole)["data"])

    def pdf(self):
        """The page as it is printed."""
        return base64.b64decode(self.ask("Page.printToPDF", printBackground=False)["data"])


def requests(events):
    """Addresses that the page asked for; pictures inside it are none."""
    asked = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    return [address for address in asked if not address.startswith("data:")]


def complaints(events):
    """What the console says: errors, warnings, exceptions, and alerts."""
    told = []
    for event in events:
        params = event["params"]
        match event["method"]:
            case "Log.entryAdded":
                told.append(params["entry"]["text"])
            case "Runtime.consoleAPICalled":
                told.append(str(params["args"]))
            case "Runtime.exceptionThrown":
                told.append(params["exceptionDetails"]["text"])
            case "Page.javascriptDialogOpening":
                told.append(f"dialog: {params['message']}")
    return told
