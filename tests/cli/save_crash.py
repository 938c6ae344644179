#!/usr/bin/env python3
"""A save that is killed or runs out of disk space leaves the complete old document or the complete new one.

    save_crash.py [aitherion] [edit_loop]     (default: AITHERION, and tests/tools/edit_loop beside it)

1,000 saves are killed with SIGKILL at random moments: most of edit_loop, which saves in a loop, some of `aitherion configure
--set`. On a full disk (a small tmpfs; mounting it needs the right to mount) the old file stays.
"""
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

KILLS = int(os.environ.get("SAVE_CRASH_KILLS", "1000"))
COMMAND_KILLS = KILLS // 10
SEED = int(os.environ.get("SAVE_CRASH_SEED", "922"))
KEY = "numa.0.node"
NEVER = 1 << 24
# Larger than a pipe or a page, so that a write can be interrupted in the middle.
COMMENTS = "".join(f"# line {number} of a long comment that every save has to carry along\n" for number in range(800))
DOCUMENT = f"""schema: aitherion.topology/1
numa:
  - id: 0
    node: %d   # changes
    control_port: 50051
    data_port: 5555
{COMMENTS}# the end
"""
VALUE = re.compile(r"^    node: (\d+)   # changes$", re.MULTILINE)


class Failure(Exception):
    """A save left a broken document."""


def arguments():
    """Returns (aitherion or None, edit_loop or None)."""
    binary = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("AITHERION", "./aitherion")
    suffix = "-emulated" if binary.endswith("-emulated") else ""  # in a cross build
    beside = os.path.join(os.path.dirname(os.path.abspath(binary)), "tests", "tools", "edit_loop" + suffix)
    loop = sys.argv[2] if len(sys.argv) > 2 else beside
    return [os.path.abspath(path) if os.access(path, os.X_OK) else None for path in (binary, loop)]


def read_value(path):
    """Returns the number in the document. Raises Failure if the file is not complete."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    match = VALUE.search(text)
    if not match or text != DOCUMENT % int(match[1]):
        raise Failure(f"the document is not complete any more: {len(text)} bytes, {text[:200]!r}")
    return int(match[1])


def write_document(path, value):
    with open(path, "w", encoding="utf-8") as file:
        file.write(DOCUMENT % value)


def loop_command(loop, path, first):
    return [loop, path, KEY, str(first), str(NEVER)]


def set_command(binary, path, value):
    return [binary, "configure", "--set", f"{KEY}={value}", "-c", path]


def kill_after(command, seconds, is_at_work=lambda: True):
    """Starts command and kills it `seconds` after is_at_work(). Raises Failure if it ended by itself with an error."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while process.poll() is None and not is_at_work():
        time.sleep(0.001)
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    error = process.communicate()[1].decode(errors="replace")
    if process.returncode not in (0, -signal.SIGKILL):
        raise Failure(f"{command[0]} ended with {process.returncode}: {error}")


def time_of(command):
    begin = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin


def kill_loop(loop, folder):
    """Kills edit_loop while it saves. Each run continues from the number at which the last one stopped."""
    path = os.path.join(folder, "topology.yaml")
    write_document(path, 1)
    start_s = time_of([loop, path, KEY, "1", "1"])
    save_s = max(time_of([loop, path, KEY, "2", "21"]) - start_s, 0.001) / 20
    kills = KILLS - COMMAND_KILLS
    for _ in range(kills):
        before = read_value(path)
        kill_after(loop_command(loop, path, before + 1), random.uniform(0, 4 * save_s), lambda: read_value(path) > before)
        after = read_value(path)
        if after <= before:
            raise Failure(f"the number is {after} after {before}")
    next_save(loop, path, folder)
    return f"{kills} kills"


def next_save(loop, path, folder):
    """After all the kills a save works, and only the document and its lock file are in the folder."""
    subprocess.run([loop, path, KEY, "77", "77"], check=True)
    if read_value(path) != 77:
        raise Failure("the save after the kills did not work")
    strange = set(os.listdir(folder)) - {"topology.yaml", ".topology.yaml.lock"}
    if strange:
        raise Failure(f"left behind: {sorted(strange)}")


def kill_command(binary, folder):
    """Kills `aitherion configure --set`. The document has the old or the new value."""
    path = os.path.join(folder, "topology.yaml")
    write_document(path, 1)
    whole_s = time_of(set_command(binary, path, 2))
    for number in range(COMMAND_KILLS):
        before, wanted = read_value(path), 1000 + number
        kill_after(set_command(binary, path, wanted), random.uniform(0, whole_s * 1.2))
        if read_value(path) not in (before, wanted):
            raise Failure(f"neither {before} nor {wanted} but {read_value(path)}")
    subprocess.run(set_command(binary, path, 5), check=True, stdout=subprocess.DEVNULL)
    if read_value(path) != 5:
        raise Failure("the save after the kills did not work")
    return f"{COMMAND_KILLS} kills"


class Skip(Exception):
    """The reason why a case could not run."""


def full_disk(loop, folder):
    """On a disk with room for only the old file, saving fails with an error and the old file stays."""
    disk = os.path.join(folder, "disk")
    os.mkdir(disk)
    room = len(DOCUMENT) * 3 // 2
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={room}", "tmpfs", disk], check=False,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if mounted.returncode:
        raise Skip(f"cannot mount a small tmpfs: {mounted.stderr.strip()}")
    try:
        path = os.path.join(disk, "topology.yaml")
        write_document(path, 1)
        result = subprocess.run([loop, path, KEY, "2", "2"], check=False, stderr=subprocess.PIPE, text=True)
        if result.returncode != 1 or not result.stderr.startswith("no-space:"):
            raise Failure(f"a full disk gives {result.returncode}: {result.stderr}")
        if read_value(path) != 1:
            raise Failure("the old document did not stay")
        if set(os.listdir(disk)) - {"topology.yaml", ".topology.yaml.lock"}:
            raise Failure(f"left behind on the full disk: {os.listdir(disk)}")
    finally:
        subprocess.run(["umount", disk], check=True)
    return "the old file stayed"


def main():
    binary, loop = arguments()
    cases = [("kills while saving", kill_loop, loop),
             ("kills of 'aitherion configure --set'", kill_command, binary),
             ("a full disk", full_disk, loop)]
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    random.seed(SEED)
    for name, run, program in cases:
        folder = tempfile.mkdtemp(prefix="aitherion-crash-")
        try:
            if not program:
                raise Skip("its program is not built")
            outcome, note = "passed", run(program, folder)
        except Skip as skip:
            outcome, note = "skipped", str(skip)
        except (Failure, OSError, subprocess.SubprocessError) as failure:
            outcome, note = "failed", f"{failure} (seed {SEED})"
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        counts[outcome] += 1
        print(f"{outcome}: {name}: {note}")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    sys.exit(1 if counts["failed"] else 77 if not counts["passed"] else 0)


if __name__ == "__main__":
    main()
