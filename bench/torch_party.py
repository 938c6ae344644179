"""A training of ResNet-50 that wants its share of a GPU: the same lines as party.c."""
import json
import sys
import time

import torch

import torch_models


def work(net, seconds, warm):
    begin = time.perf_counter()
    while time.perf_counter() - begin < warm:
        net.step().item()
    seconds -= warm
    begin, steps, taken = time.perf_counter(), 0, []
    while time.perf_counter() - begin < seconds:
        before = time.perf_counter()
        net.step().item()
        taken.append((time.perf_counter() - before) * 1e3)
        steps += 1
    passed = time.perf_counter() - begin
    taken.sort()
    return {"work_us": steps, "seconds": passed, "stall_ms": taken[-1], "chunks": steps, "p50_ms": taken[len(taken) // 2],
            "p99_ms": taken[len(taken) * 99 // 100], "most_ms": taken[-1]}


def main():
    torch.manual_seed(0)
    net = torch_models.ResNet(torch_models.BATCH)
    for _ in range(4):
        net.step().item()
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(work(net, *(float(word) / 1e3 for word in (line.split() + ["0"])[1:3]))), flush=True)


main()
