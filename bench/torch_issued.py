"""Single operations of PyTorch: the host's time for operations without a wait, and for operations that wait."""
import torch

import load


def measure():
    x = torch.zeros(1, device="cuda")
    small, on_gpu = torch.zeros(1024).pin_memory(), torch.zeros(1024, device="cuda")
    event = torch.cuda.Event()
    load.issue(lambda: x.add_(1), 1000)
    while True:
        yield
        load.row("x.add_(1) issued", load.issue(lambda: x.add_(1), 2000) * 1e6, "us")
        load.row("x.item()", load.single(x.item, 500) * 1e6, "us")
        load.row("torch.cuda.synchronize()", load.single(torch.cuda.synchronize, 500) * 1e6, "us")
        copy = load.synchronized(lambda: on_gpu.copy_(small, non_blocking=True))
        load.row("4 KiB pinned copied, waited", load.single(copy, 300) * 1e6, "us")
        load.row("event.record()", load.issue(event.record, 1000) * 1e6, "us")


if __name__ == "__main__":
    load.serve(measure())
