#!/usr/bin/env python3
"""One PyTorch program with its GPUs at two servers: tests/gpu/two_servers.py [BUILD]

Each server serves one GPU: the first and the second, or twice the only one. The program's answers must be those of one GPU natively.
Without PyTorch or a GPU it is a skip (77).
"""
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import bed as beds  # noqa: E402

PROGRAM = r"""
import copy, faulthandler, sys
faulthandler.dump_traceback_later(90, exit=True)
import torch
torch.manual_seed(7)
first, last = torch.device("cuda:0"), torch.device("cuda", torch.cuda.device_count() - 1)

a = torch.arange(1 << 20, dtype=torch.float32, device=first)
print("= copied", ((a * 2).to(last) + 1).sum().item())

net = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(16 * 30 * 30, 10))
x = torch.randn(8, 3, 32, 32)
for place in (first, last):
    here = copy.deepcopy(net).to(place)
    here(x.to(place)).sum().backward()
    print("= gradients", here[0].weight.grad.double().sum().item())

stream, event = torch.cuda.Stream(last), torch.cuda.Event()
with torch.cuda.device(first):
    for _ in range(50):
        a.mul_(1.0001)
    event.record()
with torch.cuda.stream(stream):
    stream.wait_event(event)
    z = torch.ones(1000, device=last).sum()
stream.synchronize()
print("= waited", event.query(), z.item())

host = torch.randn(1 << 22).pin_memory()
there = [host.to(place, non_blocking=True) for place in (first, last)]
for place in (first, last):
    torch.cuda.synchronize(place)
print("= pinned", all(torch.equal(one.cpu(), host) for one in there))
print("devices", torch.cuda.device_count(), file=sys.stderr)
"""


def answers(env):
    """The program's, and its whole output."""
    result = subprocess.run([sys.executable, "-u", "-c", PROGRAM], env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            timeout=150, check=False)
    lines = [line for line in result.stdout.splitlines() if line.startswith("= ")]
    return lines if not result.returncode else None, result.stdout + result.stderr


def main():
    build = beds.find_build(sys.argv[1] if len(sys.argv) > 1 else None)
    if not build:
        sys.exit("tests/gpu/two_servers.py: no aitherion-runtime: name the build folder")
    bed = beds.Bed(build, tempfile.mkdtemp())
    if subprocess.run([sys.executable, "-c", "import torch; assert torch.cuda.is_available()"], env=bed.base_environment(),
                      stderr=subprocess.DEVNULL, check=False).returncode:
        print("skipped: no PyTorch that sees a GPU\n0 passed, 0 failed, 1 skipped")
        sys.exit(77)
    wanted, said = answers(bed.base_environment(CUDA_VISIBLE_DEVICES="0"))
    print("native:", wanted or said, flush=True)
    count = int(subprocess.run([sys.executable, "-c", "import torch; print(torch.cuda.device_count())"], env=bed.base_environment(),
                               text=True, stdout=subprocess.PIPE, check=True).stdout)
    servers = [beds.Server(bed, name=f"server{i}", variables={"CUDA_VISIBLE_DEVICES": str(min(i, count - 1))}) for i in range(2)]
    failed = 0 if wanted else 1
    try:
        for server in servers:
            server.check()
        for mode in beds.TRANSPORTS:
            env = bed.environment(mode, servers[0], AITHERION_SERVER=",".join(server.place(mode) for server in servers))
            env["LD_LIBRARY_PATH"] = os.path.join(bed.libraries, "several") + ":" + env["LD_LIBRARY_PATH"]
            found, said = answers(env)
            failed += found != wanted or "devices 2" not in said
            print(f"{mode}: {'as native' if found == wanted else said}", flush=True)
    finally:
        for server in servers:
            server.stop()
    print(f"{1 + len(beds.TRANSPORTS) - failed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
