"""A figure of shares: what each program wanted and what it got."""
from plot import Figure, GOAL_COLOUR, WIDTH

COLOURS = ["#2563eb", "#ea580c", "#7c3aed"]


def shares(rows):
    """A line for each row of shares, from 0 to 100 %: a mark where the part should be, and a dot where it was."""
    rows = [row for row in rows if row["part"] == "shares" and "got" in row]
    if not rows:
        return None
    step, top, left, right = 26, 84, 300, WIDTH - 110
    figure = Figure(top + step * len(rows) + 46)
    bottom = top + step * len(rows)
    figure.text(24, 34, "Shares of a GPU's time, percent", "title")
    figure.text(24, 54, "green: wanted; dots: throughput, relative to alone; right: the greatest error in points", "small")
    for i in range(0, len(rows), 2):
        figure.add("rect", class_="band", x=12, y=top + step * i, width=WIDTH - 24, height=step)
    for tick in range(0, 101, 10):
        x = left + (right - left) * tick / 100
        figure.line(x, top, x, bottom)
        figure.text(x, bottom + 18, f"{tick}", "small middle")
    for i, row in enumerate(rows):
        y = top + step * (i + 0.5)
        figure.text(24, y + 4.5, row["name"])
        figure.text(WIDTH - 40, y + 4.5, f"{row['value']:.1f}", "end")
        for wanted in set(row["wanted"]):
            x = left + (right - left) * wanted / 100
            figure.line(x, y - 9, x, y + 9, "", stroke=GOAL_COLOUR, stroke_width=3)
        for number, got in enumerate(row["got"]):
            figure.dot(left + (right - left) * got / 100, y, COLOURS[number % len(COLOURS)])
    return figure.svg()
