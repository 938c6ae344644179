"""Tests of faults: clients and servers that are killed, wrong keys, crowds, limits. Each test has a server of its own.

The clients are tests/runtime/cuda_steps of the build, which does what its standard input says.
"""
import json
import os
import re
import select
import subprocess
import sys
import tempfile
import time

import bed as beds
import support
from support import IS_SIM, check, test

GONE = "CUDA_ERROR_DEVICE_UNAVAILABLE"
MIB, BIG = 1 << 20, (64 << 20 if IS_SIM else 4 << 30)
PROMPT_S = 2.0


class Client:
    """A program with its GPU at a server."""

    def __init__(self, bed, server, wait=True, **changes):
        program = os.path.join(bed.build, "tests", "runtime", "cuda_steps")
        if not os.access(program, os.X_OK):
            raise support.Skip(f"no '{program}'")
        self.process = subprocess.Popen([program], env=bed.environment(support.MODE, server, **changes), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0)
        self.rest = b""
        self.first = self.read(60) if wait else None

    def read(self, timeout_s=30):
        """The next line; an error where none comes."""
        end = time.monotonic() + timeout_s
        while b"\n" not in self.rest:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise AssertionError(f"no answer within {timeout_s} s:\n{beds.where([self.process.pid])}")
            piece = os.read(self.process.stdout.fileno(), 65536)
            if not piece:
                raise AssertionError(f"the program ended with {self.process.wait()}")
            self.rest += piece
        line, self.rest = self.rest.split(b"\n", 1)
        line = line.decode()
        print(f"  {self.process.pid}: {line}", flush=True)
        return line if not line.startswith("aitherion: ") else self.read(timeout_s)

    def say(self, step):
        self.process.stdin.write((step + "\n").encode())

    def do(self, step, timeout_s=30):
        self.say(step)
        return self.read(timeout_s)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        self.process.stdin.close()
        return self.process.wait(20)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()
        self.process.stdin.close()
        self.process.stdout.close()


def bed():
    return beds.Bed(os.environ["AITHERION_TEST_BUILD"], tempfile.mkdtemp(prefix="faults-"), IS_SIM, os.environ.get("AITHERION_DISABLE"))


def health(where, server):
    """The server's own report of its health."""
    command = [os.path.join(where.build, "aitherion-runtime"), "health", "--socket", server.socket, "--key", where.key, "--json"]
    result = subprocess.run(command, env=where.base_environment(), text=True, stdout=subprocess.PIPE, check=False)
    return json.loads(result.stdout)["server"]


def used_bytes(where):
    """The used memory of device 0 by the driver itself. The simulated driver sees no other processes."""
    result = subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "-i", "0"], text=True,
                            env=where.environment(beds.NATIVE), stdout=subprocess.PIPE, check=True)
    return int(result.stdout) * MIB


def wait_until(condition, timeout_s):
    begin = time.monotonic()
    while not condition():
        check(time.monotonic() - begin < timeout_s, f"not so within {timeout_s} s")
        time.sleep(0.02)
    return time.monotonic() - begin


@test(limit_s=90, alone=True, native=False)
def a_killed_client_frees_its_memory():
    where = bed()
    with beds.Server(where) as server, Client(where, server) as client:
        before = 0 if IS_SIM else used_bytes(where)
        check(client.do(f"take plain {BIG}") == "CUDA_SUCCESS")
        check(IS_SIM or used_bytes(where) - before >= BIG)
        check(health(where, server)["sessions"] == 1)
        client.kill()
        begin = time.monotonic()
        looks = []  # when each look began: nvidia-smi itself takes its time
        while not looks or not (health(where, server)["sessions"] == 0 and (IS_SIM or used_bytes(where) < before)):
            looks.append(time.monotonic() - begin)
            check(looks[-1] < 5, "not freed within 5 s")
        print(f"freed by {time.monotonic() - begin:.2f} s; looked at {looks}")
        check(looks[-1] <= 1, "not freed after", looks[-1])  # the look that found it so began in time


