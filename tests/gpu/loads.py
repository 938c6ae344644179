"""The loads that bench.py measures, one group a process.

It says "ready"; for each line on standard input it measures once, prints ["row", value, "unit"] a row, then "done". A group is a
generator: what is before its first yield prepares, and each step measures.
"""
import json
import statistics
import sys
import time

import torch

import models

GIB = 1 << 30


def row(name, value, unit):
    print(json.dumps([name, value, unit]), flush=True)


def median_of(function, times):
    """Seconds of one call."""
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        function()
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


def synchronized(function):
    def call():
        function()
        torch.cuda.synchronize()
    return call


def issue(function, count):
    """Seconds of one call, of many that nobody waits for."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(count):
        function()
    seconds = (time.perf_counter() - begin) / count
    torch.cuda.synchronize()
    return seconds


def issued():
    """What the host spends on calls that it need not, and must, wait for."""
    x = torch.zeros(1, device="cuda")
    small, on_gpu = torch.zeros(1024).pin_memory(), torch.zeros(1024, device="cuda")
    event = torch.cuda.Event()
    issue(lambda: x.add_(1), 1000)
    while True:
        yield
        row("x.add_(1) issued", issue(lambda: x.add_(1), 2000) * 1e6, "us")
        row("x.item()", median_of(x.item, 500) * 1e6, "us")
        row("synchronize", median_of(torch.cuda.synchronize, 500) * 1e6, "us")
        row("copy 4 KiB pinned, waiting", median_of(synchronized(lambda: on_gpu.copy_(small, non_blocking=True)), 300) * 1e6, "us")
        row("event recorded", issue(event.record, 1000) * 1e6, "us")


def copies():
    """1 GiB there and back."""
    on_gpu = torch.empty(GIB, dtype=torch.uint8, device="cuda")
    hosts = {"pinned": torch.ones(GIB, dtype=torch.uint8).pin_memory(), "pageable": torch.ones(GIB, dtype=torch.uint8)}
    while True:
        yield
        for name, host in hosts.items():
            row(f"1 GiB {name} to device", GIB / 1e9 / median_of(synchronized(lambda h=host: on_gpu.copy_(h)), 3), "GB/s")
            row(f"1 GiB {name} from device", GIB / 1e9 / median_of(synchronized(lambda h=host: h.copy_(on_gpu)), 3), "GB/s")


def training_step(model, batch):
    """Of images that the GPU has."""
    optimizer = torch.optim.SGD(model.parameters(), 0.01, 0.9)
    x, y = torch.randn(batch, 3, 224, 224, device="cuda"), torch.randint(1000, (batch,), device="cuda")

    def step():
        model.train()
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step


def gpt2():
    """Random weights; None where Transformers is missing."""
    try:
        import transformers
    except ImportError:
        return None
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config()).cuda().eval()
    ids = torch.randint(50257, (1, 16), device="cuda")
    return lambda: model.generate(ids, max_new_tokens=64, min_new_tokens=64, do_sample=False, pad_token_id=0)


def models_of_all():
    torch.manual_seed(0)
    model, image = models.residual_net().cuda(), torch.randn(1, 3, 224, 224, device="cuda")
    step, write = training_step(model, 64), gpt2()

    def infer():
        model.eval()
        with torch.no_grad():
            model(image)

    for function in [infer, step, infer, step]:
        function()
    torch.cuda.synchronize()
    while True:
        yield
        row("ResNet-50 inference, batch 1", median_of(synchronized(infer), 30) * 1e3, "ms")
        row("ResNet-50 training step, batch 64", issue(synchronized(step), 10) * 1e3, "ms")
        if write:
            row("GPT-2 generates 64 tokens", median_of(synchronized(write), 2) * 1e3, "ms")


def compiled():
    torch.manual_seed(0)
    model = torch.nn.Sequential(*[layer for _ in range(6) for layer in (torch.nn.Linear(512, 512), torch.nn.ReLU())]).cuda().eval()
    fast = torch.compile(model, mode="reduce-overhead")
    x = torch.randn(64, 512, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad():
        for _ in range(5):
            fast(x)
            model(x)
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            for _ in range(20):
                model(x)
        while True:
            yield
            row("torch.compile with CUDA graphs", median_of(synchronized(lambda: fast(x)), 300) * 1e3, "ms")
            row("a graph of 240 kernels replayed", median_of(synchronized(graph.replay), 300) * 1e3, "ms")


def main():
    load = {"issued": issued, "copies": copies, "models": models_of_all, "compiled": compiled}[sys.argv[1]]()
    next(load)
    print("ready", flush=True)
    for _ in sys.stdin:
        next(load)
        print("done", flush=True)


if __name__ == "__main__":
    main()
