"""Clients of the fault runs, over plain sockets. Each prints what it counted.

  clients.py race FILE COUNT KEY PORT      registers each token again, as soon as the Simulator's file says that it was pushed to
  clients.py repeat COUNT TIMES KEY PORT…  sends each of COUNT messages TIMES times at once, with the same Idempotency-Key
  clients.py messages FILE KEY PORT        sends messages until it gets SIGTERM, and writes the ids of those that were accepted
"""
import json, queue, signal, socket, sys, threading, time


class Connection:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", int(port)))
        self.file = self.socket.makefile("rb")

    def send(self, method, path, headers, body):
        body = json.dumps(body).encode()
        head = [f"{method} {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
        head += [f"{name}: {value}" for name, value in headers.items()] + [f"Content-Length: {len(body)}", "", ""]
        self.socket.sendall("\r\n".join(head).encode() + body)

    def reply(self):
        status, length = int(self.file.readline().split()[1]), 0
        while (line := self.file.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return status, self.file.read(length)


def race(file, count, key, port):
    pushed, statuses = queue.SimpleQueue(), []

    def register():
        connection = Connection(port)
        while token := pushed.get():
            connection.send(
                "PUT", "/rest/1/apps/com.example.bench/pushdevices", {"X-Carma-Authentication-Token": key},
                {"originalId": f"user{int(token, 16)}", "deviceInfo": [{"devicetoken": token}]})
            statuses.append(connection.reply()[0])

    threads = [threading.Thread(target=register) for _ in range(16)]
    for thread in threads:
        thread.start()
    seen, rest = set(), ""
    with open(file) as lines:
        while len(seen) < int(count):
            rest += lines.read()
            *whole, rest = rest.split("\n")
            for line in whole:
                token = line.split("\t")[2]
                if token not in seen:
                    seen.add(token)
                    pushed.put(token)
            if not whole:
                time.sleep(0.001)
    for _ in threads:
        pushed.put(None)
    for thread in threads:
        thread.join()
    print(statuses.count(200))


def message(number):
    return {"appId": "com.example.bench", "to": {"originalId": f"user{number}"}, "message": {"alert": f"Message {number}"}}


def repeat(count, times, key, *ports):
    connections = [Connection(ports[i % len(ports)]) for i in range(int(times))]
    created, ids = 0, set()
    for number in range(1, int(count) + 1):
        headers = {"Authorization": f"Bearer {key}", "Idempotency-Key": f"key-{number}"}
        for connection in connections:
            connection.send("POST", "/api/v1/messages", headers, message(number))
        replies = [connection.reply() for connection in connections]
        created += sum(status == 201 for status, _ in replies)
        ids |= {(number, json.loads(body).get("messageId")) for _, body in replies}
    print(created, len(ids))


def messages(file, key, port):
    running = True

    def stop(*_):
        nonlocal running
        running = False

    signal.signal(signal.SIGTERM, stop)
    number, connection = 0, None
    with open(file, "w") as accepted:
        while running:
            number += 1
            try:
                connection = connection or Connection(port)
                connection.send("POST", "/api/v1/messages", {"Authorization": f"Bearer {key}"}, message(number % 1000 + 1))
                status, body = connection.reply()
                if status == 201:
                    accepted.write(json.loads(body)["messageId"] + "\n")
            except (OSError, IndexError):
                connection = None
            time.sleep(0.005)


{"race": race, "repeat": repeat, "messages": messages}[sys.argv[1]](*sys.argv[2:])
