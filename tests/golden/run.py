#!/usr/bin/env python3
"""Golden tests: each NAME.test has a command and its expected output.

    # the subject of the test
    run: discover --root ac922-4gpu --format matrix
    exit: 0
    --- stdout
    the expected text
    --- stderr
    --- file topology.yaml         given: a file in the folder where the command runs
    --- after topology.yaml        expected: the content of the file at the end

A word of a `run:` line that names a capture in tests/data (ac922-4gpu, dgx2-16gpu.hwloc2.xml) is made available in the
folder where the command runs. Several `run:` lines run in that folder one after another. All except the last must exit with 0,
and only the output of the last one counts. `env: NAME=VALUE` changes the environment. A missing section is not compared,
with one exception: after `exit: 0`, standard error must be empty unless a section says otherwise.

Every output of --json is checked against its schema, and --yaml must have the same content as --json.

    run.py [--update] [NAME...]    --update writes the actual output into the sections
"""
import argparse
import difflib
import os
import re
import shlex
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tools"))

import harness  # noqa: E402
import miniyaml  # noqa: E402

SECTION = re.compile(r"--- (stdout|stderr|file|after)(?: (\S+))?$")


class Test:
    """One .test file."""

    def __init__(self, path):
        self.path, self.name = path, os.path.basename(path)[:-5]
        self.runs, self.exit, self.env = [], 0, {}
        self.files, self.expected = {}, {}
        self.head, self.order = [], []
        self._read()

    def _read(self):
        with open(self.path, encoding="utf-8") as file:
            lines = file.read().split("\n")
        if lines and not lines[-1]:
            lines.pop()
        section = None
        for number, line in enumerate(lines, 1):
            match = SECTION.match(line)
            if match:
                section = (match.group(1), match.group(2))
                if section in self.order or (section[1] is None) != (section[0] in ("stdout", "stderr")):
                    sys.exit(f"{self.path}:{number}: bad section")
                self.order.append(section)
                self._target(section)[section] = []
            elif section:
                self._target(section)[section].append(line)
            else:
                self._head_line(number, line)
        if not self.runs:
            sys.exit(f"{self.path}: no 'run:' line")
        for texts in (self.files, self.expected):
            for key, value in texts.items():
                texts[key] = "".join(line + "\n" for line in value)

    def _target(self, section):
        return self.files if section[0] == "file" else self.expected

    def _head_line(self, number, line):
        self.head.append(line)
        if not line or line.startswith("#"):
            return
        key, _, value = line.partition(": ")
        if key == "run":
            self.runs.append(shlex.split(value))
        elif key == "exit" and value.isdigit():
            self.exit = int(value)
        elif key == "env" and "=" in value:
            name, _, text = value.partition("=")
            self.env[name] = text
        else:
            sys.exit(f"{self.path}:{number}: not understood: {line}")

    def folder(self):
        """Makes a fresh folder with the given files and the captures that the commands name."""
        folder = tempfile.mkdtemp(prefix=f"{self.name}-", dir=harness.scratch())
        names = set(harness.capture_names())
        for word in {word for args in self.runs for word in args} & names:
            os.symlink(harness.capture(word), os.path.join(folder, word))
        for (_, name), text in self.files.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        return folder

    def run(self):
        """Runs the commands; returns ({section: actual text}, [faults])."""
        folder = self.folder()
        env = harness.environment(**self.env)
        faults = []
        for args in self.runs:
            before = faults
            result = harness.run(*args, cwd=folder, env=env)
            wanted = self.exit if args is self.runs[-1] else 0
            if harness.crashed(result):
                faults = before + [f"{' '.join(args)}: {harness.crashed(result)}\n{result.stderr}"]
            elif result.returncode != wanted:
                faults = before + [f"{' '.join(args)}: exit code {result.returncode}, not {wanted}\n{result.stderr}"]
        got = {("stdout", None): result.stdout, ("stderr", None): result.stderr}
        for section in self.order:
            if section[0] == "after":
                got[section] = self._content(os.path.join(folder, section[1]))
        faults += self._check_formats(self.runs[-1], result, folder, env)
        shutil.rmtree(folder, ignore_errors=True)
        return got, faults

    @staticmethod
    def _content(path):
        try:
            with open(path, encoding="utf-8") as file:
                return file.read()
        except OSError as error:
            return f"({error.strerror})\n"

    @staticmethod
    def _check_formats(args, result, folder, env):
        words = " ".join(args).replace("=", " ")
        is_json, is_yaml = (f"--{form}" in args or f"--format {form}" in words for form in ("json", "yaml"))
        if result.returncode not in (0, 3, 4):  # 3 and 4 are results of health
            # An error is JSON on standard error.
            return [f"stderr: {fault}" for fault in harness.check_json(result.stderr)[1]] if "--json" in args else []
        if is_json:
            return [f"stdout: {fault}" for fault in harness.check_json(result.stdout)[1]]
        if not is_yaml:
            return []
        twin = [{"--yaml": "--json", "yaml": "json"}.get(word, word) for word in args]
        other = harness.run(*twin, cwd=folder, env=env)
        value, faults = harness.check_json(other.stdout)
        try:
            if not faults and miniyaml.load(result.stdout) != value:
                faults.append("--yaml says something else than --json")
        except ValueError as error:
            faults.append(f"no YAML: {error}")
        return faults

    def write(self, got):
        """Writes the file again with the actual output."""
        lines = list(self.head)
        for section in self.order:
            lines.append("--- " + " ".join(part for part in section if part))
            text = got[section] if section in got else self.files[section]
            lines += text.split("\n")[:-1] if text.endswith("\n") else text.split("\n") if text else []
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")


def compare(test, got):
    """Yields the differences as unified diffs."""
    expected = dict(test.expected)
    if test.exit == 0:
        expected.setdefault(("stderr", None), "")
    for section, wanted in expected.items():
        if got[section] != wanted:
            name = " ".join(part for part in section if part)
            yield "\n".join(difflib.unified_diff(wanted.splitlines(), got[section].splitlines(), f"expected {name}",
                                                 f"got {name}", lineterm=""))


def main():
    parser = argparse.ArgumentParser(description="Run the golden tests.")
    parser.add_argument("--update", action="store_true", help="write the actual output into the tests")
    parser.add_argument("names", nargs="*", help="names of tests (default: all)")
    args = parser.parse_args()
    names = args.names or sorted(name[:-5] for name in os.listdir(HERE) if name.endswith(".test"))
    passed = failed = 0
    for name in names:
        test = Test(os.path.join(HERE, name + ".test"))
        got, faults = test.run()
        if args.update:
            test.write(got)
        else:
            faults += list(compare(test, got))
        if faults:
            failed += 1
            print(f"FAILED {test.name}: aitherion {shlex.join(test.runs[-1])}")
            print("\n".join(faults))
        else:
            passed += 1
    sys.exit(harness.finish(passed, failed, 0))


if __name__ == "__main__":
    main()
