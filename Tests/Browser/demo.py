"""A `pushcart demo` of its own, with something on every page of the console."""
import json
import os
import random
import re
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

SERVICES = ["apns", "apns-sandbox", "fcm", "hms", "wns", "webpush", "sms", "webhook"]


def free_ports(count):
    """Ports that are free and stay free: the system hands out none of these by itself."""
    ports = []
    while len(ports) < count:
        port = random.randrange(10_000, 20_000)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        if port not in ports:
            ports.append(port)
    return ports


class Demo:
    """Its folder and its processes end with the block."""

    def __init__(self, program):
        self.process = self.log = None
        self.folder = tempfile.mkdtemp(prefix="pushcart-screenshots.")
        os.chmod(self.folder, 0o755)  # PostgreSQL runs as another user if this one is root
        hub, phone, *others = free_ports(2 + len(SERVICES))
        options = [f"--{name}-port={port}" for name, port in zip(SERVICES, others)]
        self.log = open(f"{self.folder}/log", "w")
        self.process = subprocess.Popen(
            [program, "demo", "--folder", f"{self.folder}/hub", f"--port={hub}", f"--phone-port={phone}", *options],
            stdout=subprocess.PIPE, stderr=self.log, text=True)
        said = ""
        for line in self.process.stdout:
            said += line
            if line.rstrip().endswith("}]}}'"):
                break
        else:
            with open(f"{self.folder}/log") as log:
                raise SystemExit(f"pushcart demo does not start.\n{said}{log.read()}")
        self.url, self.phone = f"http://localhost:{hub}", f"http://localhost:{phone}"
        self.receiver = f"https://localhost:{others[-1]}"
        self.link = re.search(r"http://\S+/console/welcome/\S+", said)[0]
        self.key = re.search(r"pck_1_[\w-]+", said)[0]
        self.apps = json.loads(re.search(r'"appIds":(\[.*?\])', said)[1])
        self.gateway = re.findall(r"""curl (\S+/v1.0/message) .*\\\n\s+-d '(.*)'""", said)[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, method, path, body=None):
        """A request of the API."""
        url = path if "://" in path else f"{self.url}/api/v1/{path}"
        request = urllib.request.Request(
            url, None if body is None else json.dumps(body).encode(),
            {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=300) as reply:
                text = reply.read()
                return json.loads(text) if text.startswith((b"{", b"[")) else {}
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{method} {path}: {error.code} {error.read().decode()}") from None

    def send_file(self, number, text):
        """The file of an import."""
        request = urllib.request.Request(
            f"{self.url}/api/v1/imports/{number}/file", text.encode(),
            {"Authorization": f"Bearer {self.key}", "Content-Type": "text/csv"}, method="PUT")
        urllib.request.urlopen(request, timeout=300).close()

    def import_files(self, list_id):
        """An import that has ended with rejects, one in review, one that waits, and suppressions. Returns their pages."""
        done = self.call("POST", "imports", {"name": "Customers of November", "listId": list_id, "others": "properties"})
        self.send_file(done["importId"], "originalId;firstName;dateOfBirth;Färg\r\nanna@example.com;Anna;1990-05-01;röd\r\n"
                       "bo@example.com;Bo;31.02.1980;\"blå\r\ngrön\"\r\n;Nobody;;<b>\r\n")
        end = time.monotonic() + 300
        while self.call("GET", f"imports/{done['importId']}").get("state") != "finished":
            if time.monotonic() > end:
                raise SystemExit("The import does not end.")
            time.sleep(0.3)
        review = self.call("POST", "imports", {"name": "Kunder.csv", "review": True})
        self.send_file(review["importId"], "Kundnr;E-mail;Färg;Färg;\r\n1;lars@example.com;röd;<i>;\r\n2;\u202emia;blå;;\r\n")
        waiting = self.call("POST", "imports", {"name": "It did not arrive"})
        self.call("POST", "suppressions", {"originalId": "anna@example.com", "reason": "asked by telephone"})
        self.call("POST", "suppressions", {"number": "0031612345678", "scope": "all", "until": "2099-01-01T00:00:00Z"})
        return [f"/console/imports/{done['importId']}", f"/console/imports/{review['importId']}",
                f"/console/imports/{review['importId']}/cancel", f"/console/imports/{waiting['importId']}",
                "/console/imports/new", f"/console/imports/new?list={list_id}", "/console/suppressions/new",
                "/console/suppressions/1/remove"]

    def finish(self, sendout):
        """Waits until a sendout has ended."""
        end = time.monotonic() + 300
        while self.call("GET", f"sendouts/{sendout}").get("state") != "finished":
            if time.monotonic() > end:
                raise SystemExit(f"Sendout {sendout} does not end.")
            time.sleep(0.3)

    def open(self, sendout):
        """Waits until owners of simulated phones have opened pages of a sendout, as some of them do within seconds."""
        end = time.monotonic() + 300
        while self.call("GET", f"sendouts/{sendout}/figures").get("opens", 0) < 3:
            if time.monotonic() > end:
                raise SystemExit(f"Nobody opens pages of sendout {sendout}.")
            time.sleep(0.3)

    def campaigns(self, message):
        """Variants of which a person may choose one, and what is due in some month. Returns their pages."""
        compared = self.call("POST", "sendouts", {
            **message, "name": "Compared", "start": True, "quietHours": None, "holdoutPercent": 10,
            "variants": [{"name": "Percent", "share": 40, "message": {"alert": "20\u00a0% off today"}},
                         {"name": "Hurry", "share": 40, "message": {"alert": "Today alone: one fifth off"}}],
            "winner": {"afterMinutes": 600}})["sendoutId"]
        weekly = self.call("POST", "sendouts", {
            **message, "name": "Weekly", "startAt": "2099-12-07T09:00:00Z", "endAt": "2099-12-08T09:00:00Z",
            "repeat": {"every": "week", "on": ["mon"]}})["sendoutId"]
        self.call("POST", "sendouts", {**message, "name": "Evening", "localTime": "2099-12-24T18:30"})
        return [f"/console/sendouts/{compared}", f"/console/sendouts/{compared}/winner?variant=Hurry",
                f"/console/sendouts/{weekly}", f"/console/sendouts/{weekly}/end-series",
                "/console/calendar?month=2099-12", "/console/calendar?month=2099-12&view=list",
                "/console/calendar?month=2098-12"]

    def fill(self):
        """Sends, and leaves something in every list. Returns pages that show the most of their kind."""
        self.call("POST", f"{self.phone}/rules",
                  {"service": "fcm", "times": 3, "reply": "refuse", "reason": "UNREGISTERED"})
        # The first two are refused, and so repeated.
        self.call("POST", f"{self.phone}/webhooks/answers", {"statuses": [503, 404]})
        webhook = self.call("POST", "webhooks", {
            "url": f"{self.receiver}/pushcart?key=x", "description": "Warehouse",
            "events": ["sendout.started", "sendout.finished", "push.failed", "app.refused"]})["webhookId"]
        everyone = {"appIds": self.apps, "audience": {"all": True}}
        lunch = {"name": "Lunch", **everyone, "template": "offer",
                 "message": {"alert": "Hello {{firstName}}, lunch is ready, with 20\u00a0% off today"}}
        sent = self.call("POST", "sendouts", {**lunch, "start": True})
        draft = self.call("POST", "sendouts", {**lunch, "name": "A draft whose name is rather long " * 3, "start": False})
        christmas = {**lunch, "name": "Christmas", "localTime": "2099-12-24T18:30", "holdoutPercent": 5, "message": {
            "alert": "Merry Christmas, {{firstName}}",
            "translations": {"sv": {"alert": "God jul, {{firstName}}"}, "de": {"alert": "Frohe Weihnachten, {{firstName}}"}}},
            "variants": [{"name": "Plain", "share": 20, "message": {}}, {"name": "Offer", "share": 20, "message": {"info": "20 % off"}}],
            "winner": {"afterMinutes": 120, "undecided": "best"}}
        campaign = self.call("POST", "sendouts", {**christmas, "draft": True})
        scheduled = self.call("POST", "sendouts", {**lunch, "name": "Scheduled", "startAt": "2099-12-24T11:00:00Z"})
        news = self.call("POST", "lists", {"name": "newsletter"}).get("listId")
        people = [item["originalId"] for item in self.call("GET", "contacts?limit=20").get("items", [])
                  if item.get("originalId")]
        self.call("PATCH", f"lists/{news}/members", {"add": people})
        regulars = self.call("POST", "segments", {
            "name": "Regulars", "description": "Reached within a month",
            "filter": "received >= 1 within 30 days and not (country = 'XX' or in list 'newsletter' and has device)"})
        self.call("POST", "segments", {
            "name": "Named", "filter": f"firstName is set and in segment {regulars['segmentId']}"})
        self.call("POST", "segments", {"name": "By rows", "filter": "firstName is set and country in ('SE', 'NO')"})
        chosen = self.call("POST", "segments", {"name": "Chosen", "static": True})
        self.call("PUT", f"segments/{chosen['segmentId']}/contacts", {"add": people[:3]})
        imports = self.import_files(news)
        for name in ["Order shipped", "Welcome"]:
            self.call("POST", "triggers", {"name": name, "appId": self.apps[0],
                                           "message": {"alert": "{{firstName}}, your order {{orderNo}} is on its way"}})
        for person in people[:3]:
            message = self.call("POST", "messages", {"appId": self.apps[0], "to": {"originalId": person}, "wait": 5,
                                                     "message": {"alert": "Your parcel is here"}})
        self.call("POST", self.gateway[0], json.loads(self.gateway[1]))
        self.call("PATCH", "customer", {"caps": [{"count": 90, "per": "24h", "purpose": "marketing"}]})
        for email, role in [("mia@example.com", "marketer"), ("ana@example.com", "analyst")]:
            self.call("POST", "users", {"email": email, "role": role})
        campaigns = self.campaigns(lunch)
        self.finish(sent["sendoutId"])
        self.open(sent["sendoutId"])
        running = message["messageId"].split("-")[0]
        delivery = self.call("POST", f"webhooks/{webhook}/test")["deliveryId"]
        return imports + [f"/console/sendouts/{sent['sendoutId']}", f"/console/sendouts/{draft['sendoutId']}/edit",
                          f"/console/sendouts/{draft['sendoutId']}/check", "/console/content/offer",
                          f"/console/sendouts/{campaign['sendoutId']}/edit", f"/console/sendouts/{campaign['sendoutId']}/check",
                          f"/console/sendouts/{scheduled['sendoutId']}/undo",
                          f"/console/segments/{regulars['segmentId']}", f"/console/segments/{chosen['segmentId']}",
                          f"/console/segments/{regulars['segmentId']}/remove", "/console/segments/new",
                          "/console/segments/new?filter=contry%20%3D%20'SE'",
                          "/console/contacts?filter=firstName%20is%20set", "/console/contacts?filter=contry%20is%20set",
                          "/console/contacts?filter=has%20device%20and%20city%20is%20set&field=contry&op=is%20set",
                          f"/console/exports?what=pushes&sendout={sent['sendoutId']}",
                          "/console/exports?filter=contry%20is%20set",
                           f"/console/sendouts/{running}/pause", f"/console/sendouts/{running}/cancel",
                           f"/console/webhooks/{webhook}", f"/console/webhooks/{webhook}/rotate",
                           f"/console/webhooks/{webhook}/deliveries/{delivery}"] + campaigns
