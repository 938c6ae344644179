#!/usr/bin/env python3
"""Compares random sequences of calls natively and through aitherion: tests/gpu/differential.py [PLAN...]

tests/gpu/differential/differential makes one sequence of a seed, and prints a line for each step. This program runs many seeds natively
and at a server, by shared memory and by TCP. A step whose line differs is a difference. The program finds a short sequence that still
has the difference, goes on without that step, and shows each kind of difference once. PLAN: areas that are tried together (--list).
"""
import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import bed as beds  # noqa: E402
import groups  # noqa: E402

SKIPPED = 77
LIMIT_S = 30  # of one sequence
ROUNDS = 6  # differences of one seed
TRIES = 40  # sequences to shrink one
PLANS = {
    "all": "",
    "memory": "memory,copies",
    "copies": "copies,arrays",
    "graphs": "graphs,nodes,parameters",
    "captures": "captures,graphs,launches,copies,pools",
    "launches": "launches,modules",
    "pools": "pools,captures",
    "virtual": "virtual,copies",
    "textures": "arrays,textures",
    "contexts": "contexts,launches,copies",
    "facts": "devices,ipc,modules",
    "faults": "faults,launches,copies",
}
RUNTIME_PLANS = {"runtime": ""}
EXACT, VALID = "exact", "valid"
# How a seed is tried. exact: each call is asked for its late error, so that error codes are compared. valid: steps with errors are left
# out, and calls are sent without waiting for their results, as in real programs.
WAYS = [EXACT, VALID]
POSTED = "sent without waiting: the next call that waits returns its error"
# Differences that are known: what their keys match, and why. Remove a line with its difference.
HOST_IS_OURS = "host memory is the client's own, which does not ask the server whether the context is lost"
CAPTURED = "a captured copy of pageable memory is a host function in the graph"
PINNED_BY_TCP = "by tcp the server does not know pinned memory that no kernel has used"
KNOWN = [
    (r" cuMemHost(Alloc|GetFlags|GetDevicePointer|Register|Unregister)\S* (700|709) ", HOST_IS_OURS),
    (r" (cuMemFreeHost|cudaFreeHost) (700|709) ", HOST_IS_OURS),
    (r" cuMemHostGetFlags flags=\d flags=\d$", "the driver gives flags of the block that it takes small memory from"),
    (r" cuMemPoolCreate 0 801$", "the server makes no pools of host memory, which the program could not reach"),
    (r" cuMemcpyBatchAsync fail=\w+ fail=\w+$", "the driver leaves the index alone for some mistakes"),
    (r" cuTensorMapEncodeTiled \d+ <-", "the client reads the lists of a rank that no tensor has"),
    (r" cuGraphGet\w*Nodes (\w+:)?1 (\w+:)?3$", CAPTURED),
    (r" cuLaunchHostFunc 709 0$", "a host function in the null stream of a context that has ended is accepted"),
    (r" cuMemGetAddressRange_v2 0 500$", PINNED_BY_TCP),
    (r" cuPointerSetAttribute 0 1$", PINNED_BY_TCP),
    (r" cuStreamBatchMemOp_v2 0 1$", PINNED_BY_TCP),
    (r" cuMemGetAddressRange_v2 bytes=N bytes=N$", "managed memory has whole pages"),
    (r" cuMemHostGetDevicePointer_v2 memory\S* elsewhere$", "registered memory's own address was in use at the server"),
]
# The same with the simulated driver alone. A GPU may behave in either way.
SIMULATED = [
    (r" \S+ [1-9]\d* [1-9]\d*$", "both refuse: the order of two mistakes is no promise"),
    (r" 901 0$", "a capture that such a call would have ended goes on"),
    (r"^(copies|arrays) .* cuMemcpy\w* 0 906$", "no bytes are copied during a capture"),
    (r" cuGetProcAddress_v2 1 0$", "an empty name is not found"),
    (r"^memory pointer attributes? cuPointerGetAttributes? \w+ \w+$", "pinned memory by tcp, and managed memory, are the client's own"),
    (r"^events destroy cuEventDestroy_v2 0 700$", "an event of a lost context"),
    (r" cuMemcpyBatchAsync fail=\w+ fail=\w+$", "which copy failed, of a lost context"),
    (r" cuStreamIsCapturing status=2 status=1$", "a call that was sent without waiting has ended the capture"),
    (r" cuStreamGetCaptureInfo_v2 201 0$", "the null stream without a context"),
]
MESSAGE = re.compile(r"aitherion: [^\n]*\n")