@test(limit_s=90, native=False)
def a_killed_client_that_waits():
    where = bed()
    with beds.Server(where) as server, Client(where, server) as client, Client(where, server) as other:
        check(client.do("block") == "waits")
        time.sleep(0.3)
        client.kill()
        check(other.do("fill 100000") == "CUDA_SUCCESS right")
        print(f"gone after {wait_until(lambda: health(where, server)['sessions'] == 1, 5):.2f} s")


def told_promptly(client, step, begin):
    """Checks that the step fails with the stable error, without delay, and the next steps too."""
    got = step()
    seconds = time.monotonic() - begin
    check(got.split()[0] == GONE, got)
    check(seconds < PROMPT_S, "told only after", seconds)
    for word in ["memory", "fill 1000", "take plain 1000", "launch 1"]:
        begin = time.monotonic()
        got = client.do(word)
        check(got.split()[0] == GONE, word, got)
        check(time.monotonic() - begin < PROMPT_S, word)
    check(client.end() == 0, "the program did not end well")


@test(limit_s=90, native=False)
def a_server_killed_while_a_client_waits():
    where = bed()
    with beds.Server(where) as server, Client(where, server) as client:
        check(client.do("block") == "waits")
        time.sleep(0.3)
        server.kill()
        told_promptly(client, client.read, time.monotonic())


@test(limit_s=90, native=False)
def a_server_killed_between_calls():
    where = bed()
    with beds.Server(where) as server, Client(where, server) as client:
        check(client.do("fill 1000") == "CUDA_SUCCESS right")
        server.kill()
        time.sleep(0.2)
        told_promptly(client, lambda: client.do("memory"), time.monotonic())


@test(limit_s=90, native=False)
def a_server_killed_during_launches():
    where = bed()
    with beds.Server(where) as server, Client(where, server) as client:
        client.say("launch 100000000")
        time.sleep(0.5)
        server.kill()
        told_promptly(client, client.read, time.monotonic())


@test(limit_s=90, native=False)
def a_server_killed_during_copies():
    where = bed()
    with beds.Server(where) as server, Client(where, server) as client:
        client.say(f"fill {200 * MIB}")
        time.sleep(0.6)
        server.kill()
        got = client.read().split()[0]
        check(got in (GONE, "CUDA_SUCCESS"), got)
        told_promptly(client, lambda: client.do("memory"), time.monotonic())


