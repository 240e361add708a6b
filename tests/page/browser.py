"""A headless Chromium, driven over a pipe by its DevTools protocol. Nothing but the standard library."""

import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def find():
    """The path of a browser, or None."""
    return os.environ.get("FABRICAST_CHROMIUM") or next((p for p in map(shutil.which, NAMES) if p), None)


class Browser:
    """One tab. What pages log, and what they ask the network for, is kept."""

    def __init__(self, program):
        self.profile = tempfile.mkdtemp(prefix="fabricast-page-")
        to_browser, self.out = os.pipe()
        self.into, from_browser = os.pipe()

        def inherit():
            # The browser reads commands on descriptor 3 and writes answers to 4; the copies keep clear of both.
            commands, answers = os.dup2(to_browser, 60), os.dup2(from_browser, 61)
            os.dup2(commands, 3), os.dup2(answers, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage",
             "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--disable-extensions", "--hide-scrollbars", "--force-color-profile=srgb", "--remote-debugging-pipe",
             f"--user-data-dir={self.profile}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False,
            preexec_fn=inherit)
        os.close(to_browser), os.close(from_browser)
        self.rest, self.number, self.events, self.session = b"", 0, [], None
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")

    def close(self):
        try:
            self.call("Browser.close", within=5)
        except Exception:
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.out), os.close(self.into)
        shutil.rmtree(self.profile, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def message(self, until):
        while b"\0" not in self.rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.into], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            piece = os.read(self.into, 1 << 16)
            if not piece:
                raise ConnectionError("the browser is gone")
            self.rest += piece
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, within=60, **params):
        self.number += 1
        number, until = self.number, time.monotonic() + within
        command = {"id": number, "method": method, "params": params}
        if self.session and not method.startswith(("Target.", "Browser.")):
            command["sessionId"] = self.session
        os.write(self.out, json.dumps(command).encode() + b"\0")
        while True:
            answer = self.message(until)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def evaluate(self, expression):
        got = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in got:
            raise RuntimeError(got["exceptionDetails"].get("exception", {}).get("description", str(got)))
        return got["result"].get("value")

    def resize(self, width, height, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale,
                  mobile=width < 600)

    def dark(self, on=True):
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if on else "light"}])

    def open(self, path, frames=True):
        """Loads a file. \\returns the seconds until it was drawn and its script had run"""
        return self.go(pathlib.Path(path).resolve().as_uri(), frames)

    def go(self, url, frames=True):
        """The same of an address."""
        self.events.clear()
        begin = time.monotonic()
        self.call("Page.navigate", url=url)
        until = begin + 60
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self.message(until))
        if frames:
            self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return time.monotonic() - begin

    def faults(self):
        """What pages complained of since the last `open`."""
        self.evaluate("1")
        found = []
        for event in self.events:
            method, params = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append("exception: " + json.dumps(params["exceptionDetails"])[:400])
            if method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                found.append("console: " + json.dumps(params["args"])[:400])
            if method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append("log: " + params["entry"]["text"])
        return found

    def requests(self):
        """Addresses asked for since the last `open`."""
        self.evaluate("1")
        return [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]

    def click(self, selector, index=0):
        """A click of the mouse in the middle of an element."""
        box = self.evaluate(f"(() => {{ const e = document.querySelectorAll({json.dumps(selector)})[{index}];"
                            "e.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'}); const r = e.getBoundingClientRect();"
                            "return [r.x + r.width / 2, r.y + r.height / 2]; })()")
        self.click_at(*box)

    def click_at(self, x, y):
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left" if kind != "mouseMoved" else "none",
                      clickCount=1)

    def press(self, key, code=0):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code,
                      **({"text": "\r"} if key == "Enter" and kind == "keyDown" else {}))

    def write(self, text):
        self.call("Input.insertText", text=text)

    def screenshot(self, path, whole=False):
        import base64
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        pathlib.Path(path).write_bytes(base64.b64decode(shot["data"]))

    def pdf(self, path):
        import base64
        made = self.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)
        pathlib.Path(path).write_bytes(base64.b64decode(made["data"]))
