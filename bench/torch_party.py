"""A training of ResNet-50 that wants its share of a GPU: the same lines as party.c."""
import json
import sys
import time

import torch

import torch_models


def work(net, seconds, edge):
    begin, taken = time.perf_counter(), []
    end = begin + seconds
    while (before := time.perf_counter()) < end:
        net.step().item()
        after = time.perf_counter()
        if begin + edge <= after < end - edge:
            taken.append((after - before) * 1e3)
    taken.sort()
    return {"work_us": len(taken), "seconds": seconds - 2 * edge, "stall_ms": max(taken, default=0), "chunks": len(taken),
            "p50_ms": taken[len(taken) // 2] if taken else 0, "p99_ms": taken[len(taken) * 99 // 100] if taken else 0,
            "most_ms": max(taken, default=0)}


def main():
    torch.manual_seed(0)
    net = torch_models.ResNet(torch_models.BATCH)
    for _ in range(4):
        net.step().item()
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(work(net, *(float(word) / 1e3 for word in (line.split() + ["0"])[1:3]))), flush=True)


main()
