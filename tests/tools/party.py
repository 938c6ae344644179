"""A program that wants its share of a GPU (bench/party.c)."""
import json
import os
import select
import subprocess

import harness


def build_folder():
    return os.path.dirname(harness.binary())


class Party:
    """A program of a kind, ready to work. `number` is its name in the books of the simulated GPU (sim_gpu.py). `prefix` are the words
    in front of its command line. `is_ready`: returns when it is ready, after a first kernel."""

    def __init__(self, kind, number, env, prefix=(), is_ready=True, **variables):
        self.number = number
        variables = dict(env, BENCH_PARTY=str(number), srcdir=harness.SOURCE, **{name: str(value) for name, value in variables.items()})
        self.process = subprocess.Popen([*prefix, os.path.join(build_folder(), "bench", "party"), kind], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env=variables, cwd=harness.scratch())
        line = self.read() if is_ready else "ready"
        if line != "ready":
            self.end()
            raise AssertionError(f"{kind} is not ready: {line!r}")

    def read(self):
        if not select.select([self.process.stdout], [], [], harness.PATIENCE_S)[0]:
            raise TimeoutError("the program says nothing")
        return self.process.stdout.readline().strip()

    def go(self, seconds):
        self.process.stdin.write(f"go {seconds * 1000:.0f}\n")
        self.process.stdin.flush()

    def result(self):
        return json.loads(self.read())

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        self.process.kill()
        self.process.communicate()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
