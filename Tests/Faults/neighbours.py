"""The neighbour of the fault runs, those who disturb it, and strangers that do not answer. Each prints or writes what it saw.

  neighbours.py measure SECONDS PORT SMS_PORT FILE KEY TOKEN APP_KEY LIST   what a customer waits for, as a line of figures
  neighbours.py ask THREADS TIMES METHOD PORT PATH KEY [BODY]               requests at once; {n} becomes 1, 2, 3, …
  neighbours.py lists COUNT SIZE PORT KEY PREFIX ALERT                      lists of single messages, all at once
  neighbours.py critical COUNT PAUSE TYPE PORT TOKEN APP_KEY FIRST          messages to as many numbers, from FIRST on
  neighbours.py phones COUNT SECONDS PORT APP_KEY SECRET DEVICE             phones that list their messages by costly filters
  neighbours.py sms PORT DELAY FILE                                         a provider of SMS
  neighbours.py webhooks PORT PEM FILE                                      webhooks; those below /never get no answer
  neighbours.py events PORT PEM DELAY FILE                                  a webhook of events, which answers after a delay
  neighbours.py http2 PORT PEM FILE [BODY]                                  a service over HTTP/2; without a body it never answers
"""
import base64, collections, hashlib, hmac, http.client, http.server, json, os, re, socket, ssl, struct, sys, threading, time, urllib.parse

NEVER = 999  # seconds, of what did not happen


class Client:
    """One connection to the hub. A request that failed has the status 0."""

    def __init__(self, port, key, headers={}):
        self.headers = {"Authorization": f"Bearer {key}", "X-Carma-Authentication-Token": key,
                        "Content-Type": "application/json", **headers}
        self.connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=120)

    def ask(self, method, path, body=None, headers={}):
        if body is not None and not isinstance(body, str):
            body = json.dumps(body)
        try:
            self.connection.request(method, path, body and body.encode(), {**self.headers, **headers})
            response = self.connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException):
            self.connection.close()
            return 0, b""


def together(count, work):
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# ---- the neighbour

