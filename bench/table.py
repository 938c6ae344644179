"""Numbers as text: medians, spread, times native's; tables for a terminal and for the page."""
import statistics

import goals

NATIVE = goals.NATIVE


def number(value):
    """With three digits that say something, and never as 1e+03."""
    if value == 0:
        return "0"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    return f"{value:,.{digits}f}"


def times(ratio):
    return f"{ratio:.2f}x" if ratio < 10 else f"{number(ratio)}x"


def spread(values):
    """Half the distance between the quartiles, in percent of the median."""
    if len(values) < 2:
        return ""
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{50 * (high - low) / middle:.0f} %" if middle else ""


def compared_with(row, way):
    """Native, or one server where a way is of two; None: nothing was measured that it could be compared with."""
    other = NATIVE if goals.middle(row, NATIVE) else way.split(",")[0]
    return other if other != way and goals.middle(row, other) else None


def cell(row, way, with_spread=True):
    """"12.3 (1.05x, 3 %)": median, times native's (or one server's), spread."""
    values = row["values"].get(way)
    if not values:
        return "-"
    facts = [spread(values)] if with_spread else []
    other = compared_with(row, way)
    if other:
        facts.insert(0, times(statistics.median(values) / goals.middle(row, other)))
    words = ", ".join(filter(None, facts))
    return number(statistics.median(values)) + (f" ({words})" if words else "")


def ways_of(rows):
    """Names, in the order of their first use."""
    return list(dict.fromkeys(way for row in rows for way in row["values"]))


def of_rows(rows):
    """A table of a group's rows: its head and lines."""
    ways = ways_of(rows)
    return [["", "unit", *ways]] + [[row["name"], row["unit"], *(cell(row, way) for way in ways)] for row in rows]


def of_goals(result):
    lines = [["work", "native", "Lupine, tcp", "way", "here", "goal", ""]]
    seen = None
    for goal, row, way, limit, is_met in goals.judged(result):
        first = [row["name"], f"{cell(row, NATIVE, False)} {row['unit']}", goal.lupine] if goal is not seen else ["", "", ""]
        lines.append([*first, way, f"{number(goals.middle(row, way))} {row['unit']}"
                      + f" ({times(goals.middle(row, way) / goals.middle(row, NATIVE))})", limit.text, "met" if is_met else "MISSED"])
        seen = goal
    for work, waiting, most, is_met in goals.judged_counts(result):
        lines.append([f"calls that wait, {work}", "", "4", "tcp", number(waiting), f"at most {most}", "met" if is_met else "MISSED"])
    return lines


def is_silent(row):
    return not row["answers"] and row["function"] != "altogether"


def of_counts(rows):
    """The functions of a work; those that never wait take one line."""
    def line(name, keys):
        return [name, *(number(value) for value in keys)]

    silent = [row for row in rows if is_silent(row)]
    keys = ["calls", "answers", "bytes_out", "bytes_in"]
    lines = [line(row["function"], (row[key] for key in keys)) for row in rows if not is_silent(row)]
    if silent:
        lines.insert(-1, line("those without a wait", (sum(row[key] for row in silent) for key in keys)))
    return [["function", "calls", "that wait", "bytes sent", "bytes back"], *lines]


def silent_names(rows):
    words = ", ".join(f"{row['function']} {number(row['calls'])}" for row in rows if is_silent(row))
    return f"Without a wait: {words}." if words else ""


def of_switches(rows, switches):
    """How many times as slow a row is without each optimisation: (transport, table)."""
    for transport in [goals.SHM, goals.TCP]:
        chosen = [row for row in rows if transport in row["values"]]
        names = [name for name in switches if any(f"{transport} without {name}" in row["values"] for row in chosen)]
        lines = [["", "unit", transport, *names]]
        for row in chosen:
            found = [goals.times_as_slow(row, f"{transport} without {name}", transport) for name in names]
            lines.append([row["name"], row["unit"], number(goals.middle(row, transport)),
                          *(times(one) if one else "-" for one in found)])
        if names:
            yield transport, lines


def text(lines):
    """For a terminal."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join(" | ".join(word.ljust(width) for word, width in zip(line, widths)).rstrip() for line in lines)


def markdown(lines, numbers="---:"):
    """Numbers to the right."""
    def joined(words):
        return "| " + " | ".join(words) + " |"

    align = ["---" if i == 0 else numbers for i in range(len(lines[0]))]
    return "\n".join(map(joined, [lines[0], align, *lines[1:]]))
