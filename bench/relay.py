#!/usr/bin/env python3
"""A slow line in front of a server: what arrives is passed on a fixed time later, each way, whatever its amount.

    relay.py --delay-ms N HOST:PORT

prints `listening on HOST:PORT` and stays until its standard input ends. A connection costs its two ways as well: the first
bytes of a client arrive no earlier than they could have been sent after a handshake over that line.
"""
import argparse
import asyncio
import contextlib
import os
import socket
import sys
import threading
import time

READ_BYTES = 1 << 20
BACKLOG_BYTES = 256 << 20  # on their way at once; a line of 1 GB/s and 100 ms holds fewer


class Way:
    """One direction of a connection."""

    def __init__(self, source, target, delay_s, earliest=0.0):
        self.source, self.target, self.delay_s, self.earliest = source, target, delay_s, earliest
        self.waiting = asyncio.Queue()
        self.bytes = 0
        self.has_room = asyncio.Condition()

    async def take(self):
        loop = asyncio.get_running_loop()
        data = b"?"
        while data:
            try:
                data = await loop.sock_recv(self.source, READ_BYTES)
            except OSError:
                data = b""
            async with self.has_room:
                await self.has_room.wait_for(lambda: self.bytes < BACKLOG_BYTES)
                self.bytes += len(data)
            self.waiting.put_nowait((max(time.monotonic(), self.earliest) + self.delay_s, data))

    async def give(self):
        loop = asyncio.get_running_loop()
        while True:
            due, data = await self.waiting.get()
            await sleep_until(due)
            if not data:
                with contextlib.suppress(OSError):
                    self.target.shutdown(socket.SHUT_WR)
                return
            with contextlib.suppress(OSError):  # who is gone reads no more; the other way ends by itself
                await loop.sock_sendall(self.target, data)
            async with self.has_room:
                self.bytes -= len(data)
                self.has_room.notify()


async def sleep_until(due):
    """asyncio's timers come late by a millisecond (epoll's grain): the rest is looked for."""
    left = due - time.monotonic()
    if left > 0.0015:
        await asyncio.sleep(left - 0.0015)
    while time.monotonic() < due:
        await asyncio.sleep(0)


class Relay:
    """Passes connections on to `address` ("HOST:PORT"), `delay_s` later each way; `address` of its own to connect to. Its work
    is done by a thread of its own, until close()."""

    def __init__(self, address, delay_s, listen=("127.0.0.1", 0)):
        host, port = address.rsplit(":", 1)
        self.server = (host.strip("[]"), int(port))
        self.delay_s = delay_s
        self.socket = socket.create_server(listen)
        self.socket.setblocking(False)
        self.address = "%s:%d" % self.socket.getsockname()[:2]
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        asyncio.set_event_loop(self.loop)
        self.main = self.loop.create_task(self.accept())
        with contextlib.suppress(asyncio.CancelledError):
            self.loop.run_until_complete(self.main)

    async def accept(self):
        connections = set()
        try:
            while True:
                client, _ = await self.loop.sock_accept(self.socket)
                task = self.loop.create_task(self.carry(client, time.monotonic()))
                connections.add(task)
                task.add_done_callback(connections.discard)
        finally:
            for task in connections:
                task.cancel()
            await asyncio.gather(*connections, return_exceptions=True)

    async def carry(self, client, begin):
        """The client's handshake is over at once, here; over the line it would be two ways later."""
        with client, socket.socket(socket.AF_INET6 if ":" in self.server[0] else socket.AF_INET) as server:
            for one in (client, server):
                one.setblocking(False)
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await sleep_until(begin + self.delay_s)
            try:
                await self.loop.sock_connect(server, self.server)
            except OSError:
                return
            ways = [Way(client, server, self.delay_s, begin + 2 * self.delay_s), Way(server, client, self.delay_s)]
            await asyncio.gather(*(part for way in ways for part in (way.take(), way.give())))

    def close(self):
        self.loop.call_soon_threadsafe(self.main.cancel)
        self.thread.join(5)
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--delay-ms", type=float, required=True, help="of each way; a round trip takes two")
    parser.add_argument("server", metavar="HOST:PORT")
    options = parser.parse_args()
    with Relay(options.server, options.delay_ms / 1000) as relay:
        print(f"listening on {relay.address}", flush=True)
        while os.read(sys.stdin.fileno(), 4096):
            pass


if __name__ == "__main__":
    main()
