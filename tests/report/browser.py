"""A headless Chromium, driven over two pipes by its protocol: pages in, their behaviour and pictures out."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE_S = 60.0


def find_browser() -> str | None:
    """The path of a browser, None if there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """A page in the browser. `events` are the browser's events for it so far."""

    def __init__(self, program: str, folder: Path) -> None:
        to_read, to_write = os.pipe()
        from_read, from_write = os.pipe()
        self._log = (folder / "browser.log").open("wb")

        def pipes() -> None:
            os.dup2(to_read, 1000)
            os.dup2(from_write, 1001)
            os.dup2(1000, 3)
            os.dup2(1001, 4)

        self._process = subprocess.Popen(
            [
                *(program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
                *("--no-first-run", "--disable-extensions", "--disable-background-networking", "--hide-scrollbars"),
                *("--remote-debugging-pipe", f"--user-data-dir={folder / 'profile'}", "about:blank"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            close_fds=False,
            preexec_fn=pipes,
        )
        os.close(to_read)
        os.close(from_write)
        self._write, self._read = to_write, from_read
        self._left = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        pages = self.ask("Target.getTargets")["targetInfos"]
        target = next(page["targetId"] for page in pages if page["type"] == "page")
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command; gives its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + PATIENCE_S
        while True:
            found = self._next(end)
            if found.get("id") == self._number:
                assert "error" not in found, found
                result: dict[str, Any] = found["result"]
                return result
            self.events.append(found)

    def open(self, path: Path, width: int, *, dark: bool = False) -> None:
        """Load a file in a window of this width, and wait until the page is drawn."""
        scheme = "dark" if dark else "light"
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.events.clear()
        self.ask("Page.navigate", url=path.as_uri())
        end = time.monotonic() + PATIENCE_S
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next(end))
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        found = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def picture(self, path: Path) -> None:
        """Write the whole page as a PNG."""
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(shot["data"]))

    def complaints(self) -> list[str]:
        """The page's errors and warnings on the console, and its exceptions."""
        found = []
        for event in self.events:
            method, said = event.get("method"), event.get("params", {})
            wrong = method == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning", "assert")
            entry = method == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning")
            if wrong or entry or method == "Runtime.exceptionThrown":
                found.append(json.dumps(said)[:500])
        return found

    def requests(self) -> list[str]:
        """The URLs that the page requested."""
        sent = [event["params"] for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [each["request"]["url"] for each in sent]

    def _next(self, end: float) -> dict[str, Any]:
        while b"\0" not in self._left:
            ready, _, _ = select.select([self._read], [], [], max(end - time.monotonic(), 0))
            if not ready:
                raise TimeoutError("the browser says nothing")
            data = os.read(self._read, 1 << 20)
            if not data:
                raise EOFError("the browser has ended")
            self._left += data
        line, _, self._left = self._left.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._write)
        os.close(self._read)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()
