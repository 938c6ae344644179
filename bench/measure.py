"""Has programs measure in turn, natively and at a server, round after round, so that what changes on the machine meets all.

Within a time budget: each group has a part of it, and does as many rounds as go into that.
"""
import json
import os
import select
import subprocess
import time

import bed as beds
import catalogue
import relay

PREPARE_S, ROUND_S, LEAST_S = 150, 90, 3
OVERDUE = 3  # times its part of the time a group may take at most, so that those behind it have theirs
AFTER_S = 0.3  # behind a program that measured once: its session ends behind it, and the next cuInit() would wait for that
LATE = "no time left (--budget)"
LARGEST = {"large": 1 << 30, "small": 16 << 20, "quick": 1 << 20}  # bytes of the largest copy
CLIENTS = {"large": 64, "small": 64, "quick": 4}


class Place:
    """A server, the slow lines to it, and two servers for programs that have both."""

    def __init__(self, bed, size):
        self.bed, self.size, self.server, self.relays = bed, size, beds.Server(bed), {}
        self.two_servers = bed.two_servers()

    def address(self, way):
        self.server.check()
        if not way.round_trip_ms:
            return self.server.place(way.transport)
        if way.round_trip_ms not in self.relays:
            self.relays[way.round_trip_ms] = relay.Relay(self.bed.build, self.server.address, way.round_trip_ms / 2000)
        return self.relays[way.round_trip_ms].address

    def environment(self, way, **changes):
        scratch = self.bed.scratch
        changes.update(BENCH_LARGEST=LARGEST[self.size], BENCH_CLIENTS=CLIENTS[self.size],
                       TORCHINDUCTOR_CACHE_DIR=os.path.join(scratch, f"inductor-{way.name}"),
                       TRITON_CACHE_DIR=os.path.join(scratch, f"triton-{way.name}"))
        if self.size == "quick":
            changes.update(BENCH_QUICK="yes")
        if way.disabled:
            changes.update(AITHERION_DISABLE=way.disabled)
        if way.is_encrypted:
            changes.update(AITHERION_ENCRYPT="on")
        if not way.transport:
            return self.bed.environment(beds.NATIVE, **changes)
        if way.is_several:
            self.two_servers.check()
            return self.bed.environment(way.transport, self.two_servers, **changes)
        return self.bed.environment(way.transport, self.server, AITHERION_SERVER=self.address(way), **changes)

    def stop(self):
        for line in self.relays.values():
            line.close()
        self.server.stop()
        self.two_servers.stop()

    def sessions(self):
        """The processes that serve programs."""
        return self.server.sessions() + self.two_servers.sessions()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Load:
    """A group's program on a way."""

    def __init__(self, place, group, way, end):
        self.name, self.way, self.place, self.end_time = f"{group.name} ({way.name})", way, place, end
        self.path = os.path.join(place.bed.scratch, "errors-" + self.name.replace(" ", "-"))
        with open(self.path, "wb") as errors:
            self.process = subprocess.Popen([*group.command(place.bed.build), *group.arguments(way)], stderr=errors, bufsize=0,
                                            env=place.environment(way), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            start_new_session=True)
        self.rest, self.said, self.word = b"", [], None

    def read(self, limit_s):
        """The next line, or None: then `word` says why."""
        end = min(time.monotonic() + limit_s, self.end_time)
        while b"\n" not in self.rest:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                if end == self.end_time:
                    return self.fail(LATE)
                others = self.place.sessions() if self.way.transport else []
                return self.fail(f"not done in {limit_s} s\n" + beds.where(beds.descendants(self.process.pid) + others))
            piece = os.read(self.process.stdout.fileno(), 65536)
            if not piece:
                return self.fail(f"exit code {self.process.wait()}")
            self.rest += piece
        line, self.rest = self.rest.split(b"\n", 1)
        self.said.append(line.decode(errors="replace"))
        return self.said[-1]

    def fail(self, word):
        said = "\n".join(line for line in self.said if not line.startswith('["'))
        self.word = f"{self.name}: {word}\n{said}\n{beds.tail(self.path, 3000)}"
        self.process.stdin.close()
        beds.end_group(self.process)

    def is_ready(self):
        line = self.read(PREPARE_S)
        while line is not None and line != "ready":  # what libraries say
            line = self.read(PREPARE_S)
        return line is not None

    def measure(self):
        """One round: [name, value, unit] a row; where it fails those before."""
        rows = []
        try:
            self.process.stdin.write(b"go\n")
        except BrokenPipeError:
            self.fail(f"exit code {self.process.wait()}")
            return rows
        line = self.read(ROUND_S)
        while line is not None and line != "done":
            if line.startswith('["'):
                rows.append(json.loads(line))
            line = self.read(ROUND_S)
        return rows

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            pass
        beds.end_group(self.process)


