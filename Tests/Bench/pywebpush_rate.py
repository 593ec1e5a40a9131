"""Prints how many pushes a second pywebpush encrypts and sends, with a process for each core.

    pywebpush_rate.py BROWSERS.csv SERVER CA_FILE SECONDS
"""
import csv, json, multiprocessing, os, sys, time

import requests
from py_vapid import Vapid
from pywebpush import webpush

browsers, server, ca, seconds = sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])
MESSAGE = json.dumps({"source": "carma", "alert": "Hi First1", "info": "Only today", "url": "https://push.example.com/c/" + "a" * 60,
                      "pushreadurl": "https://push.example.com/r/" + "a" * 60})


def send(_):
    """Pushes of one process until the time is over."""
    with open(browsers) as file:
        subscriptions = [
            {"endpoint": f"{server}/{number}", "keys": {"p256dh": p256dh, "auth": auth}}
            for number, p256dh, auth in csv.reader(file)
        ]
    session = requests.Session()
    session.verify, session.trust_env = ca, False
    vapid = Vapid()
    vapid.generate_keys()
    count, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        response = webpush(
            subscriptions[count % len(subscriptions)], MESSAGE, vapid_private_key=vapid, ttl=2419200, requests_session=session,
            vapid_claims={"sub": "mailto:push@example.com"})
        assert response.status_code == 201, response.status_code
        count += 1
    return count


if __name__ == "__main__":
    cores = os.cpu_count()
    with multiprocessing.Pool(cores) as pool:
        print(sum(pool.map(send, range(cores))) / seconds)
