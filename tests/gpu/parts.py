#!/usr/bin/env python3
"""Parts of a GPU's multiprocessors (AITHERION_SM_SHARE) on a GPU: on which ones a program's work runs, natively, at a server and with the GPU in
its own process; that two programs have different ones; how fast a program is with a part, alone and beside another one; the programs of the
driver API, and a training of PyTorch, with a part.

Each line of the table is one check. results.json in --out has the figures.
"""
import argparse
import contextlib
import os
import re
import select
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import bed as beds  # noqa: E402
import groups  # noqa: E402

SKIPPED = 77
SHM, LOCAL = "shm", "local"
WHERE = ("null", "stream", "nonblocking", "thread", "captured", "node")
KERNEL_US, LOOPS = 2000, 400000  # of the simulated GPU and of a GPU
TRAINING = """
import threading, time, torch
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(4096, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 4096)).cuda()
data = torch.randn(2048, 4096, device="cuda")
best = torch.optim.SGD(model.parameters(), lr=1e-4)
for number in range(13):
    if number == 3:
        torch.cuda.synchronize()
        begin = time.monotonic()
    best.zero_grad()
    loss = model(data).square().mean()
    loss.backward()
    best.step()
torch.cuda.synchronize()
print("training", torch.cuda.get_device_properties(0).multi_processor_count, round(float(loss), 4), round((time.monotonic() - begin) * 100, 2))
"""


class Client:
    """tests/runtime/part_steps with its standard input."""

    def __init__(self, bed, env):
        program = os.path.join(bed.build, "tests", "runtime", "part_steps")
        self.process = subprocess.Popen([program], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0)
        self.rest = b""
        self.first = self.read()

    def read(self, timeout_s=60):
        end = time.monotonic() + timeout_s
        while b"\n" not in self.rest:
            if not select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]:
                return "no answer"
            piece = os.read(self.process.stdout.fileno(), 65536)
            if not piece:
                return f"ended with {self.process.wait()}"
            self.rest += piece
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode()

    def say(self, step):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write((step + "\n").encode())

    def do(self, step):
        self.say(step)
        return self.read()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def driver_of(bed):
    """The path of the machine's driver, for local mode."""
    if bed.is_sim:
        return os.path.join(bed.libraries, "sim", "libcuda.so.1")
    known = subprocess.run(["/sbin/ldconfig", "-p"], text=True, stdout=subprocess.PIPE, check=False).stdout
    found = re.search(r"libcuda\.so\.1 .*=> (/\S+)", known)
    return found.group(1) if found else "/usr/lib/x86_64-linux-gnu/libcuda.so.1"


