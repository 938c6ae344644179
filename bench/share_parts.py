"""The measurements of bench/shares: shares of two and three programs, what turns cost, latency beside a training, cheaters."""
import contextlib
import os
import re
import statistics
import subprocess
import time

import bed as beds
import catalogue
import parties

RATIOS = [(10, 90), (25, 75), (50, 50), (10, 20, 70)]
KINDS = {"kernels": "10 ms kernels", "issued": "5 us kernels, issued", "loop": "launch and wait", "graphs": "graphs", "steps": "steps with pauses",
         parties.TORCH: "PyTorch"}
MIXED = ["kernels", "issued", "loop"]
CHEATERS = ["streams", "threads", "contexts", "children", "clearing", "graphs", "unwaited", "callbacks", "called", "long", "loop"]
SESSIONS = 8
ALONE = 99  # number of a party that is alone
HELD = re.compile(r'^aitherion_runtime_session_turn_held_seconds_total\{.*\bprocess="(\d+)".*\} (\S+)$', re.M)
LONGEST_KERNEL_MS = 0.3  # of the training beside which latency is measured


class Row:
    """One figure. `limit`: (word, number) of the design's goal, "at most" or "at least"; None: there is no goal."""

    def __init__(self, part, name, value, unit, limit=None, **details):
        self.part, self.name, self.value, self.unit, self.limit, self.details = part, name, value, unit, limit, details

    def is_met(self):
        if not self.limit:
            return None
        word, number = self.limit
        return self.value <= number if word == "at most" else self.value >= number

    def saved(self):
        return {"part": self.part, "name": self.name, "value": self.value, "unit": self.unit, "goal": self.limit, "is_met": self.is_met(),
                **self.details}


