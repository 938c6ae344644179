"""Models in PyTorch, with random weights: ResNet-50's inference and training, GPT-2 generating.

    torch_models.py WORK COUNT   does one of WORKS so often, and ends (AITHERION_CUDA_LOG=summary counts its calls)
"""
import importlib.util
import os
import sys

import torch

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "gpu"))

import load  # noqa: E402
import models  # noqa: E402

BATCH, TOKENS = (2, 4) if load.IS_QUICK else (64, 64)


class ResNet:
    def __init__(self, batch):
        self.model, self.image = models.residual_net().cuda(), torch.randn(1, 3, 224, 224, device="cuda")
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.01, 0.9)
        self.x = torch.randn(batch, 3, 224, 224, device="cuda")
        self.y = torch.randint(1000, (batch,), device="cuda")

    def infer(self):
        self.model.eval()
        with torch.no_grad():
            return self.model(self.image)

    def step(self):
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(self.model(self.x), self.y)
        loss.backward()
        self.optimizer.step()
        return loss


def gpt2():
    """A function that generates so many tokens; None where Transformers is missing."""
    if importlib.util.find_spec("transformers") is None:
        return None
    transformers = importlib.import_module("transformers")
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config()).cuda().eval()
    ids = torch.randint(50257, (1, 16), device="cuda")
    return lambda count: model.generate(ids, max_new_tokens=count, min_new_tokens=count, do_sample=False, pad_token_id=0)


def measure():
    torch.manual_seed(0)
    net, generate = ResNet(BATCH), gpt2()
    for function in [net.infer, net.step, net.infer, net.step]:
        function()
    torch.cuda.synchronize()
    while True:
        yield
        load.row("ResNet-50 inference, batch 1", load.single(load.synchronized(net.infer), 30) * 1e3, "ms")
        load.row(f"ResNet-50 training step, batch {BATCH}", load.issue(load.synchronized(net.step), 10) * 1e3, "ms")
        if generate:
            load.row(f"GPT-2 generates {TOKENS} tokens", load.single(load.synchronized(lambda: generate(TOKENS)), 2) * 1e3, "ms")


def train(count):
    """As most do: the loss of each step is looked at."""
    net = ResNet(BATCH)
    for _ in range(count):
        net.step().item()


def infer(count):
    net = ResNet(1)
    for _ in range(count):
        net.infer().cpu()


WORKS = {"ResNet-50 training step": train, "ResNet-50 inference": infer, "GPT-2 token": lambda count: gpt2()(count)}

if __name__ == "__main__":
    if len(sys.argv) == 3:
        WORKS[sys.argv[1]](int(sys.argv[2]))
        torch.cuda.synchronize()
    else:
        load.serve(measure())
