"""docs/performance.md: what stands between its two marks, and its figures, are made of docs/performance.json.

That has up to three results as bench/run writes them: of a GPU ("gpu"), of the simulated driver ("sim"), and with optimisations
switched off ("switches"). A new one replaces the old one of its kind; several new ones of a kind are joined.
"""
import json
import os
import re
import sys

import catalogue
import plot
import table

DOCS = os.path.join(os.path.dirname(catalogue.HERE), "docs")
NAME = "performance"
BEGIN, END = "<!-- made by bench/run --page -->", "<!-- until here -->"
FIGURES = {"ratios": "Times as slow as native", "copies": "Copies by size", "clients": "Many programs at once"}
PLOTTED = ["issued", "models", "compiled", "calls", "steps"]
FACTS = {  # of the machine: words for the page
    "when": "measured", "aitherion": "aitherion", "gpu": "GPU", "gpus": "GPUs", "gpu_memory_gib": "GPU memory, GiB",
    "driver": "driver", "cuda": "CUDA of the driver", "cpu": "processor", "processors": "processors", "memory_gib": "memory, GiB",
    "kernel": "kernel", "python": "Python", "torch": "PyTorch", "transformers": "Transformers", "triton": "Triton",
    "load_before": "load average before", "load_after": "and after",
}


def rounded(result):
    """With four digits of each value: more say nothing, and are many bytes."""
    if isinstance(result, float):
        return float(f"{result:.4g}")
    if isinstance(result, dict):
        return {key: rounded(value) for key, value in result.items()}
    if isinstance(result, list):
        return [rounded(value) for value in result]
    return result


def kind_of(result):
    return "switches" if "switches" in result else "sim" if result["is_simulated"] else "gpu"


def of_machine(result):
    facts = result["machine"]
    return table.markdown([["machine", ""]] + [[word, str(facts[name])] for name, word in FACTS.items() if name in facts], "---")


def of_left_out(result):
    words = [*result["left_out"], *(word.splitlines()[0] for word in result["failed"])]
    return "Left out: " + "; ".join(words) + "." if words else ""


def of_groups(result):
    for group in catalogue.GROUPS:
        rows = [row for row in result["rows"] if row["group"] == group.name]
        if rows:
            yield f"### {group.title}\n\n{table.markdown(table.of_rows(rows))}"


def of_counts(result):
    for work, rows in result.get("counts", {}).items():
        yield f"### Calls that travel: {work}\n\n{table.markdown(table.of_counts(rows))}"
        yield table.silent_names(rows)


def of_result(title, kind, result, names):
    """A chapter."""
    yield f"## {title}"
    yield of_machine(result)
    if result["rows"]:
        yield f"{result['rounds']} rounds in turn. Medians (times native's, spread: half the distance of the quartiles); of speeds more is better."
    lines = table.of_goals(result) if kind == "gpu" else []
    if len(lines) > 1:
        yield "### Goals\n\n" + table.markdown(lines, "---")
    for name in names:
        yield f"![{FIGURES[name]}]({NAME}-{kind}-{name}.svg)"
    yield from of_counts(result)
    yield from of_groups(result)
    yield of_left_out(result)


def of_switches(result):
    yield "## What each optimisation brings"
    yield of_machine(result)
    yield ("Times as slow without it (`AITHERION_DISABLE=NAME`), in the same run: 1.00x is no difference.\n\n"
           + table.markdown([["name", "what it does"]] + [list(pair) for pair in result["switches"].items()], "---"))
    for transport, lines in table.of_switches(result["rows"], result["switches"]):
        yield f"### By {transport}\n\n{table.markdown(lines)}"
    yield of_left_out(result)


def make(results):
    """{file in docs/: text}; of the page what stands between the marks."""
    files, parts = {}, []
    for kind, title in [("gpu", "On a GPU"), ("sim", "On the simulated driver")]:
        if kind in results:
            figures = plot.figures(results[kind], PLOTTED)
            files.update({f"{NAME}-{kind}-{name}.svg": svg for name, svg in figures.items()})
            parts += of_result(title, kind, results[kind], figures)
    if "switches" in results:
        parts += of_switches(results["switches"])
    files[f"{NAME}.md"] = "\n\n".join(filter(None, parts))
    return files


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def known():
    path = os.path.join(DOCS, NAME + ".json")
    return json.loads(read(path)) if os.path.exists(path) else {}


def files_of(results):
    """{path: whole text}."""
    files = {os.path.join(DOCS, name): text for name, text in make(results).items()}
    path = os.path.join(DOCS, NAME + ".md")
    before, rest = read(path).split(BEGIN)
    files[path] = before + BEGIN + "\n\n" + files[path] + "\n\n" + END + rest.split(END)[1]
    files[os.path.join(DOCS, NAME + ".json")] = compact(results)
    return files


def compact(results):
    """A line for each row, so that a diff can be read."""
    text = json.dumps(results, indent=1)
    return re.sub(r"\n {4,}(?=\S)|\n {3}(?=[\]}])", " ", text) + "\n"


def joined(one, other):
    """Two results of a kind, which were measured group by group; what both have is the other's, with what it left out of that."""
    groups = {row["group"] for row in other["rows"]}
    left_out = [line for line in one["left_out"] if re.split("[ :]", line)[0] not in groups]
    facts = {name: "; ".join(dict.fromkeys(str(part["machine"][name]) for part in (one, other) if name in part["machine"]))
             for name in {**one["machine"], **other["machine"]}}
    return {**one, "machine": facts, "rounds": min(one["rounds"], other["rounds"]),
            "rows": [row for row in one["rows"] if row["group"] not in groups] + other["rows"],
            "left_out": left_out + other["left_out"], "failed": one["failed"] + other["failed"],
            "counts": {**one.get("counts", {}), **other.get("counts", {})}}


def write(paths):
    """The exit code."""
    new = {}
    for path in paths:
        result = rounded(json.loads(read(path)))
        if result["is_quick"]:
            sys.exit(f"bench/run: the numbers of '{path}' say nothing (--quick)")
        kind = kind_of(result)
        new[kind] = joined(new[kind], result) if kind in new else result
    results = {**known(), **new}
    for path, text in files_of(results).items():
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        print(path)
    return 0
