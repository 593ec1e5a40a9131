"""Signs in to the console and measures one page of each kind that its links lead to: p95 in ms, bytes of HTML, page; the slowest first."""
import http.client, os, re, statistics, sys, time, urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Browser"))
from pages import LEFT_OUT, kind

hub, welcome, loads = urllib.parse.urlsplit(sys.argv[1]), urllib.parse.urlsplit(sys.argv[2]), int(sys.argv[3])
connection = http.client.HTTPConnection(hub.hostname, hub.port)
cookies = {}


def ask(method, path, form=None):
    headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items()), "Origin": f"http://{hub.netloc}"}
    body = None
    if form:
        body = urllib.parse.urlencode(form)
        headers["Content-Type"] = "application/x-www-form-urlencoded"
    begin = time.perf_counter()
    connection.request(method, path, body, headers)
    reply = connection.getresponse()
    text = reply.read().decode()
    took = 1000 * (time.perf_counter() - begin)
    for name, value in reply.getheaders():
        if name.lower() == "set-cookie":
            cookies.update([value.split(";")[0].split("=", 1)])
    return reply.status, text, took


_, text, _ = ask("GET", welcome.path)
token = re.search(r'name="csrf" value="([^"]+)"', text)[1]
status, text, _ = ask("POST", welcome.path, {"csrf": token, "password": "seven blue horses run"})
if status not in (302, 303):
    raise SystemExit(f"The password is not taken: {status} {text}")

waiting, known, figures = ["/console"], {"/console"}, []
while waiting:
    page = waiting.pop(0)
    times = []
    for _ in range(loads):
        status, text, took = ask("GET", page)
        times.append(took)
    if status == 404 or status == 303:
        continue
    if status != 200:
        raise SystemExit(f"{page} answers {status}.")
    figures.append((statistics.quantiles(times, n=20)[-1], len(text.encode()), kind(page)))
    for link in re.findall(r'href="(/console[^"#]*)', text):
        link = link.replace("&amp;", "&")
        path = urllib.parse.urlsplit(link).path
        if not LEFT_OUT.match(path) and kind(link) not in known:
            known.add(kind(link))
            waiting.append(link)
for figure in sorted(figures, reverse=True):
    print("%.1f %d %s" % figure)
