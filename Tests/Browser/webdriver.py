"""Debian's Chromium by its driver, in plain WebDriver over HTTP."""
import base64
import json
import os
import re
import subprocess
import time
import urllib.error
import urllib.request


class Browser:
    """What a person does in one. Its kinds have `send`, which takes a request of WebDriver."""

    def __enter__(self):
        return self

    def open(self, url):
        """Opens a page, and returns once it has loaded."""
        self.send("/url", {"url": url})

    def script(self, text, *arguments):
        return self.send("/execute/sync", {"script": text, "args": list(arguments)})

    def wait(self, text, *arguments, again=False):
        """Waits until a script returns something that is true, and returns that. Opens the page `again` until then."""
        end = time.monotonic() + 300
        while not (found := self.script(text, *arguments)):
            if time.monotonic() > end:
                raise RuntimeError(f"it does not come true on {self.script('return location.href')}: {text} {arguments}")
            time.sleep(0.05)
            if again:
                self.open(self.script("return location.href"))
        return found

    def element(self, css):
        return "/element/" + next(iter(self.send("/element", {"using": "css selector", "value": css}).values()))

    def type(self, css, text):
        self.send(self.element(css) + "/value", {"text": text})

    def click(self, css):
        self.send(self.element(css) + "/click")

    def press(self, *keys):
        """Presses keys one after the other, wherever the focus is."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ["keyDown", "keyUp"]]
        self.send("/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})


class Chromium(Browser):
    """A Chromium without a window. It asks nobody but this machine, and ends with the block."""

    def __init__(self):
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        port = next(filter(None, (re.search(r"successfully on port (\d+)", line) for line in self.driver.stdout)), None)
        if port is None:
            raise SystemExit("chromedriver does not start. Debian's packages are chromium and chromium-driver.")
        self.url = f"http://127.0.0.1:{port[1]}/session"
        options = ["--headless=new", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-proxy-server", "--lang=en",
                   "--disable-background-networking", "--disable-component-update"]
        if os.geteuid() == 0:
            options.append("--no-sandbox")  # it refuses to run as root otherwise
        capabilities = {"browserName": "chrome", "goog:chromeOptions": {"args": options},
                        "goog:loggingPrefs": {"browser": "ALL"}}
        session = self.send("", {"capabilities": {"alwaysMatch": capabilities}})
        self.url += f"/{session['sessionId']}"

    def __exit__(self, *_):
        try:
            self.send("", method="DELETE")
        except OSError:
            pass
        self.driver.terminate()
        self.driver.wait()

    def send(self, path, body=None, method="POST"):
        data = None if method != "POST" else json.dumps(body or {}).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=300) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"].split("\n")[0]) from None

    def tools(self, command, **parameters):
        """A command of Chromium's developer tools."""
        return self.send("/goog/cdp/execute", {"cmd": command, "params": parameters})

    def errors(self):
        """What the console has logged as errors since the last call: failed scripts, refused or missing files."""
        return [entry["message"] for entry in self.send("/se/log", {"type": "browser"}) if entry["level"] == "SEVERE"]

    def look(self, scheme, width, height):
        """Shows pages to somebody who prefers `scheme`, on a screen of this size."""
        self.tools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme},
                                                           {"name": "prefers-reduced-motion", "value": "reduce"}])
        self.tools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def picture(self, file):
        """The whole page, on a screen that is as high."""
        width, height = self.script("return [innerWidth, document.documentElement.scrollHeight]")
        self.tools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        picture = self.tools("Page.captureScreenshot", format="png")
        with open(file, "wb") as output:
            output.write(base64.b64decode(picture["data"]))
