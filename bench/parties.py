"""Programs that want their shares of a GPU (party.c, torch_party.py): started, let work at the same time, and asked for results."""
import json
import os
import select
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(HERE)
TORCH = "torch"  # the kind that torch_party.py is


def command_of(build, kind):
    if kind == TORCH:
        return [sys.executable, "-B", os.path.join(HERE, "torch_party.py")]
    return [os.path.join(build, "bench", "party"), kind]


class Party:
    """A program of a kind, ready to work. `number` is its name in the books of the simulated GPU. `prefix` are the words in front of its
    command line. `is_ready`: returns when it is ready, after a first kernel."""

    def __init__(self, build, kind, number, env, prefix=(), patience_s=120, is_ready=True, folder=None, **variables):
        self.kind, self.number, self.patience_s = kind, number, patience_s
        variables = dict(env, BENCH_PARTY=str(number), srcdir=SOURCE, **{name: str(value) for name, value in variables.items()})
        self.process = subprocess.Popen([*prefix, *command_of(build, kind)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=variables, cwd=folder)
        line = self.read() if is_ready else "ready"
        if line != "ready":
            self.end()
            raise RuntimeError(f"{kind} is not ready: {line!r}")

    def read(self):
        if not select.select([self.process.stdout], [], [], self.patience_s)[0]:
            raise TimeoutError(f"{self.kind} says nothing for {self.patience_s} s")
        return self.process.stdout.readline().strip()

    def go(self, seconds, edge_s=0):
        """Works for so long, between two times that do not count."""
        self.process.stdin.write(f"go {(seconds + 2 * edge_s) * 1000:.0f} {edge_s * 1000:.0f}\n")
        self.process.stdin.flush()

    def result(self):
        line = self.read()
        if not line:
            raise RuntimeError(f"{self.kind} has ended")
        return json.loads(line)

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


def rate(result):
    """Microseconds of work in a second."""
    return result["work_us"] / result["seconds"]


def together(parties, seconds, is_reversed=False, edge_s=0, look=None):
    """The results of all, which begin at the same time, in this order or the other one. `look` is called at the beginning and at the end
    of the time that counts."""
    for party in reversed(parties) if is_reversed else parties:
        party.go(seconds, edge_s)
    for pause_s in (edge_s, seconds) if look else ():
        time.sleep(pause_s)
        look()
    return [party.result() for party in parties]
