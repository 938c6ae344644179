#!/usr/bin/env python3
"""Layers point down only: no file includes a header of a layer above its own (docs/architecture.md)."""
import os
import re
import sys

SOURCE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "src")
# What each folder of src may include, itself aside.
BELOW = {
    "base": set(),
    "roce": {"base"},
    "numa": {"base", "roce"},
    "config": {"base", "roce", "numa"},
    "container": {"base", "roce", "numa", "config"},
    "health": {"base", "roce", "numa", "config", "container"},
    "cli": {"base", "roce", "numa", "config", "container", "runtime", "health"},
    "runtime": {"base"},
}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^">]+)[">]', re.MULTILINE)


def faults_of(name, text):
    """What one file (its path below src) includes that it may not."""
    layer = name.split("/")[0]
    for match in INCLUDE.finditer(text):
        bracket, header = match.groups()
        target = header.split("/")[0] if "/" in header else None
        line = text.count("\n", 0, match.start()) + 1
        if ".." in header.split("/"):
            yield f"src/{name}:{line}: include '{header}' from src, not by a path upwards"
        elif bracket == '"' and target is None and header != "config.h" and layer in BELOW:
            yield f"src/{name}:{line}: include '{header}' with its folder (\"{layer}/{header}\")"
        elif target in BELOW and bracket == '"' and target != layer and target not in BELOW.get(layer, set()):
            yield f"src/{name}:{line}: {layer} may not include {target} ('{header}')"


def sources():
    for folder, _, files in os.walk(SOURCE):
        for file in sorted(files):
            if file.endswith((".c", ".h")):
                yield os.path.relpath(os.path.join(folder, file), SOURCE)


def main():
    passed = failed = 0
    # The check itself must be able to fail.
    if len(list(faults_of("base/x.c", '#include "cli/cli.h"\n#  include "../numa/pair.h"\n#include <numa.h>\n'))) != 2:
        sys.exit("layers: the check does not notice a wrong include")
    for name in sources():
        layer = name.split("/")[0]
        with open(os.path.join(SOURCE, name), encoding="utf-8") as file:
            faults = list(faults_of(name, file.read()))
        if layer not in BELOW:
            faults.append(f"src/{name}: no layer is called '{layer}'; add it to tests/layers.py")
        print("".join(fault + "\n" for fault in faults), end="")
        failed += bool(faults)
        passed += not faults
    print(f"{passed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