class Found:
    """The rows of a run: {"group", "name", "unit", "values": {way: [a value of each round]}}."""

    def __init__(self):
        self.rows, self.words, self.left_out = [], [], []

    def add(self, group, way, measured):
        for name, value, unit in measured:
            row = next((row for row in self.rows if (row["group"], row["name"]) == (group, name)), None)
            if not row:
                row = {"group": group, "name": name, "unit": unit, "values": {}}
                self.rows.append(row)
            row["values"].setdefault(way, []).append(value)


class Turns:
    """The programs of a group, which measure in turn."""

    def __init__(self, place, group, ways, end):
        self.place, self.group, self.ways, self.end = place, group, ways, end
        self.words = []  # what went wrong: (a program's name, why)
        self.loads = [] if group.once else self.begin(ways)
        # cuInit() takes 0.1 s where no process uses the driver, and 0.03 s beside one. A program that stays makes all ways the same.
        self.staying = self.begin(ways[:1]) if group.once else []
        for load in self.staying:
            load.measure()

    def begin(self, ways):
        """They prepare themselves at the same time."""
        loads = [Load(self.place, self.group, way, self.end) for way in ways]
        ready = [load for load in loads if load.is_ready()]
        self.words += [(load.name, load.word) for load in loads if load.word]
        return ready

    def one(self, way):
        """A round of one that measures once."""
        rows = []
        for load in self.begin([way]):
            rows = load.measure()
            self.finish(load)
        time.sleep(AFTER_S)
        return rows

    def finish(self, load):
        if load.word:
            self.words.append((load.name, load.word))
        else:
            load.end()

    def round(self):
        """{way's name: rows}."""
        if self.group.once:
            return {way.name: self.one(way) for way in self.ways}
        rows = {load.way.name: load.measure() for load in self.loads if not load.word}
        self.words += [(load.name, load.word) for load in self.loads if load.word]
        self.loads = [load for load in self.loads if not load.word]
        return rows

    def stop(self):
        for load in self.loads + self.staying:
            self.finish(load)


def measure_group(place, group, ways, rounds, found, share_s, end):
    """All ways in turn, or one after another where they do not fit beside each other."""
    parts = [[way] for way in ways] if group.apart else [ways]
    for part in parts:
        measure_ways(place, group, part, rounds, found, share_s / len(parts), end)


def measure_ways(place, group, ways, rounds, found, share_s, end):
    """So many rounds of a group, or fewer where its part of the time is over; the first one of a process is for warming up."""
    begin = time.monotonic()
    turns = Turns(place, group, ways, min(end, begin + OVERDUE * share_s + LEAST_S))
    done, is_warm = 0, group.once or place.size == "quick"
    while done < rounds and (turns.loads or group.once and not turns.words):
        before = time.monotonic()
        measured = turns.round()
        for way, rows in measured.items() if is_warm else []:
            found.add(group.name, way, rows)
        done += is_warm
        is_warm = True
        now = time.monotonic()
        if now + (now - before) > begin + share_s and done:
            break
    turns.stop()
    late = [name for name, word in turns.words if LATE in word.splitlines()[0]]
    found.words += [word for name, word in turns.words if name not in late]
    if late:
        found.left_out.append(f"{', '.join(dict.fromkeys(late))}: {LATE}")
    if done < rounds:
        which = f"{group.name} ({ways[0].name})" if group.apart else group.name
        found.left_out.append(f"{which}: {done} of {rounds} rounds")


def measure_all(place, groups, rounds, budget_s, find_ways, note):
    """All groups; `find_ways` gives a group's, `note` is called after each."""
    found, begin = Found(), time.monotonic()
    end = begin + budget_s
    for i, group in enumerate(groups):
        reason, left_s = group.lacks(), end - time.monotonic()
        if reason or left_s < LEAST_S:
            found.left_out.append(f"{group.name}: {reason or LATE}")
            continue
        share_s = left_s * group.weight / sum(one.weight for one in groups[i:] if not one.lacks())
        measure_group(place, group, find_ways(group), rounds, found, share_s, end)
        note(f"[{time.monotonic() - begin:5.0f} s] {group.name}", found)
    return found