class Bench:
    """Starts servers and parties. `seconds` is the time of a row, which its rounds divide. `edge_s` before and behind
    each round all work, and nothing counts. `load`: a part of the names of the rows that shares() measures."""

    def __init__(self, bed, seconds, rounds, transport, load=""):
        self.bed, self.seconds, self.rounds, self.transport, self.load = bed, seconds, rounds, transport, load
        self.edge_s = min(2, seconds / 12)
        self.gpu_file = os.path.join(bed.scratch, "gpu")
        self.variables = {"AITHERION_SIM_GPU": self.gpu_file, "AITHERION_SIM_DEVICES": 1} if bed.is_sim else {}
        self.loops = self.count_loops()

    def count_loops(self):
        env = self.bed.environment(beds.NATIVE, srcdir=parties.SOURCE, **self.variables)
        outcome = beds.run([os.path.join(self.bed.build, "bench", "party"), "loops"], env, 60, os.path.join(self.bed.scratch, "loops"))
        if outcome.code:
            raise RuntimeError(f"bench/party loops: {outcome.output}")
        return outcome.output.strip().splitlines()[-1]

    @contextlib.contextmanager
    def server(self, sharing="auto", rows="", keys=()):
        """rows: of identities, of which each has a key."""
        options = ["--sharing", sharing]
        if keys:
            folder = os.path.join(self.bed.scratch, "keys")
            os.makedirs(folder, exist_ok=True)
            for name in keys:
                with open(os.open(os.path.join(folder, name), os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as file:
                    file.write(os.urandom(32))
            path = os.path.join(self.bed.scratch, "identities")
            with open(path, "w", encoding="ascii") as file:
                file.write(rows)
            options += ["--key", folder, "--identities", path]
        with beds.Server(self.bed, *options, variables=self.variables) as server:
            yield server

    def party(self, server, kind, number, share=None, priority=None, key=None, **variables):
        asked = [*(["--share", str(share)] if share else []), *(["--priority", priority] if priority else [])]
        key_file = os.path.join(self.bed.scratch, "keys", key) if key else self.bed.key
        prefix = [os.path.join(self.bed.build, "aitherion"), "run", "--server", server.place(self.transport), "--key", key_file, *asked, "--"]
        env = self.bed.environment(self.transport, server, AITHERION_KEY_FILE=key_file)
        return parties.Party(self.bed.build, kind, number, env, prefix, BENCH_LOOPS=self.loops, **variables)

    @contextlib.contextmanager
    def parties(self, server, wanted):
        """wanted: (kind, options of party()) of each."""
        with contextlib.ExitStack() as stack:
            yield [stack.enter_context(self.party(server, kind, number, **options)) for number, (kind, options) in enumerate(wanted, 1)]

    def slices(self):
        """(seconds, whether the order is turned round) of each round."""
        return [(self.seconds / self.rounds, bool(i % 2)) for i in range(self.rounds)]


def worked(rate, who):
    """The rate, by which others are divided."""
    if not rate:
        raise RuntimeError(f"{who} did no work in a whole round: measure for longer (--seconds), or on a machine that is less busy")
    return rate


def alone(party, seconds, edge_s=0):
    return worked(parties.rate(parties.together([party], seconds, edge_s=edge_s)[0]), f"{party.kind} alone")


def rates_alone(bench, server, wanted):
    """{kind: the rate of a program of this kind, with nothing else at the server}"""
    found = {}
    for kind, options in dict(wanted).items():
        with bench.party(server, kind, ALONE, **options) as party:
            found[kind] = alone(party, bench.seconds / 4, bench.edge_s)
    return found


def held_s(bench, server, group):
    """The seconds for which each of the parties has had the GPU, by the server's books; it has them of each session by its process."""
    command = [os.path.join(bench.bed.build, "aitherion"), "metrics", "--server", server.place(bench.transport), "--key", bench.bed.key]
    page = subprocess.run(command, env=bench.bed.base_environment(), text=True, stdout=subprocess.PIPE, check=True).stdout
    found = {int(pid): float(value) for pid, value in HELD.findall(page)}
    return [found.get(party.process.pid, 0) for party in group]


def measured_round(bench, server, group, seconds, is_reversed):
    """(the parties' throughputs, their parts of the time for which one of them had the GPU)"""
    books = []
    results = parties.together(group, seconds, is_reversed, bench.edge_s, lambda: books.append(held_s(bench, server, group)))
    held = [after - before for before, after in zip(*books)]
    return [parties.rate(result) for result in results], [one / (sum(held) or 1) for one in held]


def measured_shares(bench, server, groups):
    """For each of groups (lists of parties): the throughputs of its parties by round, relative to alone, and their parts of the GPU's time.
    Alone is measured before and after all groups: a program that rests between the rounds would be owed time, so no party waits while
    another one is measured alone."""
    everyone = [one for wanted in groups for one in wanted]
    before, found = rates_alone(bench, server, everyone), []
    for wanted in groups:
        with bench.parties(server, wanted) as group:
            found.append([measured_round(bench, server, group, seconds, is_reversed) for seconds, is_reversed in bench.slices()])
    after = rates_alone(bench, server, everyone)
    return [([[2 * rate / (before[kind] + after[kind]) for rate, (kind, _) in zip(rates, wanted)] for rates, _ in rounds],
             [held for _, held in rounds]) for rounds, wanted in zip(found, groups)]


def medians(rounds):
    return [statistics.median(column) for column in zip(*rounds)]


def distance(got, wanted):
    return max(abs(one - other) for one, other in zip(got, wanted))


def share_rows(part, name, wanted, measured):
    """The greatest distance of a party's part from the wanted one, and the sum of all."""
    relative, held = measured
    sums = [worked(sum(one), f"{name}: all programs together") for one in relative]
    got = [100 * part for part in medians([[value / every for value in one] for one, every in zip(relative, sums)])]
    by_books = [100 * part for part in medians(held)]
    parts = [100 * wish / sum(wanted) for wish in wanted]
    return [Row(part, name, distance(got, parts), "points", ("at most", 2), wanted=parts, got=got, held=by_books, rounds=relative),
            Row(part, f"{name}, by the server's books", distance(by_books, parts), "points"),
            Row(part, f"{name}, sum", 100 * statistics.median(sums), "% of one alone", ("at least", 97))]


def loads():
    """(name, the kinds of the parties by their order, what lacks)."""
    for kind, name in KINDS.items():
        yield name, [kind] * 3, catalogue.lacks("torch") if kind == parties.TORCH else None
    yield "one of each", MIXED, None


def shares(bench, note, left_out):
    with bench.server() as server:
        for name, kinds, lacks in loads():
            ratios = {f"{name}, {':'.join(map(str, ratio))}": ratio for ratio in RATIOS}
            ratios = {title: ratio for title, ratio in ratios.items() if bench.load in title}
            if lacks and ratios:
                left_out(f"shares, {name}: {lacks}")
            if lacks or not ratios:
                continue
            groups = [[(kinds[i], {"share": share}) for i, share in enumerate(ratio)] for ratio in ratios.values()]
            for (title, ratio), measured in zip(ratios.items(), measured_shares(bench, server, groups)):
                note(share_rows("shares", title, ratio, measured))


def sessions(bench, note, _):
    """Without a claim, as a server takes them whose document says so."""
    with bench.server("turns") as server:
        wanted = [("kernels", {"BENCH_KERNEL_US": 1000})] * SESSIONS
        note(share_rows("sessions", f"{SESSIONS} sessions, 1 ms kernels", [1] * SESSIONS, measured_shares(bench, server, [wanted])[0]))


def turns(bench, note, _):
    """A program alone at a server that takes turns, and at one that never does."""
    with bench.server("turns") as with_turns, bench.server("free") as without:
        for kind, name in KINDS.items():
            if kind == parties.TORCH and catalogue.lacks("torch"):
                continue
            with bench.party(with_turns, kind, 1) as one, bench.party(without, kind, 1) as other:
                slower = []
                for seconds, is_reversed in bench.slices():
                    order = [other, one] if is_reversed else [one, other]
                    rates = {party: alone(party, seconds) for party in order}
                    slower.append(100 * (rates[other] / rates[one] - 1))
                note([Row("turns", f"{name}, alone", statistics.median(slower), "% slower with turns", ("at most", 1), rounds=slower)])


def latency(bench, note, _):
    """A small inference with a high priority, beside a training."""
    with bench.server() as server:
        with bench.parties(server, [("inference", {"priority": "high"}), ("training", {})]) as (small, training):
            single, beside, rates, alones = [], [], [], []
            for seconds, is_reversed in bench.slices():
                single.append(parties.together([small], seconds)[0]["p99_ms"])
                alones.append(alone(training, seconds))
                results = parties.together([small, training], seconds, is_reversed)
                beside.append(results[0]["p99_ms"])
                rates.append(parties.rate(results[1]))
            before, after = statistics.median(single), statistics.median(beside)
            note([Row("latency", "p99 of the inference alone", before, "ms", rounds=single),
                  Row("latency", "p99 beside a training", after, "ms", ("at most", 1.5 * before + LONGEST_KERNEL_MS), rounds=beside),
                  Row("latency", "the training meanwhile", 100 * statistics.median(rates) / statistics.median(alones), "% of alone")])


def killed(bench, note, _):
    """How long a program waits for its next result when the one that has the turn is killed."""
    for kind in ("kernels", "issued", "graphs", "long"):
        stalls = []
        with bench.server() as server:
            for _ in range(bench.rounds):
                with bench.parties(server, [("loop", {"share": 50}), (kind, {"share": 50})]) as (other, holder):
                    seconds = max(bench.seconds / bench.rounds, 0.3)
                    holder.go(60)
                    time.sleep(seconds / 3)
                    other.go(seconds)
                    time.sleep(seconds / 3)
                    holder.kill()
                    stalls.append(other.result()["stall_ms"])
        note([Row("killed", f"{kind}: longest stall of the other", statistics.median(stalls), "ms",
                  ("at most", 100) if kind != "long" else None, rounds=stalls)])


def cheaters(bench, note, _):
    """How much an honest program with half of the GPU keeps beside one of another identity that does all it can."""
    with bench.server(rows="honest share=50\ncheater share=50\n", keys=("honest", "cheater")) as server:
        for kind in CHEATERS:
            honest = ("kernels", {"key": "honest", "BENCH_KERNEL_US": 1000})
            before, kept = rates_alone(bench, server, [honest]), []
            with bench.parties(server, [honest, (kind, {"key": "cheater"})]) as group:
                for seconds, is_reversed in bench.slices():
                    result = parties.together(group, seconds, is_reversed, bench.edge_s)[0]
                    kept.append(100 * parties.rate(result) / before["kernels"])
                note([Row("cheaters", f"beside {kind}", statistics.median(kept), "% of alone kept of 50", ("at least", 48), rounds=kept)])


# In this order, the most valuable first.
PARTS = {"turns": turns, "latency": latency, "cheaters": cheaters, "shares": shares, "sessions": sessions, "killed": killed}
