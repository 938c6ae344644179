"""Speed: native, shm and tcp in turn in one run; medians, and their ratios to native.

For each group of loads (loads.py) a process in each mode prepares itself; then they measure one after another, round after round,
so that what changes on the machine meanwhile meets them all. bench.json has all numbers.
"""
import json
import os
import select
import statistics
import subprocess
import sys
import time

import bed as beds

HERE = os.path.dirname(os.path.abspath(__file__))
PREPARE_S, ROUND_S = 150, 60
GROUPS = ["issued", "copies", "models", "compiled"]


class Load:
    """A group in a mode."""

    def __init__(self, bed, server, mode, group):
        self.name, self.mode, self.server = f"{mode} {group}", mode, server
        self.path = os.path.join(bed.scratch, self.name.replace(" ", "-"))
        env = bed.environment(mode, server, TORCHINDUCTOR_CACHE_DIR=os.path.join(bed.scratch, f"inductor-{mode}"),
                              TRITON_CACHE_DIR=os.path.join(bed.scratch, f"triton-{mode}"))
        with open(self.path, "wb") as errors:
            self.process = subprocess.Popen([sys.executable, "-B", os.path.join(HERE, "loads.py"), group], env=env, stderr=errors,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, start_new_session=True)
        self.rest, self.word = b"", None

    def read(self, limit_s):
        """The next line, or None: then `word` says why."""
        end = time.monotonic() + limit_s
        while b"\n" not in self.rest:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                others = self.server.sessions() if self.mode != beds.NATIVE else []
                return self.fail("not done in time\n" + beds.where(beds.descendants(self.process.pid) + others))
            piece = os.read(self.process.stdout.fileno(), 65536)
            if not piece:
                return self.fail(f"exit code {self.process.wait()}")
            self.rest += piece
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode()

    def fail(self, word):
        self.word = f"{self.name}: {word}\n{beds.tail(self.path, 3000)}"
        self.end()

    def is_ready(self):
        return self.read(PREPARE_S) == "ready"

    def measure(self):
        """One round: [name, value, unit] a row; none where it fails."""
        rows = []
        try:
            self.process.stdin.write(b"go\n")
        except BrokenPipeError:
            self.fail(f"exit code {self.process.wait()}")
            return rows
        line = self.read(ROUND_S)
        while line is not None and line != "done":
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


def measure_group(options, bed, server, group, found):
    """All modes of a group; returns what went wrong."""
    loads = [Load(bed, server, mode, group) for mode in [beds.NATIVE, *options.modes]]
    ready = [load for load in loads if load.is_ready()]
    for _ in range(options.rounds + 1):  # the first is for warming up
        for load in ready:
            if load.word:
                continue
            for name, value, unit in load.measure():
                found.setdefault(name, {"unit": unit}).setdefault(load.mode, []).append(value)
    for row in found.values():
        for mode in row.keys() - {"unit"}:
            row[mode] = row[mode][-options.rounds:]
    for load in loads:
        if not load.word:
            load.end()
    return [load.word for load in loads if load.word]


def collect(options, bed, server):
    """{row: {"unit", mode: [values]}} and what went wrong."""
    found, words = {}, []
    begin = time.monotonic()
    for group in [one for one in GROUPS if not options.patterns or one in options.patterns]:
        server.check()
        words += measure_group(options, bed, server, group, found)
        print(f"[{time.monotonic() - begin:5.0f} s] {group}", file=sys.stderr, flush=True)
        save(options, found, words)
        if time.monotonic() - begin > options.budget:
            words.append("no time left (--budget)")
            break
    return found, words


def save(options, found, words):
    with open(os.path.join(options.out, "bench.json"), "w", encoding="utf-8") as file:
        json.dump({"rounds": options.rounds, "rows": found, "words": words}, file, indent=1)


def spread(values):
    """Half the distance between the quartiles, in percent of the median."""
    if len(values) < 4:
        return ""
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{50 * (high - low) / middle:.0f} %" if middle else ""


def cell(row, mode):
    """"12.3 (1.05x, 3 %)": median, times native's, spread."""
    values = row.get(mode)
    if not values:
        return "-"
    middle = statistics.median(values)
    facts = [spread(values)]
    if mode != beds.NATIVE and row.get(beds.NATIVE):
        facts.insert(0, f"{middle / statistics.median(row[beds.NATIVE]):.2f}x")
    words = ", ".join(filter(None, facts))
    return f"{middle:.4g} ({words})" if words else f"{middle:.4g}"


def main(options, bed):
    server = beds.Server(bed)
    try:
        found, words = collect(options, bed, server)
    finally:
        server.stop()
    save(options, found, words)
    head = ["what", "unit", beds.NATIVE, *options.modes]
    rows = [head] + [[name, row["unit"], *(cell(row, mode) for mode in head[2:])] for name, row in found.items()]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    for row in rows:
        print(" | ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())
    for word in words:
        print("failed: " + "\n  ".join(word.splitlines()[:1] + word.splitlines()[-3:])[:600])
    print(f"\n{options.rounds} rounds in turn; medians (times native's, spread); {options.out}/bench.json has the numbers")
    return 1 if words or not found else 0
