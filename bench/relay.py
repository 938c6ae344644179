"""A slow line in front of a server: the program of relay.c, started and ended."""
import os
import subprocess


class Relay:
    """Passes connections on to `server` ("HOST:PORT"), `delay_s` later each way; `address` is its own, until close()."""

    def __init__(self, build, server, delay_s):
        command = [os.path.join(build, "bench", "relay"), "--delay-us", str(round(delay_s * 1e6)), server]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().split()[-1]

    def close(self):
        self.process.communicate()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
