"""PyTorch learns: the same loss as natively, to the last bit, where PyTorch is deterministic."""
import support
from support import bits, check, gpu_torch, same, test


def learn(torch, model, optimizer, batches, loss_of):
    loss = None
    for batch in batches:
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(model, batch)
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    return loss.item()


def weights(model):
    import torch
    return bits(torch.cat([p.detach().flatten().float() for p in model.parameters()]))


def cross_entropy(torch, model, batch):
    outputs = model(batch[0])
    return torch.nn.functional.cross_entropy(outputs.flatten(0, -2), batch[1].flatten())


def images(torch, count, size, steps, classes=10):
    """Makes batches on the CPU and copies them to the GPU at each step."""
    generator = torch.Generator().manual_seed(1)
    for _ in range(steps):
        x = torch.randn(count, 3, size, size, generator=generator)
        y = torch.randint(classes, (count,), generator=generator)
        yield x.cuda(), y.cuda()


def sentences(torch, count, length, steps, words=1000):
    generator = torch.Generator().manual_seed(2)
    for _ in range(steps):
        x = torch.randint(words, (count, length + 1), generator=generator).cuda()
        yield x[:, :-1], x[:, 1:]


@test(limit_s=90)
def conv_net_50_steps():
    torch = gpu_torch(True)
    import models
    model = models.conv_net().cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.05, 0.9)
    same("loss", learn(torch, model, optimizer, images(torch, 64, 32, 50), lambda m, b: cross_entropy(torch, m, b)))
    same("weights", weights(model))


@test(limit_s=90)
def language_model_50_steps():
    torch = gpu_torch(True)
    import models
    model = models.LanguageModel().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), 3e-4)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        same("loss", learn(torch, model, optimizer, sentences(torch, 16, 64, 50), lambda m, b: cross_entropy(torch, m, b)))
    same("weights", weights(model))


@test(limit_s=120)
def residual_net_10_steps():
    torch = gpu_torch(True)
    import models
    model = models.residual_net().cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), 0.01, 0.9)

    def loss_of(m, batch):
        with torch.autocast("cuda", torch.bfloat16):
            return cross_entropy(torch, m, (batch[0].to(memory_format=torch.channels_last), batch[1]))

    same("loss", learn(torch, model, optimizer, images(torch, 32, 224, 10, 1000), loss_of))
    same("weights", weights(model))


@test(limit_s=90)
def half_precision_with_a_scaler():
    torch = gpu_torch(True)
    import models
    model = models.conv_net().cuda()
    optimizer = torch.optim.Adam(model.parameters(), 1e-3, fused=True)
    scaler = torch.amp.GradScaler("cuda")
    for x, y in images(torch, 64, 32, 20):
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.float16):
            loss = torch.nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    same("loss", loss.item())
    same("scale", scaler.get_scale())
    same("weights", weights(model))


@test(limit_s=90)
def gradient_checkpoints_and_clipping():
    torch = gpu_torch(True)
    import models
    from torch.utils.checkpoint import checkpoint
    model = models.conv_net().cuda()
    optimizer = torch.optim.RMSprop(model.parameters(), 1e-3)
    for x, y in images(torch, 32, 32, 10):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(checkpoint(model, x, use_reentrant=False), y)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    same("loss", loss.item())
    same("norm", norm.item())


def compiled(mode, is_training):
    torch = gpu_torch()
    import models
    model = models.conv_net().cuda()
    model.train(is_training)
    model[11].p = 0.0
    fast = torch.compile(model, mode=mode)
    x = torch.randn(64, 3, 32, 32, device="cuda")
    for _ in range(4):
        torch.compiler.cudagraph_mark_step_begin()
        if is_training:
            loss = fast(x).square().mean()
            model.zero_grad()
            loss.backward()
            got = torch.cat([p.grad.flatten() for p in model.parameters()]).clone()
            model.zero_grad()
            model(x).square().mean().backward()
            wanted = torch.cat([p.grad.flatten() for p in model.parameters()])
        else:
            with torch.no_grad():
                got, wanted = fast(x).clone(), model(x)
        check(torch.allclose(got, wanted, rtol=1e-2, atol=1e-3), "compiled and eager differ by", (got - wanted).abs().max().item())


@test(limit_s=150)
def compiled_inference():
    compiled(None, False)


@test(limit_s=150)
def compiled_training():
    compiled(None, True)


@test(limit_s=150)
def compiled_with_cuda_graphs():
    compiled("reduce-overhead", False)


@test(limit_s=150)
def compiled_training_with_cuda_graphs():
    compiled("reduce-overhead", True)


@test(limit_s=180)
def compiled_with_autotuning():
    """Inductor measures its kernels with events and with the profiler."""
    torch = gpu_torch()
    fast = torch.compile(lambda a, b: torch.relu(a @ b) + 1, mode="max-autotune-no-cudagraphs")
    a, b = (torch.randn(512, 512, device="cuda", dtype=torch.float16) for _ in range(2))
    check(torch.allclose(fast(a, b), torch.relu(a @ b) + 1, rtol=2e-2, atol=2e-2))


@test(limit_s=90)
def cuda_graph_of_a_function():
    torch = gpu_torch()
    x = torch.zeros(1 << 20, device="cuda")
    graph = torch.cuda.CUDAGraph()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            x.mul(2).add_(1)
    torch.cuda.current_stream().wait_stream(side)
    with torch.cuda.graph(graph):
        y = x.mul(2).add_(1)
    for i in range(100):
        x.fill_(i)
        graph.replay()
        check(y[12345].item() == 2 * i + 1, i)


@test(limit_s=120)
def cuda_graph_of_a_training_step():
    torch = gpu_torch(True)
    import models
    model = models.conv_net().cuda()
    model[11].p = 0.0
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    x, y = torch.randn(64, 3, 32, 32, device="cuda"), torch.randint(10, (64,), device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    first = None
    for i in range(50):
        graph.replay()
        first = loss.item() if i == 0 else first
    check(loss.item() < first, first, loss.item())
    same("loss", loss.item())
    same("weights", weights(model))


@test(limit_s=90)
def graphed_callable():
    torch = gpu_torch()
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8)).cuda()
    x = torch.randn(32, 256, device="cuda")
    with torch.no_grad():
        wanted = model(x)
    fast = torch.cuda.make_graphed_callables(model, (torch.randn(32, 256, device="cuda"),))
    check(torch.allclose(fast(x), wanted, atol=1e-5))
    fast(x).sum().backward()


if __name__ == "__main__":
    support.main()
