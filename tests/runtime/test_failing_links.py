#!/usr/bin/env python3
"""Links that fail at random while programs copy: network namespaces with one link for calls and three for copies. The sums must be right, and
no session may end. Some seconds; --seconds=7200 takes two hours, --seed=N repeats the order of the faults."""
import contextlib
import os
import random
import re
import subprocess
import sys
import threading
import time
import unittest

from cuda import MIB, Program
from runtime import harness
from test_cuda import GOOD, serve
from test_data_addresses import Sides, has_namespaces


def argument(name, otherwise):
    return next((type(otherwise)(word.split("=", 1)[1]) for word in sys.argv if word.startswith(f"--{name}=")), otherwise)


SECONDS = argument("seconds", 8.0)
SEED = argument("seed", int.from_bytes(os.urandom(4), "little"))
DATA = (1, 2, 3)
RATE = "400mbit"
WORST_S = 60    # for one copy; it is some hundred milliseconds without faults


class Weather:
    """Does something to a link at random moments, from a thread of its own."""

    def __init__(self, case, pick):
        self.case, self.pick, self.is_over, self.told = case, pick, threading.Event(), {}
        self.must_lose = False  # links were down for so long, beside others, that copies gave them up
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()

    def run(self):
        faults = (self.is_down, self.is_down, self.is_slow, self.all_down, self.calls_pause)
        while not self.is_over.wait(self.pick.uniform(0.05, 1.0)):
            fault = self.pick.choice(faults)
            self.told[fault.__name__] = self.told.get(fault.__name__, 0) + 1
            fault()

    def is_down(self):
        """One or two links, one behind the other, at either end."""
        links = self.pick.sample(DATA, self.pick.randint(1, 2))
        side = self.pick.randint(0, 1)
        for link in links:
            self.case.set_link(side, link, "down")
            time.sleep(self.pick.choice((0, 0.2)))
        seconds = self.pick.choice((0.05, 0.5, 2))
        time.sleep(seconds)
        self.must_lose = self.must_lose or seconds == 2
        for link in links:
            self.case.set_link(side, link, "up")

    def all_down(self):
        """The copies wait, or go where the calls go: channels that are silent all at once are given up after ten seconds."""
        for link in DATA:
            self.case.set_link(1, link, "down")
        time.sleep(self.pick.choice((0.1, 1)))
        for link in DATA:
            self.case.set_link(1, link, "up")

    def calls_pause(self):
        """A link that comes back soon enough is no end of the session."""
        self.case.set_link(1, 0, "down")
        time.sleep(self.pick.uniform(0.05, 1.5))
        self.case.set_link(1, 0, "up")

    def is_slow(self):
        """It stays up, and carries little or almost nothing."""
        link = self.pick.choice(DATA)
        self.case.shape("change", link, self.pick.choice(("20mbit", "1mbit", "8kbit")))
        time.sleep(self.pick.uniform(0.1, 1.5))
        self.case.shape("change", link, RATE)


@unittest.skipUnless(has_namespaces(), "network namespaces need root and ip (package iproute2)")
class FailingLinks(Sides):
    LINKS = 4

    def setUp(self):
        super().setUp()
        for i in range(self.LINKS):
            for side in range(2):
                self.address(side, f"l{i}", f"10.79.{i}.{1 + side}/24")
            self.shape("add", i, RATE)

    def set_link(self, side, link, state):
        self.ip("-n", self.sides[side], "link", "set", f"l{link}", state)

    def shape(self, what, link, rate):
        for side in self.sides:
            subprocess.run(["tc", "-n", side, "qdisc", what, "dev", f"l{link}", "root", "tbf", "rate", rate, "burst", "128k", "latency", "50ms"],
                           check=True)

    def copies(self, program, pick, until):
        """Returns how many copies were done, and the longest time of one in seconds."""
        count, longest = 0, 0.0
        while time.monotonic() < until:
            begin = time.monotonic()
            size = pick.choice((MIB, 3 * MIB + 5, 8 * MIB, 20 * MIB, pick.randrange(1, 24 * MIB)))
            self.assertEqual(program.do(f"fetch 1 {size}"), f"{GOOD} right", f"{count} copies before, the last one of {size} bytes")
            count, longest = count + 1, max(longest, time.monotonic() - begin)
        return count, longest

    def check_transport(self, transport, encrypt, seconds):
        pick = random.Random(f"{SEED} {transport} {encrypt}")
        data = [word for i in DATA for word in ("--data-listen", f"10.79.{i}.1:5555")]
        with serve("--log-level", "debug", "--encrypt", encrypt, "--udp", "on", *data, listen="10.79.0.1:0", memory="256M", prefix=self.inside(0)) as server, \
                Program(server.address, prefix=self.inside(1), words=("-v", "--encrypt", encrypt, "--transport", transport)) as program:
            reader = Reader(program.process.stderr)
            self.copies(program, pick, time.monotonic() + 0.5)
            with Weather(self, pick) as weather:
                count, longest = self.copies(program, pick, time.monotonic() + seconds)
            done = reader.count("is back")
            self.copies(program, pick, time.monotonic() + 1)
            print(f"-- {transport}, encrypt {encrypt}, seed {SEED}: {count} copies in {seconds:.0f} s, the longest {longest:.1f} s; "
                  f"{reader.count('is lost')} losses, {done} channels back; {weather.told}")
            self.assertGreater(count, 0)
            self.assertLess(longest, max(WORST_S, harness.PATIENCE_S))
            if weather.must_lose:
                self.assertGreater(reader.count("is lost"), 0, server.log())
            program.process.stdin.close()
            self.assertEqual(program.process.wait(harness.PATIENCE_S), 0)
            self.assertIn(f" transport={transport} ", server.log())
            # Without an identity it is a connection that was to replace a lost one, and whose link went down before its first words.
            self.assertEqual(re.findall(r"event=session-broken .*\bidentity=.*", server.log()), [])

    def test_copies_are_right(self):
        ways = [(transport, encrypt) for transport in ("tcp", "udp") for encrypt in ("off", "on")]
        for transport, encrypt in ways:
            with self.subTest(f"{transport}, encrypt {encrypt}, seed {SEED}"):
                self.check_transport(transport, encrypt, SECONDS / len(ways))


class Reader:
    """Reads the program's messages all the time, so that it never waits to write one."""

    def __init__(self, stream):
        self.lines = []
        threading.Thread(target=self.run, args=(stream,), daemon=True).start()

    def run(self, stream):
        with contextlib.suppress(ValueError):  # it is closed
            self.lines.extend(iter(stream.readline, ""))

    def count(self, words):
        return sum(words in line for line in self.lines)


if __name__ == "__main__":
    harness.main()