class Difference:
    """One step that differs: its lines, and the steps that it needs."""

    def __init__(self, way, plan, seed, mode, step, native, remote):
        self.way, self.plan, self.seed, self.mode, self.step, self.native, self.remote = way, plan, seed, mode, step, native, remote
        self.needed, self.lines, self.is_chance = None, [], False

    @property
    def key(self):
        """Differences with the same key are shown once: the operation, and the first words that differ."""
        return " ".join([operation_of(self.native or self.remote), *first_words(self.native, self.remote)])

    def reason(self, is_sim):
        """Why it is known, or None."""
        words = first_words(self.native, self.remote)
        if self.way == VALID and words[2] == "0" and words[1].isdigit():
            return POSTED
        return next((reason for pattern, reason in KNOWN + is_sim * SIMULATED if re.search(pattern, self.key)), None)


def operation_of(line):
    found = re.match(r"= (?:\d+ )?([^:]*):?", line or "")
    return re.sub(r"(check).*", r"\1", found.group(1)) if found else "none"


def first_words(native, remote):
    """The function, and what both sides said first that differs."""
    a, b = (native or "nothing").split(" | "), (remote or "nothing").split(" | ")
    for left, right in zip(a + [""] * len(b), b + [""] * len(a)):
        if left != right:
            words = [(x, y) for x, y in zip(left.split() + [""] * 9, right.split() + [""] * 9) if x != y]
            name = re.match(r"cu\w+", left or right)
            pair = words[0] if words else (left, right)
            return [name.group(0) if name else "-", *(re.sub(r"[0-9a-f]{8}|\d{4,}", "N", word) for word in pair)]
    return ["-", "-", "-"]


def words_of(line, other):
    """A line to show; of a check only what differs."""
    if not (line or "").startswith("= check"):
        return line
    return " ".join(line.split(":")[:1] + [word for word in line.split() if "=" in word[1:] and word not in (other or "").split()])


class Sequence:
    """The lines of one run of a sequence. `died`: the step that was under way when the process ended, with how; else None."""

    def __init__(self, outcome):
        # Messages of the client's library stand in the middle of a line, which is written before and after its call.
        lines = [line for line in MESSAGE.sub("", outcome.output).splitlines() if line.startswith("= ")]
        self.is_whole = bool(lines) and lines[-1] == "= end"
        self.is_skipped = outcome.code == SKIPPED
        self.lines = lines
        self.how = "no end within the limit" if outcome.code is None else f"ended with {outcome.code}"
        self.output = outcome.output
        if not self.is_whole and lines:
            self.lines[-1] += f" <- {self.how}"


def step_of(line):
    """The number of a step's line, or None."""
    found = re.match(r"= (\d+) ", line or "")
    return int(found.group(1)) if found else None


def first_difference(native, remote):
    """(native's line, the other's) where they differ first, or None."""
    for left, right in zip(native.lines + [None] * len(remote.lines), remote.lines + [None] * len(native.lines)):
        if left != right:
            return left, right
        if left is None:
            return None
    return None


def has_failed(line):
    return re.search(r"\| cu\w+ [1-9]\d*\b", line) is not None


