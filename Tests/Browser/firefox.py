"""Debian's Firefox by its own remote control: JSON over TCP, each message behind its length (Marionette, protocol 3)."""
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time

from webdriver import Browser

# It asks nobody but this machine: a proxy where nobody listens ends all other requests.
PREFERENCES = {
    "marionette.port": 0, "network.proxy.type": 1, "network.proxy.http": "127.0.0.1", "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1", "network.proxy.ssl_port": 9, "network.proxy.no_proxies_on": "localhost, 127.0.0.1",
    "network.captive-portal-service.enabled": False, "app.update.disabledForTesting": True,
    "datareporting.policy.dataSubmissionEnabled": False, "toolkit.telemetry.server": "data:,"}
COMMANDS = {"/url": "Navigate", "/execute/sync": "ExecuteScript", "/element": "FindElement", "/actions": "PerformActions"}


class Firefox(Browser):
    """A Firefox without a window, with a new profile. It ends with the block."""

    def __init__(self):
        program = shutil.which("firefox-esr") or shutil.which("firefox")
        if program is None:
            raise SystemExit("Firefox is missing. Debian's package is firefox-esr.")
        self.profile, self.last = tempfile.mkdtemp(prefix="pushcart-firefox."), 0
        with open(f"{self.profile}/user.js", "w") as file:
            file.writelines(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in PREFERENCES.items())
        self.process = subprocess.Popen(
            [program, "--headless", "--no-remote", "--marionette", "--profile", self.profile],
            env={**os.environ, "HOME": self.profile}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while not (port := self.port()):
            if time.monotonic() > end:
                raise SystemExit("Firefox does not start.")
            time.sleep(0.05)
        self.stream = socket.create_connection(("127.0.0.1", port), timeout=120).makefile("rwb")
        self.read()  # its greeting
        self.command("WebDriver:NewSession", {})

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def port(self):
        try:
            with open(f"{self.profile}/MarionetteActivePort") as file:
                return int(file.read() or 0)
        except FileNotFoundError:
            return 0

    def read(self):
        length = b""
        while not length.endswith(b":"):
            length += self.stream.read(1) or b"0:"
        return json.loads(self.stream.read(int(length[:-1])) or "null")

    def command(self, name, parameters):
        self.last += 1
        message = json.dumps([0, self.last, name, parameters]).encode()
        self.stream.write(b"%d:%s" % (len(message), message))
        self.stream.flush()
        reply = self.read()
        if reply is None or reply[2]:
            raise RuntimeError(reply and reply[2]["message"] or "Firefox has ended")
        return reply[3].get("value")

    def send(self, path, body=None):
        """A request of WebDriver as Marionette's command."""
        if element := re.fullmatch("/element/(.*)/(click|value)", path):
            name = {"click": "ElementClick", "value": "ElementSendKeys"}[element[2]]
            return self.command(f"WebDriver:{name}", {"id": element[1], **(body or {})})
        return self.command(f"WebDriver:{COMMANDS[path]}", body or {})
