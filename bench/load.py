"""Shared by the measuring programs in Python: they print "ready", measure once for each line on standard input, print rows and "done".

Each is a generator: what stands before its first yield prepares, and each step measures. bench/run starts them (load.h: those in C).
"""
import json
import os
import statistics
import time

IS_QUICK = "BENCH_QUICK" in os.environ


def row(name, value, unit):
    print(json.dumps([name, value, unit]), flush=True)


def times(count):
    """So many times, or few where it is quick."""
    return count // 40 + 1 if IS_QUICK else count


def synchronized(function):
    import torch  # here, since not all programs have it

    def call():
        function()
        torch.cuda.synchronize()
    return call


def single(function, count):
    """Seconds of one call: the median of so many."""
    taken = []
    for _ in range(times(count)):
        begin = time.perf_counter()
        function()
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


def issue(function, count):
    """Seconds of one call, from many calls without an answer."""
    import torch
    count = times(count)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(count):
        function()
    seconds = (time.perf_counter() - begin) / count
    torch.cuda.synchronize()
    return seconds


def serve(steps):
    """Until standard input ends."""
    next(steps)
    print("ready", flush=True)
    try:
        while input():
            next(steps)
            print("done", flush=True)
    except EOFError:
        pass