class Comparison:
    """All runs of one call of this program."""

    def __init__(self, options, bed, server):
        self.options, self.bed, self.server = options, bed, server
        self.lock, self.begin = threading.Lock(), time.monotonic()
        self.found, self.counts, self.native_ends, self.sequences, self.steps = {}, {}, {}, 0, 0
        self.programs = {plan: self.program_of(plan) for plan in options.plans}

    def left_s(self):
        return self.options.budget - (time.monotonic() - self.begin)

    def run(self, way, plan, seed, mode, skip=()):
        command = [self.programs[plan], "--seed", str(seed), "--steps", str(self.options.steps), "--skip", ranges(skip)]
        if areas_of(plan):
            command += ["--only", areas_of(plan)]
        if way == EXACT:
            command += ["--errors-now"]
        if self.options.risks:
            command += ["--risks", self.options.risks]
        plant = {"AITHERION_DIFFERENTIAL_PLANT": self.options.plant} if self.options.plant and mode != beds.NATIVE else {}
        if mode != beds.NATIVE:
            self.server.check()
        env = self.bed.environment(mode, self.server, **plant)
        if plan in RUNTIME_PLANS:
            env["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [env["LD_LIBRARY_PATH"], *groups.toolkit_libraries()]))
        outcome = beds.run(command, env, self.options.limit, os.path.join(self.bed.scratch, "work"), None)
        with self.lock:
            self.sequences += 1
        return Sequence(outcome)

    def program_of(self, plan):
        if plan in RUNTIME_PLANS:
            return groups.nvcc_program(groups.RUNTIME_SEQUENCES)(self.bed)[0]
        return os.path.join(self.bed.build, "tests", "gpu", "differential", "differential")

    # ---- one seed ----

    def seed(self, plan, seed):
        for way in WAYS:
            for mode in self.options.modes:
                if self.left_s() > 0:
                    self.seed_in(way, plan, seed, mode)

    def seed_in(self, way, plan, seed, mode):
        """Differences of a seed in one mode: each is left out for the next round."""
        skip = set()
        for _ in range(ROUNDS):
            native = self.native(way, plan, seed, skip)
            if native is None or self.left_s() <= 0:
                return
            pair = first_difference(native, self.run(way, plan, seed, mode, skip))
            with self.lock:
                self.steps += len(native.lines)
            if not pair:
                return
            step = next((step_of(line) for line in pair if step_of(line) is not None), None)
            step = self.note(Difference(way, plan, seed, mode, step, *pair), skip)
            if step is None:
                return
            skip.add(step)

    def native(self, way, plan, seed, skip):
        """A native sequence to its end, or None. Steps that the driver does not survive are left out and noted; in the valid way also
        steps that fail."""
        for i in range(ROUNDS):
            native = self.run(way, plan, seed, beds.NATIVE, skip)
            if native.is_whole:
                failed = {step_of(line) for line in native.lines if way == VALID and has_failed(line)} - {None}
                if not failed or i > ROUNDS // 2:
                    return native
                skip |= failed
                continue
            step = step_of(native.lines[-1]) if native.lines else None
            with self.lock:
                line = native.lines[-1] if native.lines else native.output[-300:]
                self.native_ends.setdefault(operation_of(line), f"{plan} {seed}: {line}")
            if step is None or native.is_skipped:
                return None
            skip.add(step)
        return None

    def note(self, difference, skip):
        """Keeps a difference. Returns the step to leave out, or None if no step is known."""
        with self.lock:
            is_new = difference.key not in self.found
            self.counts[difference.key] = self.counts.get(difference.key, 0) + 1
            if is_new:
                self.found[difference.key] = difference
        if is_new and not self.reason(difference):
            self.shrink(difference, skip)
        if difference.step is not None:
            return difference.step
        return max(difference.needed) if difference.needed else None

    # ---- a short sequence ----

    def still_differs(self, difference, skip):
        native, remote = (self.run(difference.way, difference.plan, difference.seed, mode, skip) for mode in (beds.NATIVE, difference.mode))
        pair = first_difference(native, remote)
        if not pair or not native.is_whole:
            return None
        again = Difference(difference.way, difference.plan, difference.seed, difference.mode, difference.step, *pair)
        return native.lines if again.key == difference.key else None

    def shrink(self, difference, skip):
        """Leaves out steps as long as the difference stays."""
        first = self.run(difference.way, difference.plan, difference.seed, beds.NATIVE, skip)
        second = self.run(difference.way, difference.plan, difference.seed, beds.NATIVE, skip)
        difference.is_chance = first.lines != second.lines or not any(self.still_differs(difference, skip) for _ in range(3))
        if difference.is_chance:
            return
        last = difference.step if difference.step is not None else self.options.steps - 1
        kept = [step for step in range(last + 1) if step not in skip]
        after, size, tries = set(range(last + 1, self.options.steps)), max(1, len(kept) // 2), 0
        lines = None
        while size and kept:
            i = 0
            while i < len(kept) and tries < self.options.tries and self.left_s() > 0:
                fewer = kept[:i] + kept[i + size:]
                tries += 1
                got = self.still_differs(difference, set(range(last + 1)) - set(fewer) | after) if last in fewer or difference.step is None else None
                if got:
                    kept, lines = fewer, got
                else:
                    i += size
            size //= 2
        difference.needed = kept
        difference.lines = [line for line in lines or [] if step_of(line) is not None]

    def all(self):
        seeds = [(plan, seed) for seed in self.options.seeds for plan in self.options.plans]
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            for future in [pool.submit(self.seed, *one) for one in seeds]:
                future.result()

    # ---- the report ----

    def command_line(self, difference):
        skip = ranges(set(range(self.options.steps)) - set(difference.needed or range(self.options.steps)))
        only = f" --only {areas_of(difference.plan)}" if areas_of(difference.plan) else ""
        only += " --errors-now" if difference.way == EXACT else ""
        return f"--seed {difference.seed} --steps {self.options.steps}{only} --risks '{self.options.risks}' --skip {skip}"

    def reason(self, difference):
        return difference.reason(self.options.sim)

    def unknown(self):
        return [one for one in self.found.values() if not self.reason(one) and not one.is_chance]

    def show(self):
        for one in sorted(self.unknown(), key=lambda each: -self.counts[each.key]):
            print(f"\n{one.key}: {self.counts[one.key]} times, {one.plan}, {one.mode}, {one.way}\n  native {words_of(one.native, one.remote)}\n"
                  f"  here   {words_of(one.remote, one.native)}")
            for line in one.lines[:-1] if one.step is not None else one.lines:
                print(f"    {line}")
            print(f"    {self.command_line(one)}")
        for title, rows in [("by chance, natively too or not again", [one.native for one in self.found.values() if one.is_chance]),
                            ("known", sorted({f"{self.reason(one)}: {one.key}" for one in self.found.values() if self.reason(one)})),
                            ("the driver itself ended", self.native_ends.values()),
                            ("a session crashed", self.server.crashes())]:
            print("".join(f"\n{title}: {str(row)[:300]}" for row in rows))

    def save(self, path):
        beds.save(path, {"sequences": self.sequences, "steps": self.steps, "deaths": self.server.deaths, "crashes": self.server.crashes(),
                         "native_ends": self.native_ends,
                         "differences": [{"key": one.key, "count": self.counts[one.key], "plan": one.plan, "seed": one.seed,
                                          "mode": one.mode, "way": one.way, "native": one.native, "here": one.remote, "known": self.reason(one),
                                          "chance": one.is_chance, "lines": one.lines, "command": self.command_line(one)}
                                         for one in self.found.values()]})


def areas_of(plan):
    return {**PLANS, **RUNTIME_PLANS}[plan]


def ranges(numbers):
    """'1,3-5' of {1, 3, 4, 5}."""
    words, run = [], []
    for number in [*sorted(numbers), None]:
        if run and number != run[-1] + 1:
            words.append(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]))
            run = []
        run.append(number)
    return ",".join(words)


