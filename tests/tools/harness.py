"""Helpers for all tests: the binary under test, captures as folders, a clean environment, the count line at the end.

AITHERION names the binary under test. Without it the tests use ./aitherion, then build/aitherion of the source tree.
AITHERION_BUILD names the build folder. Without it that is the binary's folder.
The file needs only Python's standard library and writes nothing into the source tree.
"""
import atexit
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATA = os.path.join(SOURCE, "tests", "data")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import jsonschema  # noqa: E402
import mkroot  # noqa: E402

# Seconds that a test waits for an event that should come at once. The limit catches hangs and measures no speed, so it is
# generous: a passing test never waits that long. ./check raises it on slow machines.
PATIENCE_S = int(os.environ.get("AITHERION_PATIENCE", "60"))
# Variables of the caller's environment that the tools themselves need.
KEPT = re.compile(r"^(PATH|LD_LIBRARY_PATH|ASAN_OPTIONS|UBSAN_OPTIONS|LSAN_OPTIONS|TSAN_OPTIONS|TMPDIR|AITHERION_PATIENCE|PYTHON.*)$")
_scratch = None
# A shell starts background jobs with SIGINT ignored, and all programs under test would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup leaves it ignored


# Whether a test file ends with its first failure: tests/mutate wants to know only whether there is one.
ENDS_EARLY = os.environ.get("AITHERION_FAILFAST") == "1"


def binary():
    """Returns the absolute path of the aitherion under test."""
    candidates = [os.environ.get("AITHERION"), "aitherion", os.path.join(SOURCE, "build", "aitherion")]
    for candidate in candidates:
        if candidate and os.access(candidate, os.X_OK):
            return os.path.abspath(candidate)
    sys.exit("no aitherion to test: build it, or set AITHERION=/path/to/aitherion")


def build():
    """Returns the absolute path of the build folder, with the libraries and the tests' programs."""
    return os.path.abspath(os.environ.get("AITHERION_BUILD") or os.path.dirname(binary()))


def copies_alone():
    """True if the build is for this machine. A script that starts an emulator only works in its own place."""
    return not os.environ.get("EXE_WRAPPER")


def emulated(path):
    """Returns a command that runs a program of the build, through the emulator of a cross build if there is one."""
    wrapper = os.environ.get("EXE_WRAPPER")
    return [wrapper, path] if wrapper else [path]


def scratch():
    """Returns a new folder of this process, which is removed when the process ends."""
    global _scratch
    if not _scratch:
        _scratch = tempfile.mkdtemp(prefix="aitherion-test-")
        atexit.register(shutil.rmtree, _scratch, ignore_errors=True)
    return _scratch


def capture(name):
    """Returns the folder (or the XML file) of a capture in tests/data; each is expanded once."""
    if name.endswith(".xml"):
        return os.path.join(DATA, "topologies", name)
    folder = os.path.join(scratch(), "captures", name)
    if not os.path.isdir(folder):
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        mkroot.expand(os.path.join(DATA, name + ".root"), folder)
    return folder


def capture_names():
    """Lists all captures: tests/data/NAME.root as NAME, the XML files in tests/data/topologies with their ending."""
    return sorted([name[:-5] for name in os.listdir(DATA) if name.endswith(".root")]
                  + [name for name in os.listdir(os.path.join(DATA, "topologies")) if name.endswith(".xml")])


def environment(**changes):
    """Returns an environment that gives the same output everywhere; a change to None removes a variable."""
    env = {name: value for name, value in os.environ.items() if KEPT.match(name)}
    env.update(HOME="/nonexistent", LANG="C.UTF-8", TERM="dumb", COLUMNS="100", TZ="UTC")
    for name, value in changes.items():
        env.pop(name, None)
        if value is not None:
            env[name] = value
    return env


def run(*args, env=None, **options):
    """Runs aitherion without a terminal; stdout and stderr are text."""
    if "input" not in options:
        options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("stdout", subprocess.PIPE)
    options.setdefault("stderr", subprocess.PIPE)
    options.setdefault("timeout", PATIENCE_S)
    options.setdefault("cwd", scratch())
    command = options.pop("command", None) or [binary(), *args]
    return subprocess.run(command, env=env or environment(), text=True, encoding="utf-8", errors="surrogateescape",
                          check=False, **options)


