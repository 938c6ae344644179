"""Figures of a result, as SVG: how many times as slow as native, copies by size, many programs at once."""
import html
import math

import goals
import table

WIDTH = 880
COLOURS = {"native": "#6b7280", "shm": "#2563eb", "tcp": "#ea580c"}
GOAL_COLOUR = "#16a34a"
STYLE = """
text { font: 13px -apple-system, "Segoe UI", "DejaVu Sans", Helvetica, Arial, sans-serif; fill: #1f2937; }
.title { font-size: 16px; font-weight: 600; } .small { font-size: 11.5px; fill: #6b7280; } .end { text-anchor: end; }
.middle { text-anchor: middle; } .paper { fill: #ffffff; stroke: #e5e7eb; } .grid { stroke: #e5e7eb; } .one { stroke: #6b7280; }
.band { fill: #f8fafc; }
@media (prefers-color-scheme: dark) {
  text { fill: #e5e7eb; } .small { fill: #9ca3af; } .paper { fill: #111827; stroke: #374151; } .grid { stroke: #374151; }
  .band { fill: #172033; } .one { stroke: #9ca3af; }
}
"""


class Figure:
    def __init__(self, height):
        self.height, self.parts = height, []

    def add(self, name, inside=None, **attributes):
        words = "".join(f' {key.rstrip("_").replace("_", "-")}="{html.escape(f"{value:.2f}" if isinstance(value, float) else str(value))}"'
                        for key, value in attributes.items())
        self.parts.append(f"<{name}{words}/>" if inside is None else f"<{name}{words}>{html.escape(inside)}</{name}>")

    def text(self, x, y, words, kind="", **attributes):
        self.add("text", words, x=float(x), y=float(y), class_=kind, **attributes)

    def line(self, x1, y1, x2, y2, kind="grid", **attributes):
        self.add("line", x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), class_=kind, **attributes)

    def dot(self, x, y, colour, radius=5):
        self.add("circle", cx=float(x), cy=float(y), r=radius, fill=colour)

    def path(self, points, colour, **attributes):
        words = " ".join(f"{'L' if i else 'M'}{x:.1f} {y:.1f}" for i, (x, y) in enumerate(points))
        self.add("path", d=words, fill="none", stroke=colour, stroke_width=2, stroke_linejoin="round", **attributes)

    def legend(self, names, y, with_goal=False):
        x = WIDTH - 24
        if with_goal:
            self.text(x, y + 4, "goal", "end")
            x -= 38
            self.line(x, y - 7, x, y + 7, "", stroke=GOAL_COLOUR, stroke_width=3)
            x -= 18
        for name in reversed(names):
            self.text(x, y + 4, name, "end")
            x -= 6.5 * len(name) + 18
            self.dot(x, y, COLOURS[name])
            x -= 18

    def svg(self):
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" width="{WIDTH}" height="{self.height}">\n'
                f"<style>{STYLE}</style>\n"
                f'<rect class="paper" x="0.5" y="0.5" width="{WIDTH - 1}" height="{self.height - 1}" rx="8"/>\n'
                + "\n".join(self.parts) + "\n</svg>\n")


def log_scale(low, high, start, end):
    """The position of a value between two points."""
    return lambda value: start + (end - start) * (math.log(value) - math.log(low)) / (math.log(high) - math.log(low))


def powers(low, high, base):
    """Powers of the base, from the last one below low to the first one above high."""
    first, last = math.floor(math.log(low, base) + 1e-9), math.ceil(math.log(high, base) - 1e-9)
    return [base ** i for i in range(first, max(last, first + 1) + 1)]


def ways_in(rows):
    return [way for way in COLOURS if any(way in row["values"] for row in rows)]


# ---- times native ----

def slower_rows(result, groups):
    """[(row, {way: times}, the goal's times or None)]"""
    wanted = {(goal.group, goal.row): goal for goal in goals.GOALS}
    for row in result["rows"]:
        times = {way: goals.times_as_slow(row, way) for way in [goals.SHM, goals.TCP]}
        times = {way: value for way, value in times.items() if value}
        goal = wanted.get((row["group"], row["name"]))
        if row["group"] in groups and times:
            yield row, times, goal and max((limit.times or 0 for limit in goal.limits.values()), default=0)


