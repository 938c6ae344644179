"""Steps of PyTorch that make many small calls: optimizers over many tensors, a recurrent network, many small copies, a value looked at."""
import torch

import load

TENSORS, BLOCKS = (300, 192) if not load.IS_QUICK else (8, 8)


def adam(is_foreach):
    """One step over many small tensors."""
    tensors = [torch.nn.Parameter(torch.randn(1000, device="cuda")) for _ in range(TENSORS)]
    for tensor in tensors:
        tensor.grad = torch.randn_like(tensor)
    return torch.optim.Adam(tensors, 1e-3, foreach=is_foreach).step


def recurrent():
    """A training step of an LSTM cell that Python unrolls: 64 times, batch 32."""
    cell = torch.nn.LSTMCell(64, 128).cuda()
    inputs = torch.randn(64, 32, 64, device="cuda")

    def step():
        state = None
        for one in inputs:
            state = cell(one, state)
        cell.zero_grad()
        state[0].sum().backward()
    return step


def blocks():
    """Blocks of 64 KiB between pinned memory and the device and back, as servers of language models move their caches."""
    pinned = torch.randn(BLOCKS, 16384).pin_memory()
    device = torch.zeros(BLOCKS, 16384, device="cuda")

    def move():
        for there, here in zip(device, pinned):
            there.copy_(here, non_blocking=True)
        for there, here in zip(device, pinned):
            here.copy_(there, non_blocking=True)
    return move


def compiled():
    """A compiled model without CUDA graphs, whose result is looked at."""
    layers = [layer for _ in range(6) for layer in (torch.nn.Linear(512, 512), torch.nn.ReLU())]
    model = torch.compile(torch.nn.Sequential(*layers).cuda().eval())
    x = torch.randn(64, 512, device="cuda")

    def look():
        with torch.no_grad():
            return model(x).sum().item()
    return look


def measure():
    torch.manual_seed(0)
    works = {
        f"Adam over {TENSORS} tensors, foreach": (adam(True), 30),
        f"Adam over {TENSORS} tensors, one by one": (adam(False), 10),
        "LSTM cell, 64 steps, training": (recurrent(), 10),
        f"{BLOCKS} pinned blocks to the device and back": (blocks(), 30),
        "torch.compile with item()": (compiled(), 200),
    }
    for function, _ in works.values():
        for _ in range(3):
            function()
    while True:
        yield
        for name, (function, count) in works.items():
            load.row(name, load.single(load.synchronized(function), count) * 1e3, "ms")


if __name__ == "__main__":
    load.serve(measure())
