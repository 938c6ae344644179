"""How often a program waits for its server: the calls that travel a step, by function, as AITHERION_CUDA_LOG=summary counts them.

A work is run twice, so often and more often: the difference is the steps', without what begins and ends a program.
"""
import concurrent.futures
import os
import re

import bed as beds
import catalogue
import measure

LIMIT_S = 120
LINE = re.compile(r"^aitherion\[\d+\]: +(\d+) calls +(\d+) answers +(\d+) bytes out +(\d+) in +([-\d.]+) ms +(\S+)$", re.M)
NUMBERS = ["calls", "answers", "bytes_out", "bytes_in", "waited_ms"]


def summed(output):
    """{function: numbers} of all processes of a program."""
    found = {}
    for *words, function in LINE.findall(output):
        numbers = found.setdefault(function, [0.0] * len(NUMBERS))
        found[function] = [before + float(word) for before, word in zip(numbers, words)]
    return found


def run_work(place, group, work, count, limit_s):
    way = catalogue.Way(catalogue.TCP, catalogue.TCP)  # which has what shared memory does without calls, too
    env = place.environment(way, AITHERION_CUDA_LOG="summary")
    command = [*catalogue.named(group).command(place.bed.build), work, str(count)]
    outcome = beds.run(command, env, limit_s, os.path.join(place.bed.scratch, "counts"))
    if outcome.code is None:
        raise TimeoutError(f"not done in {limit_s:.0f} s")
    if outcome.code:
        raise RuntimeError(f"'{work}' ended with code {outcome.code}: {outcome.output[-1000:]}")
    return summed(outcome.output)


def count_work(place, group, work, counts, limit_s):
    """Of one step: [{"function", "calls", "answers", ...}], those that wait first."""
    with concurrent.futures.ThreadPoolExecutor(len(counts)) as pool:  # what is counted is no time
        few, many = pool.map(lambda count: run_work(place, group, work, count, limit_s), counts)
    none = [0.0] * len(NUMBERS)
    rows = []
    for function, numbers in many.items():
        each = [(more - less) / (counts[1] - counts[0]) for more, less in zip(numbers, few.get(function, none))]
        if each[0]:
            rows.append({"function": function, **dict(zip(NUMBERS, each))})
    return sorted(rows, key=lambda row: (row["function"] == "altogether", -row["answers"], -row["calls"]))


def count_all(place, found, time_left_s):
    """{work: rows}; what goes wrong is told."""
    counted = {}
    for work, group, counts, needs in catalogue.COUNTED:
        reason = catalogue.lacks(needs)
        if reason or time_left_s() < 2:
            found.left_out.append(f"calls of the {work}: {reason or measure.LATE}")
            continue
        try:
            counted[work] = count_work(place, group, work, counts, min(LIMIT_S, time_left_s()))
        except TimeoutError as error:
            found.left_out.append(f"calls of the {work}: {error}")
        except RuntimeError as error:
            found.words.append(str(error))
    return counted
