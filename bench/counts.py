"""How often a program waits for its server: the calls that travel a step, by function, as AITHERION_CUDA_LOG=summary counts them.

A work is run twice, so often and more often: the difference is the steps', without what begins and ends a program.
"""
import concurrent.futures
import os
import re

import bed as beds
import catalogue

LIMIT_S = 120
PART = 0.3  # of the time budget, at most
LINE = re.compile(r"^aitherion\[\d+\]: +(\d+) calls +(\d+) answers +\d+ round trips +(\d+) bytes out +(\d+) in +[-\d.]+ ms +(\S+)$", re.M)
NUMBERS = ["calls", "answers", "bytes_out", "bytes_in"]
SLOW_LINE = "facts,spares"  # what a program does if its line is slow, and so does on a busy machine


def summed(output):
    """{function: numbers} of all processes of a program."""
    found = {}
    for *words, function in LINE.findall(output):
        numbers = found.setdefault(function, [0.0] * len(NUMBERS))
        found[function] = [before + float(word) for before, word in zip(numbers, words)]
    return found


def run_work(place, group, work, count, limit_s):
    way = catalogue.Way(catalogue.TCP, catalogue.TCP)  # TCP also counts the calls that shared memory saves
    env = place.environment(way, AITHERION_CUDA_LOG="summary", AITHERION_DISABLE=SLOW_LINE)
    command = [*catalogue.named(group).command(place.bed.build), work, str(count)]
    outcome = beds.run(command, env, limit_s, os.path.join(place.bed.scratch, "counts"))
    if outcome.code is None:
        raise TimeoutError(f"not done in {limit_s:.0f} s")
    if outcome.code:
        raise RuntimeError(f"'{work}' ended with code {outcome.code}: {outcome.output[-1000:]}")
    return summed(outcome.output)


def count_work(place, group, work, counts, limit_s):
    """The calls of one step: [{"function", "calls", "answers", ...}], calls that wait first."""
    with concurrent.futures.ThreadPoolExecutor(len(counts)) as pool:
        few, many = pool.map(lambda count: run_work(place, group, work, count, limit_s), counts)
    none = [0.0] * len(NUMBERS)
    rows = []
    for function, numbers in many.items():
        each = [(more - less) / (counts[1] - counts[0]) for more, less in zip(numbers, few.get(function, none))]
        if each[0]:
            rows.append({"function": function, **dict(zip(NUMBERS, each))})
    return sorted(rows, key=lambda row: (row["function"] == "altogether", -row["answers"], -row["calls"]))


def count_all(place, budget_s):
    """({work: rows}, what was left out, what failed); all of it at once, since what is counted is no time."""
    counted, left_out, words = {}, [], []
    place.server.check()

    def count(work, group, counts, needs):
        reason = catalogue.lacks(needs)
        if reason:
            left_out.append(f"calls of the {work}: {reason}")
            return
        try:
            counted[work] = count_work(place, group, work, counts, min(LIMIT_S, PART * budget_s))
        except TimeoutError as error:
            left_out.append(f"calls of the {work}: {error}")
        except RuntimeError as error:
            words.append(str(error))

    with concurrent.futures.ThreadPoolExecutor(len(catalogue.COUNTED)) as pool:
        for future in [pool.submit(count, *one) for one in catalogue.COUNTED]:
            future.result()
    return {work: counted[work] for work, *_ in catalogue.COUNTED if work in counted}, left_out, words
