#!/usr/bin/env python3
"""Floods a server with connections from one address, as a stranger would. Each address of 127.0.0.0/8 is a source of its own.

    flood.py 127.0.0.1:PORT --source 127.0.0.9 --kind hello --rate 1000 --seconds 10

Prints a line with the number of connections made, a second after another. The frame of a hello or a join is given in hexadecimal by
--frame; `python3 flood.py --help` names the kinds. Tests use the class Flood.
"""
import argparse
import collections
import contextlib
import errno
import select
import socket
import subprocess
import sys
import time

KINDS = {
    "silence": "connects and says nothing",
    "close": "connects and hangs up",
    "garbage": "sends bytes of another protocol",
    "frame": "sends --frame, and then nothing",
    "hit": "sends --frame and hangs up",
}
OPEN_MOST = 500  # connections that stay open; the oldest is closed for a new one
IP_BIND_ADDRESS_NO_PORT = 24


def connect(target, source):
    one = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    one.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # no address stays in TIME_WAIT
    one.bind((source, 0))
    one.setblocking(False)
    if one.connect_ex(target) not in (0, errno.EINPROGRESS):
        one.close()
        return None
    return one


def run(target, source, kind, frame, rate, seconds):
    said = {"silence": b"", "close": b"", "garbage": b"GET / HTTP/1.1\r\n\r\n"}.get(kind, frame)
    held, made, begin, told = collections.deque(), 0, time.monotonic(), 0
    while (now := time.monotonic() - begin) < seconds:
        if now - told >= 1:
            print(made, flush=True)
            told = now
        if made >= now * rate:
            time.sleep(0.0005)
            continue
        one = connect(target, source)
        if not one:
            time.sleep(0.001)
            continue
        made += 1
        if kind == "close":
            one.close()
            continue
        with contextlib.suppress(OSError):
            if said:
                select.select([], [one], [], 0.01)
                one.send(said)
        if kind == "hit":
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\0\0\0\0\0\0\0\0")
            one.close()
            continue
        held.append(one)
        if len(held) > OPEN_MOST:
            held.popleft().close()
    print(made, flush=True)


class Flood:
    """A flood in a process of its own, from when it has begun to the end of the block."""

    def __init__(self, server, source, kind, rate=1000, frame=b""):
        self.process = subprocess.Popen([sys.executable, "-B", __file__, server.address, "--source", source, "--kind", kind, "--rate",
                                         str(rate), "--frame", frame.hex()], stdout=subprocess.PIPE, text=True)
        self.made = int(self.process.stdout.readline())  # it floods since a second

    def goes_on(self):
        """Whether the flood still goes on; waits until it has made more connections."""
        before = self.made
        while self.made == before and (line := self.process.stdout.readline()):
            self.made = int(line)
        return self.process.poll() is None and self.made > before

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def main():
    parser = argparse.ArgumentParser(description="Floods a server with connections from one address.",
                                     epilog="; ".join(f"{kind}: {text}" for kind, text in KINDS.items()))
    parser.add_argument("target", metavar="ADDRESS:PORT")
    parser.add_argument("--source", default="127.0.0.9")
    parser.add_argument("--kind", choices=KINDS, default="silence")
    parser.add_argument("--frame", type=bytes.fromhex, default=b"")
    parser.add_argument("--rate", type=float, default=1000)
    parser.add_argument("--seconds", type=float, default=3600)
    given = parser.parse_args()
    host, port = given.target.rsplit(":", 1)
    run((host, int(port)), given.source, given.kind, given.frame, given.rate, given.seconds)


if __name__ == "__main__":
    main()
