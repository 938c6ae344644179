"""A CUDA program that does the given steps (tests/runtime/cuda_steps.c, or another one by its `name`), run by `aitherion run`."""
import os
import select
import subprocess

import runtime
from runtime import harness

MIB = 1 << 20


def alone_variables(place, key=runtime.KEY):
    """The environment in which a program finds its server without `aitherion run`."""
    path = [os.path.join(harness.build(), "lib", "aitherion"), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    return dict(LD_LIBRARY_PATH=os.pathsep.join(path), AITHERION_SERVER=place,
                AITHERION_KEY_FILE=runtime.key_file(key) if key is not None else "")


class Program:
    """The program with its GPU at a server: `place` is the argument of --server. `first` is the result of its cuInit(). If it is
    `alone` no `aitherion run` looks first whether the server is there: its environment says all."""

    def __init__(self, place, key=runtime.KEY, prefix=(), words=(), env=None, wait=True, alone=False, name="cuda_steps"):
        keys = ["--key", runtime.key_file(key)] if key is not None else []
        variables = dict(srcdir=runtime.SOURCE, AITHERION_CONNECT_TIMEOUT=str(harness.PATIENCE_S), AITHERION_SIM_DEVICES=None)
        if key is None:
            variables["AITHERION_KEY_FILE"] = ""
        command = [harness.binary(), "run", "--server", place, *keys, *words, "--"]
        if alone:
            command = []
            variables.update(alone_variables(place, key))
        variables.update(env or {})
        self.process = subprocess.Popen(
            [*prefix, *command, os.path.join(harness.build(), "tests", "runtime", name)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1,
            env=harness.environment(**variables), cwd=harness.scratch())
        self.first = self.read() if wait else None

    def read(self):
        """The next line of its output; TimeoutError if none comes."""
        if not select.select([self.process.stdout], [], [], harness.PATIENCE_S)[0]:
            raise TimeoutError("the program says nothing")
        return self.process.stdout.readline().strip()

    def say(self, step):
        self.process.stdin.write(step + "\n")
        self.process.stdin.flush()

    def do(self, step):
        self.say(step)
        return self.read()

    def end(self):
        """Its standard error, after its end."""
        self.process.stdin.close()
        self.process.wait(harness.PATIENCE_S)
        with self.process.stderr, self.process.stdout:
            return self.process.stderr.read()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for file in (self.process.stdin, self.process.stdout, self.process.stderr):
            if not file.closed:
                try:
                    file.close()
                except BrokenPipeError:
                    pass
