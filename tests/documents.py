#!/usr/bin/env python3
"""Checks what the documentation names: files that Markdown names exist, and docs/runtime.md has each lock.

Usage: tests/documents.py

A path stands in backquotes or is the target of a link. The front of a path may be left out, as in `client/link.c`, and the ending of
a program or of a pair of files, as in `src/remote/switches`. A path with NAME in it stands for several.
"""
import fnmatch
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Files of earlier versions and of other projects.
UNREAD = {"CHANGELOG.md", "tests/data/topologies/README.md"}
SKIPPED_FOLDERS = {"autom4te.cache", "build", "build-aux", "m4", "__pycache__"}
# Files that a build makes from tracked ones.
MADE = ["proto/cuda-*.c", "proto/cuda-*.h", "proto/libcuda-symbols.*", "proto/*.capnp.h"]
# A name with one of these endings is a file of the tree, with any number of folders in front or none.
SOURCE = r"\.(?:c|h|cu|py|capnp)"

# ---- files that Markdown names ----

CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")


def files_of(root):
    """All files and folders of the tree by their paths."""
    found = set()
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS and (not name.startswith(".") or name == ".ci")]
        found |= {os.path.relpath(os.path.join(folder, name), root) for name in folders + files}
    return found


def spread(word):
    """`{shm,tcp}.c` as the names that it stands for."""
    match = BRACES.search(word)
    if not match:
        return [word]
    return [name for part in match[1].split(",") for name in spread(word[:match.start()] + part + word[match.end():])]


def paths_in(text, tops):
    """Yields (offset, path) of each path that a text in Markdown names in backquotes."""
    for code in CODE.finditer(text):
        for word in re.finditer(r"(?<![\w./<$~-])(?:\.\./)*[\w{},*+-][\w.{},*+-]*(?:/[\w.{},*+-]+)*/?(?![\w/<$~])", code[1]):
            for path in spread(word[0].rstrip(".,")):
                is_path = re.search(SOURCE + "$", path) or ("/" in path and path.split("/")[0] in tops)
                if is_path and "NAME" not in path:
                    yield code.start(1) + word.start(), path.rstrip("/").removeprefix("../")


def is_there(path, files):
    """Whether the tree has a path, the front of which may be left out."""
    if any(fnmatch.fnmatchcase(path, made) or fnmatch.fnmatchcase("proto/" + path, made) for made in MADE):
        return True
    if "*" in path:
        return any(fnmatch.fnmatchcase(name, path) or fnmatch.fnmatchcase(name, "*/" + path) for name in files)
    return any(name == path + ending or name.endswith("/" + path + ending) for ending in ("", ".c", ".in") for name in files)


def missing_paths(name, text, files):
    """Yields a line for each path that a Markdown file names and the tree does not have."""
    def line(offset):
        return f"{name}:{text.count(chr(10), 0, offset) + 1}"
    for offset, path in paths_in(text, {file for file in files if "/" not in file}):
        if not is_there(path, files):
            yield f"{line(offset)}: no file '{path}'"
    for match in LINK.finditer(text):
        target = match[1].split("#")[0]
        if target and ":" not in target and os.path.normpath(os.path.join(os.path.dirname(name), target)) not in files:
            yield f"{line(match.start())}: no file '{target}' to link to"


# ---- locks ----

LOCKED = ("src/cuda/", "src/nvml/", "src/remote/", "src/runtime/")
DECLARED = re.compile(r"^[ \t]*(?:static )?pthread_(?:mutex|rwlock|cond)_t\s+((?:\w+(?: = \w+)?(?:, )?)+);", re.MULTILINE)
HEADING = re.compile(r"^### (.*)$", re.MULTILINE)
ROW = re.compile(r"^\| (.*?) \| (.*?) \|.*\|$", re.MULTILINE)


