"""Times typical filters over HTTP: ms of an estimate, ms of an exact count, ms of the first page of contacts, contacts, filter."""
import http.client, json, math, statistics, sys, time, urllib.parse

hub, key, sendout, loads = urllib.parse.urlsplit(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
FILTERS = [
    "everyone",
    "has device",
    "country in ('SE', 'NO') and properties.food = 'meat' and properties.visits >= 3",
    "device(app = 'com.example.people' and osVersion >= version '17.2')",
    "device(manufacturer = 'samsung' and model starts with 'model 1') and not country = 'SE'",
    "in list 'newsletter'",
    "not in list 'newsletter' and country = 'DE'",
    "in segment 'Nordic' and bucket(0, 10)",
    "birthday(dateOfBirth) within next 7 days",
    "createdAt within last 30 days",
    "firstName = 'First17'",
    "emailAddress ends with '7@example.com'",
    "city contains 'ity12' or mobileNumber is not set",
    "received within 30 days",
    "received >= 3",
    "received >= 1 within 30 days and opened < 1 of last 5",
    "opened",
    "not opened within 90 days",
    "opened >= 2 within 60 days and country = 'SE'",
    f"received sendout {sendout} and not opened sendout {sendout}",
]
connection = http.client.HTTPConnection(hub.hostname, hub.port)


def post(path, body):
    """The status, the reply, and ms; a reply that is an error takes for ever."""
    begin = time.perf_counter()
    connection.request("POST", "/api/v1/" + path, json.dumps(body), {"Authorization": "Bearer " + key, "Content-Type": "application/json"})
    reply = connection.getresponse()
    text = reply.read().decode()
    if reply.status not in (200, 201, 202):
        print(f"{path} {body} is answered {reply.status}: {text}", file=sys.stderr)
        return reply.status, {}, math.inf
    return reply.status, json.loads(text), 1000 * (time.perf_counter() - begin)


def exact(filter):
    begin = time.perf_counter()
    while True:
        status, reply, _ = post("segments/count", {"filter": filter, "exact": True})
        if status == 200:
            return reply["contacts"], 1000 * (time.perf_counter() - begin)
        if status != 202:
            return 0, math.inf
        time.sleep(0.02)


post("segments", {"name": "Nordic", "filter": "country in ('SE', 'NO', 'DK', 'FI')"})
for filter in FILTERS:
    estimate = statistics.median(post("segments/count", {"filter": filter})[2] for _ in range(loads))
    contacts, counted = exact(filter)
    page = statistics.median(post("contacts/search", {"filter": filter})[2] for _ in range(loads))
    print("%.1f %.0f %.1f %d %s" % (estimate, counted, page, contacts, filter), flush=True)
