#!/usr/bin/env python3
"""Checks the layers (docs/architecture.md): a folder includes only the folders below it, and no headers include each other in a circle.
Each file begins with a comment, which says what it is for.

A header of another folder is included with its path below src (or below the tree, for sim).
"""
import os
import re
import sys

TREE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Each layer, and the layers that its files may include beside their own. A folder belongs to the longest name that it begins with.
MACHINE = {"base", "gpu", "roce", "numa", "place", "config"}
REMOTE = {"base", "remote", "remote/tls", "remote/wire", "remote/transport", "remote/udp", "remote/session"}
CONTAINER = {"container/linker", "container/plan", "container/docker", "container/image", "container/engine"}
BELOW = {
    "base": set(),
    "gpu": {"base"},
    "turns": {"base"},
    "roce": {"base"},
    "numa": {"base", "gpu", "roce"},
    "place": {"base", "gpu", "roce", "numa"},
    "measure": {"base", "gpu", "roce", "numa", "cuda/api"},
    "config": {"base", "gpu", "roce", "numa", "place"},
    "cluster": MACHINE,
    "kubernetes": MACHINE | {"watch"},
    "container/linker": MACHINE,
    "container/plan": MACHINE | {"container/linker"},
    "container/docker": MACHINE | {"container/plan"},
    "container/image": MACHINE | {"container/linker", "container/plan", "container/docker"},
    "container/engine": MACHINE | CONTAINER,
    "health": MACHINE | CONTAINER,
    "cli/output": MACHINE | CONTAINER | REMOTE | {"remote/net_test", "cluster", "watch", "health", "cli"},
    "cli/output/machine": MACHINE | {"cli/output"},
    "cli": MACHINE | CONTAINER | REMOTE | {"remote/net_test", "cluster", "kubernetes", "watch", "measure", "health", "cli/output", "cli/output/machine"},
    "remote": {"base"},
    "remote/tls": {"base"},
    "remote/wire": {"base", "remote/tls"},
    "remote/transport": {"base", "remote", "remote/tls", "remote/wire"},
    "remote/udp": {"base", "remote"},
    "remote/session": {"base", "remote", "remote/tls", "remote/wire", "remote/transport", "remote/udp"},
    "remote/net_test": REMOTE,
    "cuda/api": {"base"},
    "cuda/common": {"base", "remote/wire", "remote/session", "cuda/api"},
    "cuda/client": REMOTE | {"cuda/api", "cuda/common"},
    "cuda/several": REMOTE | {"cuda/api", "cuda/common", "cuda/client"},
    "cuda/local": REMOTE | {"cuda/api", "cuda/common", "cuda/turns", "turns", "runtime/part", "runtime/quota"},
    "cuda/server": REMOTE | {"cuda/api", "cuda/common"},
    "cuda/turns": {"base", "turns", "cuda/api", "cuda/common"},
    "runtime/quota": REMOTE | {"cuda/api", "cuda/common"},
    "runtime/part": REMOTE | {"cuda/api", "cuda/common", "runtime/quota"},
    "watch": {"base", "config", "remote", "remote/wire", "remote/session"},
    "slurm": {"base", "remote/session"},
    "nvml/api": set(),
    "nvml/client": REMOTE | {"nvml/api"},
    "nvml/server": REMOTE | {"nvml/api"},
    "video": set(),
    "runtime": REMOTE | {"remote/net_test", "gpu", "runtime/part", "runtime/quota", "cuda/api", "cuda/common", "cuda/server", "cuda/turns", "turns", "nvml/api", "nvml/server", "watch"},
    "sim": {"cuda/api", "nvml/api"},
}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^">]+)[">]', re.MULTILINE)
GENERATED = "proto"
FOLDERS = {name.split("/")[0] for name in BELOW}


def layer_of(path):
    """The layer of a file or header by its path; None if no layer has it."""
    folder = os.path.dirname(path)
    while folder and folder not in BELOW:
        folder = os.path.dirname(folder)
    return folder or None


def faults_of(name, text):
    """The includes of one file (by its path below src, or below sim's parent) that the layers forbid."""
    layer = layer_of(name)
    for match in INCLUDE.finditer(text):
        bracket, header = match.groups()
        line = text.count("\n", 0, match.start()) + 1
        if ".." in header.split("/"):
            yield f"{name}:{line}: include '{header}' from src, not by a path upwards"
        elif bracket == '"' and "/" not in header and header != "config.h":
            yield f"{name}:{line}: include '{header}' with its folder (\"{os.path.dirname(name)}/{header}\")"
        elif bracket == '"' and "/" in header and header.split("/")[0] != GENERATED:
            below = layer_of(header)
            if below is None:
                yield f"{name}:{line}: no layer has '{header}'; add its folder to tests/layers.py"
            elif below != layer and below not in BELOW[layer]:
                yield f"{name}:{line}: {layer} may not include {below} ('{header}')"


def circle_in(uses):
    """A circle of headers as a list, the first one again at its end; None if there is none. uses: header -> headers."""
    done, path = set(), []

    def visit(header):
        if header in path:
            return path[path.index(header):] + [header]
        if header in done:
            return None
        path.append(header)
        for other in sorted(uses.get(header, ())):
            found = visit(other)
            if found:
                return found
        path.pop()
        done.add(header)
        return None

    for header in sorted(uses):
        found = visit(header)
        if found:
            return found
    return None


def headers_used(text):
    """Our headers that a text includes."""
    return {header for bracket, header in INCLUDE.findall(text) if bracket == '"' and "/" in header and header.split("/")[0] != GENERATED}


def sources():
    """(path as includes name it, text) of every C file and header below src and sim."""
    for top, base in (("src", "src"), ("sim", "")):
        for folder, _, files in os.walk(os.path.join(TREE, top)):
            for file in sorted(files):
                if file.endswith((".c", ".h")):
                    path = os.path.join(folder, file)
                    with open(path, encoding="utf-8") as text:
                        yield os.path.relpath(path, os.path.join(TREE, base)), text.read()


def check_itself():
    """The check must be able to fail."""
    wrong = '#include "cli/cli.h"\n#  include "../numa/pair.h"\n#include <numa.h>\n#include "remote/wire/frame.h"\n#include "no/such.h"\n'
    if len(list(faults_of("base/x.c", wrong))) != 4 or list(faults_of("cuda/client/x.c", '#include "remote/wire/frame.h"\n')):
        sys.exit("layers: the check does not notice a wrong include")
    if list(faults_of("cuda/client/x.c", '#include "cuda/server/server.h"\n')) == [] or circle_in({"a": {"b"}, "b": {"c"}, "c": set()}):
        sys.exit("layers: the check lets the client include the server, or sees a circle that is not there")
    if circle_in({"a": {"b"}, "b": {"c"}, "c": {"a"}}) != ["a", "b", "c", "a"]:
        sys.exit("layers: the check does not notice a circle")


def main():
    check_itself()
    passed = failed = 0
    uses = {}
    for name, text in sources():
        if name.endswith(".h"):
            uses[name] = headers_used(text)
        faults = [f"{name}: no layer has this folder; add it to tests/layers.py"] if layer_of(name) is None else list(faults_of(name, text))
        if not text.startswith("/*"):
            faults.append(f"{name}: begins with no comment that says what the file is for")
        print("".join(fault + "\n" for fault in faults), end="")
        failed += bool(faults)
        passed += not faults
    circle = circle_in(uses)
    if circle:
        print("these headers include each other in a circle: " + " -> ".join(circle))
    failed += bool(circle)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
