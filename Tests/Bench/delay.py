"""Passes TCP connections on, and delays what comes back: delay.py PORT TARGET_PORT MILLISECONDS.

SIGUSR1 begins to delay and SIGUSR2 ends it, for connections that are open too. Bytes keep their order."""
import asyncio, collections, signal, sys

port, target, milliseconds = map(int, sys.argv[1:4])
delay = 0.0


def set_delay(seconds):
    global delay
    delay = seconds


class Side(asyncio.Protocol):
    """One of the two connections; `other` is where its bytes go."""

    def __init__(self, other=None):
        self.other, self.transport = other, None
        self.queue = collections.deque()  # (when, bytes) for this side

    def connection_made(self, transport):
        self.transport = transport
        self.flush()

    def connection_lost(self, error):
        if self.other and self.other.transport:
            self.other.transport.close()

    def send(self, data, after):
        loop = asyncio.get_running_loop()
        due = loop.time() + after
        if self.queue:
            due = max(due, self.queue[-1][0])
        self.queue.append((due, data))
        if len(self.queue) == 1:
            self.flush()

    def flush(self):
        loop = asyncio.get_running_loop()
        while self.transport and self.queue:
            if self.queue[0][0] > loop.time():
                loop.call_at(self.queue[0][0], self.flush)
                return
            self.transport.write(self.queue.popleft()[1])


class Client(Side):
    def connection_made(self, transport):
        super().connection_made(transport)
        self.other = Sink(self)
        connecting = asyncio.get_running_loop().create_connection(lambda: self.other, "127.0.0.1", target)
        self.connecting = asyncio.ensure_future(connecting)  # kept, as the loop holds no task by itself

    def data_received(self, data):
        self.other.send(data, 0)


class Sink(Side):
    def data_received(self, data):
        self.other.send(data, delay)


async def main():
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGUSR1, set_delay, milliseconds / 1000)
    loop.add_signal_handler(signal.SIGUSR2, set_delay, 0)
    server = await loop.create_server(Client, "127.0.0.1", port)
    await server.serve_forever()


asyncio.run(main())