def measure(seconds, port, sms_port, file, key, token, app_key, listed):
    """Prints: 99 % of PUT took so many ms, then the longest single message, critical SMS, broadcast's first push and call of
    management in seconds, then how often the hub was not ready, and which other requests failed how often."""
    end = time.monotonic() + float(seconds)
    took, failed, sent, came = collections.defaultdict(list), collections.Counter(), {}, {}

    def again(name, pause, step):
        client, number = Client(port, key), 0
        while time.monotonic() < end:
            number += 1
            start = time.monotonic()
            result = step(client, number)
            spent = time.monotonic() - start
            took[name].append(spent)
            if not result:
                failed[name] += 1
            time.sleep(max(0, pause - spent))

    def put(client, number):
        return client.ask("PUT", "/rest/2/apps/com.example.bench/pushdevices", {
            "originalId": f"put{number}", "firstName": "Robin",
            "deviceInfo": [{"devicetoken": f"b4{number:062x}", "appType": 1}]})[0] == 200

    def message(client, number):  # to an iPhone and an Android phone
        status, body = client.ask("POST", "/api/v1/messages", {
            "appId": "com.example.bench", "to": {"originalId": f"b2-{number % 50 + 1}"},
            "message": {"alert": "Hi {{firstName}}"}, "wait": 25})
        return status == 201 and json.loads(body)["state"] == "accepted"

    def broadcast(client, number):
        with open(file) as arrivals:
            arrivals.seek(0, os.SEEK_END)
            status, _ = client.ask("POST", "/api/v1/sendouts", {
                "name": f"News {number}", "appIds": ["com.example.bench"], "audience": {"listId": int(listed)},
                "message": {"alert": "Hi {{firstName}}"}, "start": True})
            last, rest = time.monotonic() + 60, ""
            while status == 201 and time.monotonic() < last:
                rest = (rest + arrivals.read())[-100_000:]
                if "\tb1" in rest:
                    return True
                time.sleep(0.01)

    def manage(client, number):
        return client.ask("PUT", "/api/v1/templates/news", {"body": f"<p>{number}</p>"})[0] in (200, 201) \
            if number % 2 else client.ask("GET", "/api/v1/sendouts")[0] == 200

    def ready(client, number):
        return client.ask("GET", "/readyz")[0] == 200

    def critical():  # the hub waits 30 seconds for a phone to confirm
        client = Client(port, key)
        for number in range(1, 5):
            device = [{"devicetoken": f"b3{number:062x}", "appType": 1}]
            to = f"003161200000{number}"
            client.ask("PUT", "/rest/2/apps/com.example.bench/pushdevices", {"originalId": to, "deviceInfo": device})
            sent[to] = time.monotonic()
            if client.ask("POST", "/v1.0/message", gateway(token, app_key, "critical", [to]))[0] != 200:
                failed["critical"] += 1
            time.sleep(1)

    serve_sms(sms_port, 0, lambda to: came.setdefault(to, time.monotonic()))
    steps = [("put", 0.025, put), ("message", 0.5, message), ("broadcast", 8, broadcast), ("manage", 0.5, manage),
             ("ready", 0.2, ready)]
    threads = [threading.Thread(target=again, args=step) for step in steps] + [threading.Thread(target=critical)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    while len(came) < len(sent) and time.monotonic() < end + 30:
        time.sleep(0.1)
    sms = max(came.get(to, start + NEVER) - start for to, start in sent.items())
    unready = failed.pop("ready", 0)
    print(round(sorted(took["put"])[len(took["put"]) * 99 // 100] * 1000), f'{max(took["message"]):.2f}', f"{sms:.1f}",
          f'{max(took["broadcast"]):.2f}', f'{max(took["manage"]):.2f}', unready,
          ",".join(f"{name}:{count}" for name, count in failed.items()) or 0)


def gateway(token, app_key, kind, numbers, text="Your code is 4711"):
    return {"messages": {"authentication": {"producttoken": token}, "msg": [
        {"from": "Acme", "to": [{"number": number}], "body": {"content": text}, "appmessagetype": kind, "appKey": app_key}
        for number in numbers]}}


# ---- who disturbs it

def ask(threads, times, method, port, path, key, body=None):
    """Prints the longest time in seconds, and how often each status came, with a message's state behind it."""
    statuses, slowest, per_thread = collections.Counter(), [0], int(times) // int(threads)

    def work(thread):
        client = Client(port, key)
        for turn in range(per_thread):
            number, start = str(thread * per_thread + turn + 1), time.monotonic()
            status, reply = client.ask(method, path.replace("{n}", number), body and body.replace("{n}", number))
            slowest.append(time.monotonic() - start)
            state = re.search(rb'"state":"(\w+)"', reply[:200])
            statuses[f"{status}{state[1].decode() if state else ''}"] += 1

    together(int(threads), work)
    print(f"{max(slowest):.2f}", ",".join(f"{count}x{status}" for status, count in sorted(statuses.items())))


def lists(count, size, port, key, prefix, alert):
    size = int(size)

    def work(part):
        bodies = [{"appId": "com.example.bench", "to": {"originalId": f"{prefix}-{number + 1}"}, "message": {"alert": alert}}
                  for number in range(size)]
        status, _ = Client(port, key).ask("POST", "/api/v1/messages", bodies)
        print(status)

    together(int(count), work)


def critical(count, pause, kind, port, token, app_key, first):
    """Prints the numbers, and when each message was sent, in seconds since 1970."""
    client = Client(port, token)
    for number in range(int(first), int(first) + int(count)):
        start = time.time()
        status, _ = client.ask("POST", "/v1.0/message", gateway(token, app_key, kind, [f"00{number}"]))
        print(f"00{number}", start, status, flush=True)
        time.sleep(float(pause))


def phones(count, seconds, port, app_key, secret, device):
    filters = [
        "replace(" * 16 + "Body" + (",'a','" + "a" * 60 + "')") * 16 + " eq 'x'",
        "concat(" * 10 + "Body" + ",Body)" * 10 + " eq 'x'",
        "substring(" * 12 + "Body" + ",0)" * 12 + " eq 'x'",
        " or ".join(f"substringof('{letter}x',Body)" for letter in "abcdefghijkl"),
        "Body eq 'x'",
    ]
    end, statuses = time.monotonic() + float(seconds), collections.Counter()

    def work(phone):
        client, turn = Client(port, ""), phone
        while time.monotonic() < end:
            turn += 1
            path = "/v1.0/messages?$filter=" + filters[turn % len(filters)]
            moment = int(time.time())
            text = f"GET {path} HTTP/1.1\napi.cmtelecom.com\n{moment}\n"
            code = base64.b64encode(hmac.new(secret.encode(), text.encode(), hashlib.sha1).digest()).decode()
            statuses[client.ask("GET", urllib.parse.quote(path, safe="/?$=,()"), headers={
                "Authorization": f'MAC kid="{app_key}", ts="{moment}", mac="{code}"', "DeviceID": device,
                "User-Agent": "Acme/1.0 (iOS 17; Apple; iPhone; en_US)"})[0]] += 1

    together(int(count), work)
    print(",".join(f"{count}x{status}" for status, count in sorted(statuses.items())))


# ---- strangers

def serve(port, handle, pem=None):
    """Serves POST in threads; `handle` gets path, body and headers, and its text is the reply."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version, wbufsize, disable_nagle_algorithm = "HTTP/1.1", -1, True

        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            reply = handle(self.path, body, self.headers) or b"{}"
            self.send_response(200)
            self.send_header("content-length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *_):
            pass

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads, request_queue_size = True, 1024

        def handle_error(self, *_):
            pass

    server = Server(("127.0.0.1", int(port)), Handler)
    if pem:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def serve_sms(port, delay, note):
    def handle(_, body, headers):
        note(json.loads(body)["to"])
        time.sleep(delay)

    serve(port, handle)


def noted(file):
    """Writes lines that begin with the moment, in seconds since 1970."""
    lines = open(file, "a", buffering=1)
    return lambda *words: lines.write(" ".join(map(str, (time.time(), *words))) + "\n")


def sms(port, delay, file):
    serve_sms(port, float(delay), noted(file))
    threading.Event().wait()


def webhooks(port, pem, file):
    note = noted(file)

    def handle(path, body, headers):
        if path.startswith("/never"):
            threading.Event().wait()
        note(path, json.loads(body)["webcom.data"])

    serve(port, handle, pem)
    threading.Event().wait()


def events(port, pem, delay, file):
    """Notes each post: its id, its event, and the pushes or the sendout that it is about, as an array of PostgreSQL."""
    note = noted(file)

    def handle(path, body, headers):
        told = json.loads(body)
        data = told["data"] if isinstance(told["data"], list) else [told["data"]]
        items = [f'{item["sendoutId"]}-{item["pushNo"]}' if "pushNo" in item else str(item["sendoutId"]) for item in data]
        note(headers["webhook-id"], told["type"], "{" + ",".join(items) + "}")
        time.sleep(float(delay))

    serve(port, handle, pem)
    threading.Event().wait()


def http2(port, pem, file, body=""):
    """Notes each request when it has ended. It reads no header: whatever is asked, the answer is 200 and the body."""
    note, body = noted(file), body.encode()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    context.set_alpn_protocols(["h2"])

    def frame(kind, flags, stream, payload):
        return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload

    def talk(connection):
        try:
            connection = context.wrap_socket(connection, server_side=True)
            reader = connection.makefile("rb")
            reader.read(24)  # the preface; then SETTINGS and WINDOW_UPDATE give all the room there is
            connection.sendall(frame(4, 0, 0, struct.pack(">HI", 4, 2**31 - 1)) + frame(8, 0, 0, struct.pack(">I", 2**30)))
            while head := reader.read(9):
                length, kind, flags, stream = int.from_bytes(head[:3], "big"), head[3], head[4], int.from_bytes(head[5:], "big")
                payload = reader.read(length)
                if kind in (4, 6) and not flags & 1:  # SETTINGS, PING
                    connection.sendall(frame(kind, 1, 0, payload if kind == 6 else b""))
                if kind in (0, 1) and flags & 1:  # the request's end
                    note(stream)
                    if body:
                        connection.sendall(frame(1, 4, stream, b"\x88") + frame(0, 1, stream, body))
        except OSError:
            pass

    listener = socket.create_server(("127.0.0.1", int(port)), backlog=1024)
    while True:
        threading.Thread(target=talk, args=(listener.accept()[0],), daemon=True).start()


if __name__ == "__main__":
    command = {f.__name__: f for f in (measure, ask, lists, critical, phones, sms, webhooks, events, http2)}[sys.argv[1]]
    command(*sys.argv[2:])