def ratios(result, groups):
    """A line for each row: dots on a scale of how many times as slow as native it is."""
    rows = list(slower_rows(result, groups))
    if not rows:
        return None
    step, top, left, right = 26, 84, 300, WIDTH - 150
    figure = Figure(top + step * len(rows) + 46)
    values = [value for _, times, _ in rows for value in times.values()]
    low, high = min(values + [0.9]), max(values + [1.9])
    ticks = powers(low, high, 2 if high / low < 100 else 10)
    place = log_scale(ticks[0], ticks[-1], left, right)
    bottom = top + step * len(rows)
    figure.text(24, 34, "Times as slow as native", "title")
    figure.text(24, 54, "left of 1x is faster than natively; each point is a ratio of medians of one run", "small")
    figure.legend([goals.SHM, goals.TCP], 30, any(goal for _, _, goal in rows))
    for i in range(0, len(rows), 2):
        figure.add("rect", class_="band", x=12, y=top + step * i, width=WIDTH - 24, height=step)
    for tick in ticks:
        figure.line(place(tick), top, place(tick), bottom, "one" if tick == 1 else "grid")
        figure.text(place(tick), bottom + 18, f"{tick:g}x", "small middle")
    for way, x in [(goals.SHM, right + 70), (goals.TCP, right + 128)]:
        figure.text(x, top - 8, way, "small end")
    for i, (row, times, goal) in enumerate(rows):
        y = top + step * (i + 0.5)
        figure.text(24, y + 4.5, row["name"])
        if goal:
            figure.line(place(goal), y - 9, place(goal), y + 9, "", stroke=GOAL_COLOUR, stroke_width=3)
        for (way, value), x in zip(times.items(), [right + 70, right + 128]):
            figure.dot(place(value), y, COLOURS[way])
            figure.text(x, y + 4.5, table.times(value), "end")
    return figure.svg()


# ---- lines ----

def panel(figure, title, box, lines, x_ticks, y_ticks, x_words):
    """One diagram with logarithmic axes: lines is {way: [(x, y)]}."""
    left, top, right, bottom = box
    across, up = log_scale(x_ticks[0], x_ticks[-1], left, right), log_scale(y_ticks[0], y_ticks[-1], bottom, top)
    figure.text(left, top - 12, title)
    for tick in y_ticks:
        figure.line(left, up(tick), right, up(tick))
        figure.text(left - 8, up(tick) + 4, f"{tick:g}", "small end")
    for tick, word in zip(x_ticks, x_words):
        figure.text(across(tick), bottom + 18, word, "small middle")
    for way, points in lines.items():
        places = [(across(x), up(y)) for x, y in points]
        figure.path(places, COLOURS[way])
        for x, y in places:
            figure.dot(x, y, COLOURS[way], 3.5)


UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def copies(result):
    """Speed by size: pinned and pageable, to the device and from it."""
    rows = [row for row in result["rows"] if row["group"] == "copies"]
    found = {}
    for row in rows:
        amount, unit, what = row["name"].split(maxsplit=2)
        for way in ways_in([row]):
            found.setdefault(what, {}).setdefault(way, []).append((int(amount) * UNITS[unit], goals.middle(row, way)))
    sizes = sorted({size for lines in found.values() for points in lines.values() for size, _ in points})
    if len(sizes) < 2:
        return None
    words = [table_word(size) for size in sizes]
    speeds = [speed for lines in found.values() for points in lines.values() for _, speed in points]
    ticks = powers(min(speeds), max(speeds), 10)
    figure = Figure(600)
    figure.text(24, 34, "Copies by size in bytes, GB/s", "title")
    figure.legend(ways_in(rows), 30)
    for i, (what, lines) in enumerate(found.items()):
        left, top = 64 + 420 * (i % 2), 92 + 260 * (i // 2)
        panel(figure, what, (left, top, left + 360, top + 190), lines, sizes, ticks, words)
    return figure.svg()


def table_word(size):
    unit = next(name for name in reversed(UNITS) if size >= UNITS[name])
    return f"{size // UNITS[unit]}{unit[0]}"


def clients(result):
    """Calls of all programs together by how many there are."""
    rows = [row for row in result["rows"] if row["group"] == "clients" and row["name"].endswith("calls of all")]
    lines = {}
    for row in rows:
        for way in ways_in([row]):
            lines.setdefault(way, []).append((int(row["name"].split()[0]), goals.middle(row, way)))
    counts = sorted({count for points in lines.values() for count, _ in points})
    if len(counts) < 2:
        return None
    rates = [rate for points in lines.values() for _, rate in points]
    figure = Figure(400)
    figure.text(24, 34, "Many programs at once: thousand calls of all in a second", "title")
    figure.legend(ways_in(rows), 30)
    panel(figure, "", (76, 76, WIDTH - 40, 336), lines, counts, powers(min(rates), max(rates), 10), map(str, counts))
    figure.text((76 + WIDTH - 40) / 2, 380, "programs", "small middle")
    return figure.svg()


def figures(result, groups):
    """{name: SVG} of those that there are numbers for."""
    found = {"ratios": ratios(result, groups), "copies": copies(result), "clients": clients(result)}
    return {name: svg for name, svg in found.items() if svg}