def locks_of(text):
    """The names of all mutexes, locks for readers and writers, and conditions that a C file declares."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return [part.split(" = ")[0] for match in DECLARED.finditer(text) for part in match[1].split(", ")]


def rows_of(page):
    """Yields (names, files, folders) of each row about locks: of the page's section "Locks", the folders from its headings."""
    section = page[page.index("\n## Locks\n"):page.index("\n### The order\n")]
    parts = HEADING.split(section)
    for heading, part in zip(parts[1::2], parts[2::2]):
        for row in ROW.findall(part):
            if not row[0].startswith(("lock", "---")) and "futex" not in row[0]:
                yield row[0], re.findall(r"`([^`]+)`", row[1]), re.findall(r"`(src/[^`]+)`", heading)


def row_has(row, path, lock):
    names, files, folders = row
    return re.search(rf"(?<!\w)(?:rw)?{lock}\b", names) and any(
        path.endswith("/" + file) and ("/" in file or any(path.startswith(folder + "/") for folder in folders)) for file in files)


def lock_faults(page, sources):
    """Yields a line for each lock that the page lacks, and for each row without a lock. sources: path -> text."""
    rows = list(rows_of(page))
    locks = [(path, lock) for path, text in sources.items() for lock in locks_of(text)]
    for path, lock in locks:
        if not any(row_has(row, path, lock) for row in rows):
            yield f"{path}: docs/runtime.md has no row about its '{lock}'"
    for row in rows:
        if not any(row_has(row, path, lock) for path, lock in locks):
            yield f"docs/runtime.md: no file has the lock of the row '{row[0]} | {', '.join(row[1])}'"


# ---- both ----

def check_itself():
    """Exits when a fault would not be noticed, or a right text would be refused."""
    files = {"src", "src/cuda", "src/cuda/client", "src/cuda/client/a.c", "docs", "docs/x.md", "src/cuda/client/b.h"}
    good = "`src/cuda/client/a.c` `client/a.c` `a.c` `client/{a.c,b.h}` `src/cuda/` `client/*.c` `x/y` `/dev/a.c` `proto/cuda-x.c` [x](x.md#a)\n"
    bad = "`src/cuda/client/c.c` `server/a.c`\n`c.c` `{a,c}.c` `src/base/` `client/*.py`\n[y](y.md)\n"
    found = [line.split(" ")[0] for line in missing_paths("docs/y.md", bad, files)]
    if list(missing_paths("docs/y.md", good, files)) or found != ["docs/y.md:1:"] * 2 + ["docs/y.md:2:"] * 4 + ["docs/y.md:3:"]:
        sys.exit(f"documents: the check of paths is wrong: {found}")
    page = ("\n## Locks\n\n### The client: `src/cuda/client`\n\n| lock | file | guards |\n| --- | --- | --- |\n"
            "| `a_lock`, condition `done` | `a.c` | all |\n| `lock` | `gone.c` | nothing |\n\n### The order\n")
    sources = {"src/cuda/client/a.c": "static pthread_mutex_t a_lock = X;\n    pthread_cond_t done, more; /* a */\npthread_mutex_t *lent;\n",
               "src/cuda/server/a.c": "pthread_rwlock_t\n    a_lock;\n"}
    faults = list(lock_faults(page, sources))
    if [re.sub(r".*'.*?`?(\w+).*", r"\1", line) for line in faults] != ["more", "a_lock", "lock"]:
        sys.exit(f"documents: the check of locks is wrong: {faults}")


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def main():
    check_itself()
    passed = failed = 0
    files = files_of(ROOT)
    checks = [list(missing_paths(name, read(name), files)) for name in sorted(files)
              if name.endswith(".md") and name not in UNREAD]
    checks.append(list(lock_faults(read("docs/runtime.md"), {
        name: read(name) for name in sorted(files) if name.startswith(LOCKED) and name.endswith((".c", ".h"))})))
    for lines in checks:
        print("".join(line + "\n" for line in lines), end="")
        failed += bool(lines)
        passed += not lines
    print(f"{passed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
