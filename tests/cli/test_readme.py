#!/usr/bin/env python3
"""The commands of the README's "Thirty seconds" print what the README shows.

The GPU server is an AC922: `init` reads its capture. The other commands run here, with simulated GPUs and processes.
"""
import os
import re
import subprocess
import unittest

import cli  # noqa: F401 - finds harness
import harness
import nodes
import test_ending

COMMAND = re.compile(r"(gpu-server#|laptop\$) aitherion (.*?)(?: +#.*)?$")
# the parts of an output that differ on each machine
VARIABLE = [(r"(, TLS)?, process \d+ of \S+", ""), (r"process \d+, user \d+|(\d+\.\d+\.\d+\.\d+|gpu-server):\d+", "ADDRESS"), (r"/\S+/numa", "RUN/numa"),
            (r"cuda_steps|python3", "PROGRAM"), (r"[\d.]+ (s|min|[KMG]iB)", "SIZE"), (r" +\d+ +(?=PROGRAM)", " SESSION ")]


def shown():
    """Returns [(command without `aitherion`, its lines)] of the README."""
    with open(os.path.join(harness.SOURCE, "README.md"), encoding="utf-8") as file:
        text = file.read().split("## Thirty seconds\n")[1].split("\n`aitherion top`")[0]
    found = []
    for line in filter(None, (line[4:] for line in text.splitlines())):
        match = COMMAND.match(line)
        if match:
            found.append((match[2], []))
        else:
            found[-1][1].append(line)
    return found


def plain(line):
    for pattern, word in VARIABLE:
        line = re.sub(pattern, word, line)
    return re.sub(" +", " ", line).strip()


class ThirtySeconds(test_ending.Case):
    def output(self, *words, **changes):
        result = subprocess.run([harness.binary(), *words], stdin=subprocess.DEVNULL, text=True, cwd=self.folder, check=False,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment(**changes))
        self.assertEqual(result.returncode, 0, (words, result.stderr))
        return result.stdout

    def assert_shows(self, lines, output):
        """Each line of the README is a line of the output, in this order."""
        rest = [plain(line) for line in output.splitlines()]
        for line in map(plain, lines):
            self.assertIn(line, rest)
            del rest[:rest.index(line) + 1]

    def test_commands_print_what_the_readme_shows(self):
        (init, written), (start, started), (key, nothing), (run, none), (sessions, table) = shown()
        self.assertEqual((init, start, nothing, none), ("init", "start", [], []))
        proposed = os.path.join(self.folder, "proposed.yaml")
        lines = [line.replace("/etc/aitherion/topology.yaml", proposed) for line in written]
        self.assertEqual(self.output("init", "-c", proposed, "--root", harness.capture("ac922-4gpu")).splitlines()[:len(lines)], lines)
        with open(proposed, encoding="utf-8") as file:  # so the runtimes of that document listen for other machines
            self.assertRegex(file.read(), r"\n    control_iface: \w+")

        self.assert_shows(started, self.output("start", "-c", self.document))
        self.assertEqual(key, "key --export | ssh me@laptop aitherion key --import")
        home = os.path.join(self.folder, "laptop")
        laptop = {"HOME": home, "XDG_CONFIG_HOME": None, "AITHERION_RUN_FOLDER": os.path.join(home, "run")}
        os.makedirs(os.path.join(home, ".config", "aitherion"))
        with open(os.path.join(home, ".config", "aitherion", "topology.yaml"), "w", encoding="utf-8") as file:
            file.write(f"schema: aitherion.topology/1\nkey_file: {home}/key\nnuma: []\n")  # root's own key would be this machine's
        text = self.output("key", "--export", "-c", self.document)
        subprocess.run([harness.binary(), "key", "--import"], input=text, text=True, check=True, stdout=subprocess.DEVNULL,
                       env=self.environment(**laptop))

        server = f"127.0.0.1:{nodes.free_ports(1)[0]}"
        words = run.replace("gpu-server:50051", server).split()
        self.assertEqual(words[3:], ["--", "python3", "train.py"])
        with subprocess.Popen([harness.binary(), *words[:4], test_ending.STEPS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              bufsize=1, env=self.environment(srcdir=harness.SOURCE, AITHERION_SIM_DEVICES=None, **laptop)) as program:
            program.stdout.readline()
            program.stdin.write("take plain 1048576\n")
            self.assertEqual(program.stdout.readline(), "CUDA_SUCCESS\n")
            self.assert_shows(table, self.output(*sessions.replace("gpu-server:50051", server).split(), **laptop))
            program.kill()


if __name__ == "__main__":
    harness.main()
