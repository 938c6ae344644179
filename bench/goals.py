"""The goals of the runtime's design, and whether a result meets them.

`lupine` is what Lupine (the renamed scuda) took on the same work: measured on an H200 by TCP's loopback when the design was written,
so in another run than ours.
"""
import statistics

NATIVE, SHM, TCP, TLS = "native", "shm", "tcp", "tcp, TLS"


class Limit:
    """`is_met` is asked with medians: the value, and that of the way `than` in the same run. `times` is how many times as slow as native
    something may be, where the goal is about that."""

    def __init__(self, text, is_met, times=None, than=NATIVE):
        self.text, self.is_met, self.times, self.than = text, is_met, times, than


def times_native(most):
    return Limit(f"at most {most} x native", lambda value, native: value <= most * native, most)


def of_native(percent):
    return Limit(f"at least {percent} % of native", lambda value, native: value >= native * percent / 100, 100 / percent)


def at_most(most, unit):
    return Limit(f"at most {most} {unit}", lambda value, native: value <= most)


def at_least(least, unit):
    return Limit(f"at least {least} {unit}", lambda value, native: value >= least)


def more_than_native(most_us):
    return Limit(f"native and at most {most_us} us", lambda value, native: value <= native + most_us)


def of_plain(percent):
    return Limit(f"at least {percent} % of tcp without TLS", lambda value, plain: value >= plain * percent / 100, than=TCP)


def more_than_plain(most, unit):
    return Limit(f"tcp without TLS and at most {most} {unit}", lambda value, plain: value <= plain + most, than=TCP)


def line_and_native(round_trip_ms):
    return Limit(f"at most 1.1 x ({round_trip_ms} ms + native)", lambda value, native: value <= 1.1 * (round_trip_ms + native))


def both(limit):
    return {SHM: limit, TCP: limit}


def each(make, shm, tcp, *arguments):
    """The same kind of limit with two numbers."""
    return {SHM: make(shm, *arguments), TCP: make(tcp, *arguments)}


SLOW = {"tcp, 1 ms": line_and_native(1), "tcp, 30 ms": line_and_native(30)}


class Goal:
    def __init__(self, group, row, limits, lupine=""):
        self.group, self.row, self.limits, self.lupine = group, row, limits, lupine


GOALS = [
    Goal("issued", "x.add_(1) issued", both(times_native(1.1)), "14.4 us"),
    Goal("issued", "x.item()", {SHM: at_most(30, "us"), TCP: at_most(60, "us")}, "837 us"),
    Goal("copies", "1 GiB pinned to device", {SHM: of_native(90), TCP: at_least(6, "GB/s")}, "3.3 GB/s"),
    Goal("copies", "1 GiB pinned from device", {SHM: of_native(90), TCP: at_least(6, "GB/s")}, "0.84 GB/s"),
    Goal("copies", "1 GiB pageable to device", {SHM: of_native(80)}, "3.3 GB/s"),
    Goal("copies", "1 GiB pageable from device", {SHM: of_native(80)}, "1.1 GB/s"),
    Goal("models", "ResNet-50 inference, batch 1", both(times_native(1.10)), "8.8 ms (1.98x)"),
    Goal("models", "ResNet-50 training step, batch 64", both(times_native(1.05)), "63.0 ms (1.42x)"),
    Goal("models", "GPT-2 generates 64 tokens", both(times_native(1.10)), "fails"),
    Goal("compiled", "torch.compile with CUDA graphs", both(times_native(1.05)), "0.14 ms"),
    Goal("calls", "launch, issued", both(at_most(1, "us"))),
    Goal("calls", "launch to eight streams, issued", both(times_native(1))),
    Goal("calls", "memory taken and freed in a stream, issued", each(at_most, 2, 3, "us")),
    Goal("calls", "stream made and ended, issued", both(at_most(5, "us"))),
    Goal("calls", "launch, waited", each(times_native, 1.3, 2.5)),
    Goal("calls", "event recorded, waited", each(more_than_native, 4, 12)),
    Goal("calls", "host function, waited", each(more_than_native, 4, 12)),
    Goal("calls", "4 bytes from device to pinned, waited", each(times_native, 1.5, 3)),
    Goal("calls", "64 MiB managed, by turns", each(times_native, 2, 3)),
    Goal("threads", "eight threads, 256 KiB pinned to device", {SHM: of_native(90), TCP: at_least(8, "GB/s")}),
    Goal("threads", "eight threads, 256 KiB pinned from device", {SHM: of_native(90), TCP: at_least(8, "GB/s")}),
    Goal("loops", "Adam over 300 tensors, foreach", each(times_native, 1.05, 1.1)),
    Goal("loops", "Adam over 300 tensors, one by one", each(times_native, 1.05, 1.1)),
    Goal("loops", "LSTM cell, 64 steps, training", each(times_native, 1, 1.1)),
    Goal("loops", "192 pinned blocks to the device and back", each(times_native, 1, 1.3)),
    Goal("loops", "torch.compile with item()", each(times_native, 1, 1.2)),
    Goal("jax", "JAX training step", each(times_native, 1.05, 1.1)),
    Goal("start", "from cuInit to the end of the first kernel", each(times_native, 1.05, 1.1)),
    Goal("encrypted_copies", "1 GiB pinned to device", {TLS: at_least(6, "GB/s")}),
    Goal("encrypted_copies", "1 GiB pinned to device", {TLS: of_plain(70)}),
    Goal("encrypted_copies", "1 GiB pinned from device", {TLS: at_least(6, "GB/s")}),
    Goal("encrypted_copies", "1 GiB pinned from device", {TLS: of_plain(70)}),
    Goal("encrypted_calls", "4 bytes from device to pinned, waited", {TLS: more_than_plain(5, "us")}),
    Goal("encrypted_start", "from cuInit to the end of the first kernel", {TLS: more_than_plain(20, "ms")}),
    Goal("slow", "training step of 328 calls", SLOW),
    Goal("slow_models", "ResNet-50 training step, batch 64", SLOW),
]
# For work whose calls are counted: the number of calls that wait, in a step.
COUNTED = [("ResNet-50 training step", 4)]


def middle(row, way):
    values = row["values"].get(way)
    return statistics.median(values) if values else None


def is_speed(row):
    """More is better."""
    return row["unit"].endswith("/s")


def times_as_slow(row, way, than=NATIVE):
    """By medians; None where one is missing."""
    value, other = middle(row, way), middle(row, than)
    if not value or not other:
        return None
    return other / value if is_speed(row) else value / other


def judged(result):
    """[(goal, row, way, limit, is met)] of what was measured."""
    rows = {(row["group"], row["name"]): row for row in result["rows"]}
    for goal in GOALS:
        row = rows.get((goal.group, goal.row))
        for way, limit in goal.limits.items() if row else []:
            value, other = middle(row, way), middle(row, limit.than)
            if value is not None and other is not None and middle(row, NATIVE) is not None:
                yield goal, row, way, limit, limit.is_met(value, other)


def judged_counts(result):
    """[(work, calls that wait, the most, is met)]."""
    for work, most in COUNTED:
        if work in result.get("counts", {}):
            waiting = next((row["answers"] for row in result["counts"][work] if row["function"] == "altogether"), 0)
            yield work, waiting, most, waiting <= most