@test(limit_s=60, native=False)
def a_wrong_key_is_refused():
    where = bed()
    wrong = os.path.join(where.scratch, "wrong")
    with open(os.open(wrong, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
        file.write("f" * 64)
    with beds.Server(where) as server:
        for key in [wrong, ""]:
            begin = time.monotonic()
            with Client(where, server, AITHERION_KEY_FILE=key) as client:
                check(client.first.split()[0] != "CUDA_SUCCESS", client.first)
                check(time.monotonic() - begin < 5, "refused only after", time.monotonic() - begin)
        log = beds.tail(server.log)
        print(log)
        check(re.search(r"refused|key", log), "no line in the server's log")
        with Client(where, server) as client:
            check(client.do("fill 1000") == "CUDA_SUCCESS right")


@test(limit_s=120, alone=True, native=False)
def sixteen_clients_at_once():
    where = bed()
    with beds.Server(where) as server:
        begin = time.monotonic()
        clients = [Client(where, server, wait=False) for _ in range(16)]
        for client in clients:
            check(client.read(90) == "CUDA_SUCCESS")
        print(f"16 sessions after {time.monotonic() - begin:.1f} s")
        for _ in range(2):
            for client in clients:
                client.say("threads 4")
            for client in clients:
                check(client.read(60) == "right")
        check(health(where, server)["sessions"] == 16)
        for client in clients:
            check(client.end() == 0)
        wait_until(lambda: health(where, server)["sessions"] == 0, 5)


@test(limit_s=120, native=False)
def a_fault_stays_with_its_client():
    where = bed()
    with beds.Server(where) as server, Client(where, server) as client:
        program = os.path.join(where.build, "tests", "cuda_programs", "faults")
        for _ in range(5):
            result = subprocess.run([program, "the fault is sticky"], env=where.environment(support.MODE, server), timeout=30,
                                    check=False)
            check(result.returncode == 0, result.returncode)
            check(client.do("fill 1000") == "CUDA_SUCCESS right")


@test(limit_s=120, native=False)
def a_share_of_the_memory_is_all_there_is():
    where = bed()
    with beds.Server(where, "--vram-fraction", "0.25") as server, Client(where, server) as client:
        whole = [int(word) for word in client.do("memory").split()[1:]]
        limit = whole[1]
        print(f"the program sees {limit / MIB:.0f} MiB")
        piece = limit // 4 // (2 * MIB) * 2 * MIB
        for kind in ["plain", "managed", "async", "pool", "create", "array", "pitch"]:
            given = 0
            while client.do(f"take {kind} {piece if kind != 'array' else min(piece, 128 * MIB)}") == "CUDA_SUCCESS":
                given += 1
                check(given <= 200 and (given <= 4 or kind == "array"), kind, "has no limit")
                if kind == "array" and given == 8:
                    break
            check(given >= 2, kind, "got", given)
            for _ in range(given):
                check(client.do("give") == "CUDA_SUCCESS", kind)


@test(limit_s=60, native=False)
def a_program_run_by_aitherion_run():
    where = bed()
    program = os.path.join(where.build, "tests", "runtime", "cuda_steps")
    with beds.Server(where) as server:
        command = [os.path.join(where.build, "aitherion"), "run", "--server", server.place(support.MODE), "--key", where.key, "--",
                   program]
        result = subprocess.run(command, input="fill 1000\nexit 7\n", env=where.base_environment(), text=True, timeout=40,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        print(result.stdout)
        check("CUDA_SUCCESS right" in result.stdout and result.returncode == 7, result.returncode)


@test(limit_s=120, native=False)
def a_killed_training_and_the_next():
    support.need("torch")
    where = bed()
    text = "import torch\nx = torch.randn(4096, 4096, device='cuda')\nprint('ready', flush=True)\nwhile True: x = x @ x / 64\n"
    with beds.Server(where) as server:
        for _ in range(2):
            with subprocess.Popen([sys.executable, "-c", text], env=where.environment(support.MODE, server), text=True,
                                  stdout=subprocess.PIPE) as process:
                check(process.stdout.readline().strip() == "ready")
                time.sleep(1)
                process.kill()
            print(f"gone after {wait_until(lambda: health(where, server)['sessions'] == 0, 10):.2f} s")


@test(limit_s=90, native=False)
def a_training_whose_server_dies():
    support.need("torch")
    where = bed()
    text = ("import torch\nx = torch.randn(1024, 1024, device='cuda')\nprint('ready', flush=True)\n"
            "while True:\n    for _ in range(100): x = x @ x / 32\n    x.sum().item()\n")
    with beds.Server(where) as server:
        with subprocess.Popen([sys.executable, "-c", text], env=where.environment(support.MODE, server), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            check(process.stdout.readline().strip() == "ready")
            time.sleep(1)
            server.kill()
            begin = time.monotonic()
            try:
                said = process.communicate(timeout=20)[0]
            except subprocess.TimeoutExpired:
                said = beds.where(beds.descendants(process.pid))
                process.kill()
                raise AssertionError(f"it hangs\n{said}") from None
            print(said)
            check(process.returncode and "unavailable" in said, "it ended with", process.returncode)
            print(f"ended after {time.monotonic() - begin:.1f} s")


if __name__ == "__main__":
    support.main()