class Parts:
    def __init__(self, bed, server, end):
        self.bed, self.server, self.end = bed, server, end
        self.rows, self.figures = [], {}

    def environment(self, mode, percent):
        part = {"AITHERION_SM_SHARE": percent} if percent else {}
        if mode != LOCAL:
            return self.bed.environment(mode, self.server, **part)
        return self.bed.base_environment([os.path.join(self.bed.libraries, "local")], AITHERION_LOCAL=f"unix:{self.server.socket}",
                                         AITHERION_KEY_FILE=self.bed.key, AITHERION_DRIVER=driver_of(self.bed), **part)

    def client(self, mode, percent=None):
        return Client(self.bed, self.environment(mode, percent))

    def check(self, name, is_right, found=""):
        self.rows.append((name, bool(is_right), str(found)[:300]))
        print(f"{'ok    ' if is_right else 'FAILED'} {name}: {str(found)[:160]}", flush=True)

    def part_of(self, client, where="null"):
        words = client.do(f"on {where}")
        return {int(word) for word in words.split(",")} if re.fullmatch(r"[0-9,]+", words) else words

    # ---- what one program has ----

    def check_native(self):
        with self.client(beds.NATIVE) as client:
            count = client.do("count").split()
            self.total = int(count[0])
            client.do(f"time {KERNEL_US} {LOOPS}")  # the clocks rise
            self.whole_ms = int(client.do(f"time {KERNEL_US} {LOOPS}"))
            everywhere = self.part_of(client)
        self.figures["multiprocessors"] = self.total
        self.figures["native_ms"] = self.whole_ms
        self.check("natively a kernel runs on all multiprocessors", len(everywhere) == self.total, f"{len(everywhere)} of {self.total}")

    def check_one(self, mode, percent):
        most = max(8, self.total * percent // 100)
        with self.client(mode, percent) as client:
            if client.first != "CUDA_SUCCESS":
                self.check(f"{mode} {percent} %: begins", False, client.first)
                return
            count = client.do("count")
            mine = int(count.split()[0]) if count[:1].isdigit() else 0
            self.check(f"{mode} {percent} %: sees its part", mine and mine <= most and count == " ".join([str(mine)] * 4), f"{count} of {self.total}")
            parts = {where: self.part_of(client, where) for where in WHERE}
            for where, part in parts.items():
                is_inside = isinstance(part, set) and part <= parts["null"] and len(part) <= mine
                self.check(f"{mode} {percent} %: {where} runs on its part", is_inside and len(part) >= mine / 2, len(part) if isinstance(part, set) else part)
            own = self.part_of(client, "own")
            self.check(f"{mode} {percent} %: its own green context is inside", isinstance(own, set) and own <= parts["null"], len(own))
            fits = client.do("fits")
            self.check(f"{mode} {percent} %: cooperative launches fit", fits == "CUDA_SUCCESS CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", fits)
            for step in ("order", "hidden"):
                answer = client.do(step)
                self.check(f"{mode} {percent} %: {step}", answer == "right", answer)
            took = int(client.do(f"time {KERNEL_US} {LOOPS}"))
            wanted = self.whole_ms * self.total / mine if mine else 0
            self.figures[f"{mode}_{percent}_ms"] = took
            most_ms = wanted * (4 if self.bed.is_sim else 1.25)  # the simulated GPU is as late as its processors
            self.check(f"{mode} {percent} %: speed", 0.75 * wanted < took < most_ms, f"{took} ms, {wanted:.0f} wanted, {self.whole_ms} on all")

    # ---- two programs ----

    def check_two(self, mode, percent):
        """Without MPS the driver gives the GPU to one process at a time. So each takes twice as long."""
        with self.client(mode, percent) as one, self.client(mode, percent) as two:
            parts = [self.part_of(client) for client in (one, two)]
            self.check(f"{mode}: two of {percent} % have different parts", all(isinstance(part, set) for part in parts) and not parts[0] & parts[1],
                       [len(part) for part in parts])
            alone = int(one.do(f"time {KERNEL_US} {LOOPS}"))
            for client in (one, two):
                client.say(f"time {KERNEL_US} {LOOPS}")
            beside = [int(client.read()) for client in (one, two)]
            self.figures[f"{mode}_two_of_{percent}"] = {"alone_ms": alone, "beside_ms": beside}
            self.check(f"{mode}: two of {percent} % at once", True, f"alone {alone} ms, beside each other {beside} ms")

    # ---- whole programs ----

    def check_programs(self, percent):
        """The tests of the driver API, except those that make contexts, which a program with a part may not."""
        folder = os.path.join(self.bed.build, "tests", "cuda_programs")
        for name in groups.DRIVER_PROGRAMS:
            if time.monotonic() > self.end - 60:
                self.check(f"driver/{name}", True, "left out: no time")
                continue
            outcome = beds.run([os.path.join(folder, name)], self.environment(SHM, percent), 90, self.bed.scratch)
            lines = outcome.output.splitlines()
            others = [lines[max(0, i - 1)] + " " + line for i, line in enumerate(lines)
                      if "FAILED" in line and "cuCtxCreate" not in lines[max(0, i - 1)]]
            self.check(f"driver/{name} with {percent} %", outcome.code is not None and not others, "; ".join(others) or lines[-1:])

    def check_torch(self):
        results = {}
        for percent in (None, 50, 25):
            outcome = beds.run([sys.executable, "-c", TRAINING], self.environment(SHM, percent), 120, self.bed.scratch)
            found = re.search(r"training (\d+) (\S+) (\S+)", outcome.output)
            if not found and "No module named" in outcome.output:
                self.check("torch", True, "left out: no PyTorch")
                return
            results[percent] = found.groups() if found else outcome.output[-300:]
            self.check(f"torch with {percent or 100} %", found, f"multiprocessors, loss, ms of a step: {results[percent]}")
        self.figures["torch"] = {str(name): value for name, value in results.items()}

    def run(self):
        self.check_native()
        for mode, percent in ((SHM, 25), (LOCAL, 25), (SHM, 50), (SHM, 100), (SHM, 1)):
            self.check_one(mode, percent)
        for mode, percent in ((SHM, 50), (LOCAL, 25)):
            self.check_two(mode, percent)
        if not self.bed.is_sim:
            self.check_torch()
        self.check_programs(50)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", metavar="FOLDER")
    parser.add_argument("--out", metavar="FOLDER", default=os.environ.get("OUT") or tempfile.mkdtemp(prefix="parts-"))
    parser.add_argument("--budget", type=float, default=240, metavar="SECONDS")
    parser.add_argument("--sim", action="store_true")
    options = parser.parse_args()
    build = beds.find_build(options.build)
    if not build:
        parser.error("no build: --build FOLDER")
    bed = beds.Bed(build, tempfile.mkdtemp(prefix="parts-"), options.sim)
    if not bed.gpus():
        print("skipped: no GPU")
        return SKIPPED
    with beds.Server(bed) as server:
        parts = Parts(bed, server, time.monotonic() + options.budget)
        try:
            parts.run()
        except Exception as error:  # what is known so far is worth keeping
            parts.check("to its end", False, repr(error))
        told = [line for line in server.logged().splitlines() if "level=error" in line or "part-refused" in line]
    passed = sum(is_right for _, is_right, _ in parts.rows)
    failed = len(parts.rows) - passed
    os.makedirs(options.out, exist_ok=True)
    beds.save(os.path.join(options.out, "results.json"), {"passed": passed, "failed": failed, "skipped": 0, "figures": parts.figures,
                                                          "rows": parts.rows, "log": told[-20:]})
    print(f"{parts.figures}\n{passed} passed, {failed} failed, 0 skipped")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
