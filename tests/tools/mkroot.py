#!/usr/bin/env python3
"""Expands a captured machine written as one readable text (NAME.root) into a folder for --root.

Lines of a .root file:
    # comment                       origin of a fact, or that it is made up
    include OTHER.root              starts from another capture (path relative to this file)
    path = content                  a file; \\n \\t \\\\ \\xNN are escapes, a newline is added unless it ends in \\c
    path -> target                  a symbolic link
    path/                           an empty folder
    path !                          removes a path of an included capture, with everything below it

A path given twice in one file is a mistake. A path of an included file may be given again, and is then replaced.
The tool needs only Python's standard library.
"""
import argparse
import os
import re
import shutil
import sys

ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|.)", re.DOTALL)
SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "0": "\0"}
DEPTH_MAX = 8


class RootError(Exception):
    pass


def unescape(text):
    """Returns the bytes of a content as written in a .root file."""
    backslashes = len(text) - 1 - len(text[:-1].rstrip("\\")) if text.endswith("c") else 0
    newline = backslashes % 2 == 0
    if not newline:
        text = text[:-2]

    def one(match):
        code = match.group(1)
        if len(code) == 3:
            return chr(int(code[1:], 16))
        if code not in SIMPLE:
            raise RootError(f"unknown escape '\\{code}'")
        return SIMPLE[code]

    # Bytes above 0x7f come only from \xNN or from UTF-8 in the file itself.
    pieces, last = [], 0
    for match in ESCAPE.finditer(text):
        pieces.append(text[last:match.start()].encode())
        pieces.append(one(match).encode("latin-1"))
        last = match.end()
    pieces.append(text[last:].encode())
    return b"".join(pieces) + (b"\n" if newline else b"")


def escape(data):
    """Returns the content of a file as one line, the opposite of unescape()."""
    end = "\\c"
    if data.endswith(b"\n"):
        data, end = data[:-1], ""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("latin-1")
        is_text = False
    else:
        is_text = True
    out = []
    for char in text:
        code = ord(char)
        if char == "\\":
            out.append("\\\\")
        elif char in "\n\t\r":
            out.append({"\n": "\\n", "\t": "\\t", "\r": "\\r"}[char])
        elif code < 32 or code == 127 or (code > 127 and not is_text):
            out.append(f"\\x{code:02x}")
        else:
            out.append(char)
    # Escapes a blank at the end of a line, which would be invisible.
    if out and out[-1] == " ":
        out[-1] = "\\x20"
    return "".join(out) + end


def check_path(path):
    parts = path.split("/")
    if not path or path.startswith("/") or "" in parts or "." in parts or ".." in parts:
        raise RootError(f"'{path}' is not a path below the root")
    return path


def parse_line(line):
    """Returns (path, kind, value) of a line: kind is file, link, folder or remove."""
    if line.endswith(" !"):
        return check_path(line[:-2]), "remove", None
    if " = " in line or line.endswith(" ="):
        path, _, value = line.partition(" =")
        return check_path(path), "file", unescape(value[1:] if value.startswith(" ") else value)
    if " -> " in line:
        path, _, value = line.partition(" -> ")
        return check_path(path), "link", value
    if line.endswith("/"):
        return check_path(line[:-1]), "folder", None
    raise RootError("neither 'path = content', 'path -> target', 'path/' nor 'path !'")


def remove_below(entries, path):
    gone = [known for known in entries if known == path or known.startswith(path + "/")]
    for known in gone:
        del entries[known]
    return bool(gone)


def load(path, depth=0, text=None):
    """Returns all entries of a .root file, {path: (kind, value)}, included ones first."""
    if depth > DEPTH_MAX:
        raise RootError(f"{path}: includes are nested too deeply")
    entries, own = {}, set()
    if text is None:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            if line.startswith("include "):
                if own:
                    raise RootError("'include' must come before everything else")
                entries.update(load(os.path.join(os.path.dirname(path), line[8:]), depth + 1))
                continue
            name, kind, value = parse_line(line)
            if kind == "remove":
                if not remove_below(entries, name):
                    raise RootError(f"there is no '{name}' to remove")
                continue
            if name in own:
                raise RootError(f"'{name}' is given twice")
            own.add(name)
            entries[name] = (kind, value)
        except RootError as error:
            where = str(error)
            raise RootError(where if ".root:" in where else f"{path}:{number}: {where}") from None
    return entries


def write(entries, folder):
    """Writes entries below folder, which must not exist yet."""
    os.makedirs(folder)
    for name, (kind, value) in entries.items():
        target = os.path.join(folder, name)
        os.makedirs(target if kind == "folder" else os.path.dirname(target), exist_ok=True)
        if kind == "file":
            with open(target, "xb") as file:
                file.write(value)
        elif kind == "link":
            os.symlink(value, target)


def expand(source, folder):
    """Expands source.root into folder, which is replaced as a whole."""
    entries = load(source)
    scratch = f"{folder}.{os.getpid()}.new"
    shutil.rmtree(scratch, ignore_errors=True)
    write(entries, scratch)
    shutil.rmtree(folder, ignore_errors=True)
    os.rename(scratch, folder)


def flatten(entries):
    """Returns the text of entries, without includes and comments."""
    for name, (kind, value) in entries.items():
        if kind == "file":
            yield f"{name} = {escape(value)}".rstrip(" ")
        else:
            yield f"{name} -> {value}" if kind == "link" else f"{name}/"


def main():
    parser = argparse.ArgumentParser(description="Expand NAME.root into a folder for 'aitherion --root'.")
    parser.add_argument("--flatten", action="store_true", help="print it as one text without includes instead")
    parser.add_argument("source", help="the .root file")
    parser.add_argument("folder", nargs="?", help="the folder to write; replaced if it exists")
    args = parser.parse_args()
    if args.flatten == bool(args.folder):
        parser.error("give a folder, or --flatten")
    try:
        if args.flatten:
            print("\n".join(flatten(load(args.source))))
        else:
            expand(args.source, args.folder)
    except (RootError, OSError) as error:
        sys.exit(f"mkroot: {error}")


if __name__ == "__main__":
    main()
