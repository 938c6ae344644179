"""CUDA graphs in PyTorch: a model that torch.compile captured, and a large graph replayed."""
import torch

import load


def measure():
    torch.manual_seed(0)
    layers = [layer for _ in range(6) for layer in (torch.nn.Linear(512, 512), torch.nn.ReLU())]
    model = torch.nn.Sequential(*layers).cuda().eval()
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
            load.row("torch.compile with CUDA graphs", load.single(load.synchronized(lambda: fast(x)), 300) * 1e3, "ms")
            load.row("a graph of 240 kernels replayed", load.single(load.synchronized(graph.replay), 300) * 1e3, "ms")


if __name__ == "__main__":
    load.serve(measure())
