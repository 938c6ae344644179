"""Helpers of the command line tests beyond tests/tools/harness.py: the command table, a terminal, a Chinese locale."""
import functools
import json
import os
import pty
import select
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))

import harness  # noqa: E402

IS_SANITIZED = os.environ.get("AITHERION_SANITIZED") == "1"


@functools.lru_cache(maxsize=None)
def table():
    """Returns the command table as `aitherion help --json` prints it."""
    return json.loads(harness.run("help", "--json").stdout)


def commands():
    """Returns [(words, row)] of all commands that run: (["discover"], ...), (["numa", "discover"], ...)."""
    found, open_ones = [], [([], table()["command"])]
    while open_ones:
        words, row = open_ones.pop(0)
        if words and not row["commands"]:
            found.append((words, row))
        open_ones += [(words + [child["name"]], child) for child in row["commands"]]
    return found


def places():
    """Returns the rows of all commands once each, parent commands included."""
    found, open_ones = {}, list(table()["command"]["commands"])
    while open_ones:
        row = open_ones.pop(0)
        found[row["path"]] = row
        open_ones += row["commands"]
    return list(found.values())


def options_of(row):
    """Returns all options that a command takes: its own, the machine options and the global options. One of its own replaces a global
    option of the same name."""
    own = {option["name"] for option in row["options"]}
    shared = (table()["machine_options"] if row["reads_machine"] else []) + table()["global_options"]
    return row["options"] + [option for option in shared if option["name"] not in own]


def run_on_terminal(*args, env=None, size=(24, 80), answer=None):
    """Runs aitherion on a terminal of this size, and types the answer. Returns (exit code, output)."""
    leader, follower = pty.openpty()
    import fcntl
    import struct
    import termios
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    process = subprocess.Popen([harness.binary(), *args], stdin=follower, stdout=follower, stderr=follower,
                               env=env or harness.environment(TERM="xterm-256color"), start_new_session=True,
                               cwd=harness.scratch())
    os.close(follower)
    if answer:
        os.write(leader, answer.encode())
    output, end = b"", time.monotonic() + harness.PATIENCE_S
    while time.monotonic() < end:
        if select.select([leader], [], [], 0.05)[0]:
            try:
                chunk = os.read(leader, 65536)
            except OSError:
                break
            if not chunk:
                break
            output += chunk
        elif process.poll() is not None:
            break
    os.close(leader)
    if process.poll() is None:
        try:
            process.wait(harness.PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
    return process.wait(), output.decode("utf-8", "replace").replace("\r\n", "\n")


@functools.lru_cache(maxsize=None)
def chinese_environment():
    """Makes the locale zh_CN.UTF-8 in a private folder. Returns (environment changes, None), or (None, why not)."""
    if not shutil.which("localedef"):
        return None, "no localedef (package libc-bin)"
    folder = os.path.join(harness.scratch(), "locales")
    os.makedirs(folder, exist_ok=True)
    made = subprocess.run(["localedef", "-i", "zh_CN", "-f", "UTF-8", os.path.join(folder, "zh_CN.UTF-8")],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    if made.returncode not in (0, 1) or not os.path.isdir(os.path.join(folder, "zh_CN.UTF-8")):
        return None, "cannot make the locale zh_CN.UTF-8 (package locales)"
    return {"LOCPATH": folder, "LANG": "zh_CN.UTF-8", "LC_ALL": "zh_CN.UTF-8"}, None
