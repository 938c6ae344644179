#!/usr/bin/env python3
"""Draws the board for Grafana from the data of a Prometheus, without Grafana: each panel with its title, unit, series and legend.

    tests/tools/board.py http://127.0.0.1:9090 MINUTES > board.svg

Panels without data are named on standard error, and the exit code is 1.
"""
import json
import os
import re
import sys
import time
import urllib.parse
import urllib.request
from xml.sax.saxutils import escape

BOARD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "etc", "grafana", "aitherion-board.json")
COLUMN, ROW, GAP = 50, 26, 6  # of the board's grid, in pixels
STEPS, RATE_S, LEGENDS = 60, 20, 4
COLOURS = ("#73bf69", "#f2cc0c", "#5794f2", "#ff780a", "#e02f44", "#b877d9", "#37872d", "#8ab8ff", "#fade2a", "#c4162a")
SUFFIXES = {"bytes": "B", "Bps": "B/s", "s": "s", "celsius": "°C", "watt": "W", "hertz": "Hz", "cps": "/s", "short": ""}


def number(value, unit):
    """A value as Grafana writes it, nearly: three digits and a prefix."""
    if unit == "percentunit":
        return f"{value * 100:.3g}%"
    base, prefixes = (1024, " KMGT") if unit == "bytes" else (1000, " kMGT")
    size, place = abs(value), 0
    while size >= base and place < len(prefixes) - 1:
        size, place = size / base, place + 1
    if unit == "s" and 0 < size < 0.1:
        return f"{value * 1e3:.3g} ms" if size >= 1e-3 else f"{value * 1e6:.3g} µs"
    return f"{size if value >= 0 else -size:.3g} {prefixes[place].strip()}{SUFFIXES[unit]}".strip()


class Prometheus:
    def __init__(self, url, minutes):
        self.url, self.end = url.rstrip("/"), int(time.time())
        self.begin = self.end - int(minutes * 60)
        self.step = max(5, (self.end - self.begin) // STEPS)

    def series(self, target):
        """[(legend, [(time, value)])] of a target of a panel."""
        query = target["expr"].replace("$__rate_interval", f"{max(RATE_S, 4 * self.step)}s").replace("$instance", ".*")
        words = urllib.parse.urlencode({"query": query, "start": self.begin, "end": self.end, "step": self.step})
        with urllib.request.urlopen(f"{self.url}/api/v1/query_range?{words}", timeout=60) as answer:
            result = json.load(answer)["data"]["result"]
        named = []
        for each in result:
            legend = re.sub(r"\{\{(\w+)\}\}", lambda match, labels=each["metric"]: labels.get(match[1], ""), target["legendFormat"])
            points = [(float(at), float(value)) for at, value in each["values"] if value not in ("NaN", "+Inf", "-Inf")]
            if points:
                named.append((" ".join(legend.split()), points))
        return named


def text(x, y, words, size=11, colour="#ccccdc", anchor="start"):
    return f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}">{escape(words)}</text>'


def lines_of(points, step, place):
    """The points of a series as lines, with a gap where values are missing."""
    pieces, last = [[]], None
    for at, value in points:
        if last is not None and at - last > 2.5 * step:
            pieces.append([])
        pieces[-1].append("{:.0f},{:.0f}".format(*place(at, value)))
        last = at
    return [" ".join(piece if len(piece) > 1 else piece * 2) for piece in pieces]


def chart(source, unit, named, box):
    x, y, width, height = box
    plot_x, plot_y = x + 58, y + 26
    plot_width, plot_height = width - 68, height - 26 - 22 - 13 * min(len(named), LEGENDS)
    most = max(value for _, points in named for _, value in points) or 1
    drawn = []

    def place(at, value):
        part = (at - source.begin) / (source.end - source.begin)
        return plot_x + part * plot_width, plot_y + plot_height - max(0, value) / (most * 1.05) * plot_height

    for part in (0, 0.5, 1):
        level = plot_y + plot_height * (1 - part / 1.05)
        drawn.append(f'<path d="M{plot_x} {level:.1f}h{plot_width}" stroke="#2c3235"/>')
        drawn.append(text(plot_x - 5, level + 4, number(most * part, unit), 10, "#8e8e8e", "end"))
        when = source.begin + part * (source.end - source.begin)
        drawn.append(text(plot_x + part * plot_width, plot_y + plot_height + 13, time.strftime("%H:%M", time.gmtime(when)), 10, "#8e8e8e",
                          ("start", "middle", "end")[int(part * 2)]))
    for i, (_, points) in enumerate(named):
        drawn += [f'<polyline points="{line}" fill="none" stroke="{COLOURS[i % len(COLOURS)]}" stroke-width="1.3"/>'
                  for line in lines_of(points, source.step, place)]
    for i, (legend, points) in enumerate(named[:LEGENDS]):
        more = f"  … {len(named) - LEGENDS} more" if i == LEGENDS - 1 and len(named) > LEGENDS else ""
        drawn.append(text(x + 10, y + height - 6 - 13 * (min(len(named), LEGENDS) - 1 - i), f"— {legend}: {number(points[-1][1], unit)}{more}", 10,
                          COLOURS[i % len(COLOURS)]))
    return drawn


def panel(source, one):
    """The drawing of a panel, and whether it has data."""
    at = one["gridPos"]
    x, y, width, height = at["x"] * COLUMN, at["y"] * ROW, at["w"] * COLUMN - GAP, at["h"] * ROW - GAP
    if one["type"] == "row":
        return [text(x + 4, y + 16, one["title"], 13, "#ffffff")], True
    named = [series for target in one["targets"] for series in source.series(target)]
    unit = one["fieldConfig"]["defaults"]["unit"]
    drawn = [f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="#181b1f" stroke="#2c3235"/>', text(x + 10, y + 17, one["title"], 12)]
    if not named:
        drawn.append(text(x + width / 2, y + height / 2 + 8, "No data", 13, "#8e8e8e", "middle"))
    elif one["type"] == "stat":
        drawn.append(text(x + width / 2, y + height / 2 + 16, number(named[0][1][-1][1], unit), 26, COLOURS[0], "middle"))
    else:
        drawn += chart(source, unit, named, (x, y, width, height))
    return drawn, bool(named)


def main():
    source = Prometheus(sys.argv[1], float(sys.argv[2]))
    with open(BOARD, encoding="utf-8") as file:
        panels = json.load(file)["panels"]
    height = max(one["gridPos"]["y"] + one["gridPos"]["h"] for one in panels) * ROW
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {24 * COLUMN} {height}" font-family="DejaVu Sans, sans-serif">')
    print('<rect width="100%" height="100%" fill="#111217"/>')
    empty = []
    for one in panels:
        drawn, has_data = panel(source, one)
        print("\n".join(drawn))
        empty += [] if has_data else [one["title"]]
    print("</svg>")
    if empty:
        sys.exit("no data: " + ", ".join(empty))


if __name__ == "__main__":
    main()