def crashed(result):
    """Returns the reason why a result counts as a crash (a signal, or a sanitizer's report), or None."""
    if result.returncode < 0 or result.returncode >= 128:
        return f"ended by signal (exit code {result.returncode})"
    word = re.search(r"(AddressSanitizer|LeakSanitizer|runtime error:).*", result.stderr or "")
    return word.group(0) if word else None


def run_soundly(*args, **options):
    """As run(), for a command that may fail but not crash."""
    result = run(*args, **options)
    reason = crashed(result)
    if reason:
        raise AssertionError(reason)
    return result


def checked_json(command, *args):
    """The JSON of a command that succeeds; it must fit its schema."""
    result = run_soundly(command, "--json", *args)
    if result.returncode:
        raise AssertionError(result.stderr)
    value, faults = check_json(result.stdout)
    if faults:
        raise AssertionError(faults)
    return value


def _all_children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def _name_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
            return file.read().strip()
    except (FileNotFoundError, ProcessLookupError):
        return None


def _helper_of(pid, name):
    return next((child for child in _all_children_of(pid) if _name_of(child) == name), None)


def children_of(pid):
    """The children of a process; of a server, its sessions without the helpers."""
    return [child for child in _all_children_of(pid) if _name_of(child) not in ("aitherion-gpus", "aitherion-turns", "aitherion-udp")]


def sampler_of(pid):
    """The process of a server that asks NVML; None if there is none now."""
    return _helper_of(pid, "aitherion-gpus")


def arbiter_of(pid):
    """The process of a server that gives turns on the GPUs; None if there is none now."""
    return _helper_of(pid, "aitherion-turns")


def udp_helper_of(pid):
    """The process of a server that serves UDP; None if there is none now."""
    return _helper_of(pid, "aitherion-udp")


def wait_until(claim, patience_s=PATIENCE_S):
    """Calls claim() until its value is true or the time is over; returns the last value."""
    end = time.monotonic() + patience_s
    while not (value := claim()) and time.monotonic() < end:
        time.sleep(0.01)
    return value


def wait_for_handler(process, number):
    """Waits until a program handles a signal other than by ending."""
    def catches():
        with open(f"/proc/{process.pid}/status", encoding="ascii", errors="replace") as file:
            caught = re.search(r"(?m)^SigCgt:\s+(\w+)$", file.read())
        return caught and int(caught[1], 16) >> (number - 1) & 1
    return wait_until(catches)


def schemas():
    """Loads docs/schema by the schema word in an output: {"aitherion.machine/1": schema}."""
    return jsonschema.load_folder(os.path.join(SOURCE, "docs", "schema"))


def check_json(text):
    """Parses a JSON output and checks it against its schema; returns (value, [faults])."""
    return jsonschema.check_output(text, schemas())


ISOLATED = "AITHERION_TEST_ISOLATED"
_INSIDE = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c",
           'mkdir -p /run/netns && mount -t tmpfs tmpfs /run/netns && "$@"; exit $?', "sh"]


def isolate():
    """
    Restarts this program in namespaces without other programs' processes and network namespaces.

    `clean` removes everything that aitherion has made. It must not touch this machine, nor tests that run in parallel.
    """
    if os.environ.get(ISOLATED) or os.geteuid() or not shutil.which("unshare"):
        return
    if subprocess.run([*_INSIDE, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        return
    os.environ[ISOLATED] = "1"
    os.execvp(_INSIDE[0], [*_INSIDE, sys.executable, "-B", *sys.argv])


class _Result(unittest.TextTestResult):
    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print(f"skipped: {test}: {reason}", flush=True)


def main(module="__main__"):
    """Runs a file of unittest cases; ends with the count line and exit code 0, 1, or 77 (all skipped)."""
    build()  # if there is none, one clear message instead of a failure of each test
    names = [arg for arg in sys.argv[1:] if not arg.startswith("-")]
    loader = unittest.defaultTestLoader
    suite = loader.loadTestsFromNames(names, sys.modules[module]) if names else loader.loadTestsFromModule(
        sys.modules[module])
    runner = unittest.TextTestRunner(resultclass=_Result, verbosity=2 if "-v" in sys.argv else 0, stream=sys.stdout, failfast=ENDS_EARLY)
    result = runner.run(suite)
    failed = len({str(test) for test, _ in result.failures + result.errors}) + len(result.unexpectedSuccesses)
    skipped = len(result.skipped)
    passed = max(result.testsRun - failed - skipped, 0)
    sys.exit(finish(passed, failed, skipped))


def finish(passed, failed, skipped):
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    if failed or not passed + skipped:
        return 1
    return 0 if passed else 77