def numbers(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plans", nargs="*", metavar="PLAN", help="(default: all)")
    parser.add_argument("--build", metavar="FOLDER", help="as of tests/gpu/run")
    parser.add_argument("--out", metavar="FOLDER", default=os.environ.get("OUT"), help="for differential.json (default: $OUT)")
    parser.add_argument("--sim", action="store_true", default="AITHERION_SIM_DEVICES" in os.environ, help="the simulated driver in place of a GPU")
    parser.add_argument("--modes", default=os.environ.get("AITHERION_TEST_MODE", "shm,tcp"), type=lambda text: text.split(","), help="(default: shm,tcp)")
    parser.add_argument("--seeds", default="1-1000", type=numbers, metavar="A-B", help="(default: 1-1000)")
    parser.add_argument("--steps", default=150, type=int, help="of a sequence (default: 150)")
    parser.add_argument("--budget", default=150, type=float, metavar="SECONDS", help="what has not begun by then is left out (default: 150)")
    parser.add_argument("--jobs", type=int, default=max(1, min(6, (os.cpu_count() or 2) // 2)), help="sequences at a time")
    parser.add_argument("--limit", type=float, default=LIMIT_S, metavar="SECONDS", help=f"of one sequence (default: {LIMIT_S})")
    parser.add_argument("--tries", type=int, default=TRIES, help=f"sequences to shrink one (default: {TRIES})")
    parser.add_argument("--risks", help="wrong arguments that sequences have: null, foreign, twice (default: null; with --sim all)")
    parser.add_argument("--plant", metavar="FUNCTION", help="through aitherion this function does nothing: a difference to be found")
    parser.add_argument("--list", action="store_true", help="the plans and their areas")
    options = parser.parse_args()
    if options.risks is None:
        options.risks = "null,foreign,twice" if options.sim else "null"
    options.plans = options.plans or list(PLANS)
    strange = set(options.plans) - set(PLANS) - set(RUNTIME_PLANS)
    if strange:
        parser.error(f"no plan '{strange.pop()}': {', '.join([*PLANS, *RUNTIME_PLANS])}")
    return options


def main():
    options = parse()
    if options.list:
        print("\n".join(f"{plan}: {areas or 'all areas'}" for plan, areas in {**PLANS, **RUNTIME_PLANS}.items()))
        return 0
    build = beds.find_build(options.build or os.environ.get("AITHERION_TEST_BUILD"))
    if not build:
        sys.exit("tests/gpu/differential.py: no aitherion-runtime: build it, or say --build FOLDER")
    scratch = tempfile.mkdtemp(prefix="aitherion-differential-")
    try:
        return compare(options, beds.Bed(build, scratch, options.sim))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def compare(options, bed):
    if not bed.gpus():
        print("skipped: no GPU with NVIDIA's driver here (--sim takes the simulated one)")
        return SKIPPED
    with beds.Server(bed) as server:
        try:
            comparison = Comparison(options, bed, server)
        except groups.Skipped as reason:
            print(f"skipped: {reason}")
            return SKIPPED
        try:
            comparison.all()
        finally:
            comparison.show()
            if options.out:
                os.makedirs(options.out, exist_ok=True)
                comparison.save(os.path.join(options.out, "differential.json"))
    print(f"{comparison.sequences} sequences, {comparison.steps} steps compared, {len(comparison.unknown())} kinds of differences, "
          f"{len(server.deaths)} ends of the server, {len(server.crashes())} crashes of sessions; {time.monotonic() - comparison.begin:.0f} s")
    return 1 if comparison.unknown() or server.deaths or not comparison.steps else 0


if __name__ == "__main__":
    sys.exit(main())
