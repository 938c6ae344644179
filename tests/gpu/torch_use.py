"""PyTorch's ways to use a GPU: operators, libraries, copies, streams, memory, errors."""
import os
import threading
import time

import support
from support import bits, check, gpu_torch, raises, same, test

GIB = 1 << 30


@test(limit_s=90)
def operators():
    torch = gpu_torch(True)
    x = torch.randn(513, 1027, generator=torch.Generator().manual_seed(3)).cuda()
    index = torch.randint(513, (4000,), generator=torch.Generator().manual_seed(4)).cuda()
    outcomes = {
        "arithmetic": (x * 2 + x.sin() / (x.abs() + 1)).exp().clamp(max=9), "sum": x.sum(1), "mean": x.mean(0), "max": x.max(1)[0],
        "sort": x.sort(1)[1], "topk": x.topk(7)[0], "cumulated": x.cumsum(1), "gathered": x[index], "masked": x[x > 0.5],
        "nonzero": (x > 1).nonzero(), "unique": (x * 3).round().unique(), "joined": torch.cat([x, x * 2]),
        "where": torch.where(x > 0, x, -x), "softmax": x.softmax(1), "norm": torch.nn.functional.layer_norm(x, (1027,)),
        "added": torch.zeros_like(x).index_add_(0, index[:513], x), "flipped": x.flip(0), "transposed": x.t().contiguous(),
        "pooled": torch.nn.functional.avg_pool2d(x[None, None], 3), "bool": (x > 0).any(1), "integers": (x * 100).long().sum(0),
        "double": x.double().std(1), "half": x.half() * 3, "complex": torch.view_as_real(torch.complex(x, x).abs() * 1j),
        "quantile": x.quantile(0.3, 1), "histogram": torch.histc(x.cpu(), 50), "einsum": torch.einsum("ij,kj->ik", x, x),
        "interpolated": torch.nn.functional.interpolate(x[None, None], scale_factor=0.5, mode="nearest"),
    }
    for name, value in outcomes.items():
        same(name, bits(value))
    same("text", str(x[:2, :3]).replace("\n", ""))


@test(limit_s=90)
def random_numbers():
    torch = gpu_torch()
    torch.cuda.manual_seed(42)
    same("normal", bits(torch.randn(100000, device="cuda")))
    same("uniform", bits(torch.rand(100000, device="cuda")))
    same("permutation", bits(torch.randperm(100000, device="cuda")))
    same("dropout", bits(torch.nn.functional.dropout(torch.ones(100000, device="cuda"))))
    same("multinomial", bits(torch.multinomial(torch.ones(1000, device="cuda"), 100)))


@test(limit_s=90)
def products_of_all_types():
    torch = gpu_torch()
    for kind in ["float64", "float32", "float16", "bfloat16", "complex64"]:
        a, b = (torch.randn(257, 384, device="cuda").to(getattr(torch, kind)) for _ in range(2))
        same(kind, bits(torch.view_as_real(a @ b.t()) if kind.startswith("complex") else a @ b.t()))
        same(f"{kind} batched", bits(torch.view_as_real(torch.bmm(a[None], b.t()[None])) if kind.startswith("complex")
                                     else torch.bmm(a[None], b.t()[None])))
    torch.backends.cuda.matmul.allow_tf32 = True
    same("tf32", bits(torch.randn(512, 512, device="cuda") @ torch.randn(512, 512, device="cuda")))
    a, b = (torch.randint(-8, 8, (64, 64), device="cuda", dtype=torch.int8) for _ in range(2))
    check(torch.equal(torch._int_mm(a, b).cpu().long(), a.cpu().long() @ b.cpu().long()))
    same("linear with bias", bits(torch.nn.functional.linear(torch.ones(64, 128, device="cuda", dtype=torch.float16),
                                                             torch.ones(32, 128, device="cuda", dtype=torch.float16),
                                                             torch.ones(32, device="cuda", dtype=torch.float16))))


@test(limit_s=90)
def products_of_8_bit_floats():
    torch = gpu_torch()
    if torch.cuda.get_device_capability() < (8, 9):
        raise support.Skip("this GPU has no 8-bit floats")
    a = torch.randn(64, 128, device="cuda").to(torch.float8_e4m3fn)
    b = torch.randn(32, 128, device="cuda").to(torch.float8_e4m3fn)
    one = torch.ones((), device="cuda")
    same("product", bits(torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16)))


@test(limit_s=90)
def convolutions():
    torch = gpu_torch(True)
    for dims, kind in [(1, "float32"), (2, "float32"), (2, "float16"), (3, "float32")]:
        layer = getattr(torch.nn, f"Conv{dims}d")(8, 16, 3, padding=1).cuda().to(getattr(torch, kind))
        x = torch.randn(4, 8, *[20] * dims, device="cuda", dtype=getattr(torch, kind), requires_grad=True)
        y = layer(x)
        y.float().square().sum().backward()
        same(f"{dims}d {kind}", bits(y))
        same(f"{dims}d {kind} gradient", bits(x.grad))
    same("transposed", bits(torch.nn.ConvTranspose2d(8, 4, 4, 2).cuda()(torch.ones(2, 8, 9, 9, device="cuda"))))


@test(limit_s=90)
def convolutions_chosen_by_timing():
    """cudnn.benchmark tries algorithms, with workspaces that may not fit, and times them."""
    torch = gpu_torch()
    torch.backends.cudnn.benchmark = True
    layer = torch.nn.Conv2d(64, 128, 3, padding=1).cuda()
    for size in (56, 28, 33):
        x = torch.randn(8, 64, size, size, device="cuda")
        wanted = torch.nn.functional.conv2d(x.cpu(), layer.weight.cpu(), layer.bias.cpu(), padding=1)
        check(torch.allclose(layer(x).cpu(), wanted, atol=2e-2), size)


@test(limit_s=90)
def recurrent_layers():
    torch = gpu_torch(True)
    for kind in ["LSTM", "GRU"]:
        layer = getattr(torch.nn, kind)(64, 128, 2, batch_first=True).cuda()
        y, _ = layer(torch.randn(8, 30, 64, device="cuda"))
        y.sum().backward()
        same(kind, bits(y))
        same(f"{kind} gradient", bits(layer.weight_ih_l0.grad))


@test(limit_s=90)
def fourier_transforms():
    torch = gpu_torch()
    x = torch.randn(64, 1000, device="cuda")
    same("real", bits(torch.view_as_real(torch.fft.rfft(x))))
    same("two dimensions", bits(torch.view_as_real(torch.fft.fft2(x))))
    same("prime length", bits(torch.view_as_real(torch.fft.fft(x[:, :997]))))
    check(torch.allclose(torch.fft.irfft(torch.fft.rfft(x)), x, atol=1e-5))
    same("spectrum", bits(torch.view_as_real(torch.stft(x[0], 128, window=torch.hann_window(128).cuda(), return_complex=True))))


@test(limit_s=120)
def linear_algebra():
    torch = gpu_torch()
    a = torch.randn(96, 96, device="cuda", dtype=torch.float64)
    spd = a @ a.t() + 96 * torch.eye(96, device="cuda", dtype=torch.float64)
    b = torch.randn(96, 3, device="cuda", dtype=torch.float64)
    check(torch.allclose(a @ torch.linalg.solve(a, b), b))
    check(torch.allclose(a @ torch.linalg.inv(a), torch.eye(96, device="cuda", dtype=torch.float64), atol=1e-8))
    lower = torch.linalg.cholesky(spd)
    check(torch.allclose(lower @ lower.t(), spd))
    q, r = torch.linalg.qr(a)
    check(torch.allclose(q @ r, a))
    values, vectors = torch.linalg.eigh(spd)
    check(torch.allclose(vectors @ values.diag() @ vectors.t(), spd))
    u, s, v = torch.linalg.svd(a)
    check(torch.allclose(u @ s.diag() @ v, a))
    check(torch.allclose(torch.linalg.lstsq(a, b).solution, torch.linalg.solve(a, b)))
    check(torch.allclose(torch.linalg.eigvals(a).sum().real, a.trace()))
    check(torch.allclose(torch.linalg.slogdet(spd)[1], values.log().sum()))


@test(limit_s=90)
def sparse_matrices():
    torch = gpu_torch()
    dense = torch.randn(300, 300, device="cuda") * (torch.rand(300, 300, device="cuda") > 0.9)
    x = torch.randn(300, 40, device="cuda")
    for kind in ["to_sparse", "to_sparse_csr"]:
        check(torch.allclose(getattr(dense, kind)() @ x, dense @ x, atol=1e-4), kind)


@test(limit_s=90)
def attention():
    torch = gpu_torch()
    from torch.nn.attention import SDPBackend, sdpa_kernel
    q, k, v = (torch.randn(2, 8, 256, 64, device="cuda", dtype=torch.float16, requires_grad=True) for _ in range(3))
    wanted = None
    for name in ["MATH", "FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION"]:
        with sdpa_kernel(getattr(SDPBackend, name)):
            try:
                y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            except RuntimeError as error:
                check("No available kernel" in str(error), error)
                same(name, "not for this GPU")
                continue
        y.float().square().sum().backward()
        wanted = y if wanted is None else wanted
        check(torch.allclose(y, wanted, atol=2e-2), name)
        same(name, bits(y))


@test(limit_s=90)
def kernels_compiled_at_run_time():
    """NVRTC: PyTorch's jiterator."""
    torch = gpu_torch()
    function = torch.cuda.jiterator._create_jit_fn("template <typename T> T f(T x, T y, T a) { return a * x * x + y; }", a=1)
    x, y = torch.randn(2, 5000, device="cuda")
    check(torch.allclose(function(x, y, a=3), 3 * x * x + y))
    same("lgamma", bits(torch.special.i1e(x)))


# ---- copies and streams ----

@test(limit_s=90)
def copies_of_all_sizes():
    torch = gpu_torch()
    for count in [0, 1, 3, 1000, 65536, 1 << 20, (1 << 24) + 5]:
        for is_pinned in [False, True]:
            x = torch.arange(count, dtype=torch.int32)
            x = x.pin_memory() if is_pinned and count else x
            y = x.to("cuda", non_blocking=True) + 1
            check(torch.equal(y.cpu(), x + 1), count, is_pinned)


@test(limit_s=90)
def pinned_copies_that_do_not_wait():
    torch = gpu_torch()
    x = torch.randn(32 << 20).pin_memory()
    y = torch.empty(32 << 20).pin_memory()
    stream = torch.cuda.Stream()
    for i in range(10):
        with torch.cuda.stream(stream):
            on_gpu = x.to("cuda", non_blocking=True)
            on_gpu.add_(i)
            y.copy_(on_gpu, non_blocking=True)
            event = stream.record_event()
        event.synchronize()
        check(torch.equal(y, x + i), i)
    check(x.is_pinned() and not torch.randn(5).is_pinned())


@test(limit_s=90)
def pinned_memory_is_used_again():
    """The allocator of pinned memory gives a block again once the event behind its copy is done."""
    torch = gpu_torch()
    outcomes = []
    for i in range(200):
        outcomes.append((i, torch.full((100000,), float(i)).pin_memory().to("cuda", non_blocking=True)))
    for i, value in outcomes:
        check(value.min().item() == i == value.max().item(), i)


@test(limit_s=90)
def streams_and_events():
    torch = gpu_torch()
    a, b = torch.cuda.Stream(), torch.cuda.Stream(priority=-1)
    x = torch.zeros(1 << 22, device="cuda")
    torch.cuda.synchronize()
    for _ in range(200):
        with torch.cuda.stream(a):
            x.add_(1)
            event = a.record_event()
        with torch.cuda.stream(b):
            b.wait_event(event)
            x.mul_(1.0)
            a.wait_stream(b)
    torch.cuda.synchronize()
    check(x[77].item() == 200)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    torch.cuda._sleep(50_000_000)
    end.record()
    end.synchronize()
    check(5 < begin.elapsed_time(end) < 500, begin.elapsed_time(end))


@test(limit_s=90)
def a_busy_gpu_does_not_hold_up_the_host():
    torch = gpu_torch()
    x = torch.zeros(1000, device="cuda")
    x.add_(0)  # loads its kernel, which may wait for the GPU
    torch.cuda._sleep(1)
    torch.cuda.synchronize()
    torch.cuda._sleep(1_000_000_000)
    begin = time.monotonic()
    for _ in range(100):
        x.add_(1)
    issued = time.monotonic() - begin
    torch.cuda.synchronize()
    check(issued < 0.3, "issued in", issued)
    check(x[0].item() == 100)


@test(limit_s=90)
def threads_with_streams_of_their_own():
    torch = gpu_torch()
    faults = []

    def work(number):
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                x = torch.zeros(10000, device="cuda")
                for _ in range(300):
                    x += number
                check(x.sum().item() == 10000 * 300 * number, number)
        except BaseException as error:  # pylint: disable=broad-except
            faults.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(not faults, faults)


# ---- memory ----

@test(limit_s=90)
def out_of_memory_is_told_and_passes():
    torch = gpu_torch()
    x = torch.ones(1000, device="cuda")
    for _ in range(3):
        error = raises(torch.OutOfMemoryError, lambda: torch.empty(1 << 45, dtype=torch.uint8, device="cuda"))
        check("out of memory" in str(error))
        check(x.sum().item() == 1000)
    check(torch.empty(1 << 28, device="cuda").fill_(1)[5].item() == 1)


@test(limit_s=90)
def a_limit_of_memory():
    torch = gpu_torch()
    torch.cuda.set_per_process_memory_fraction(0.02)
    raises(torch.OutOfMemoryError, lambda: torch.empty(8 * GIB, dtype=torch.uint8, device="cuda"))
    check(torch.ones(1 << 20, device="cuda").sum().item() == 1 << 20)


@test(limit_s=90)
def memory_is_counted():
    torch = gpu_torch()
    before = torch.cuda.memory_allocated()
    x = torch.empty(1 << 28, dtype=torch.uint8, device="cuda")
    check(torch.cuda.memory_allocated() - before == 1 << 28)
    stats = torch.cuda.memory_stats()
    same("peak", stats["allocated_bytes.all.peak"])
    same("reserved", stats["reserved_bytes.all.current"])
    check("Active memory" in torch.cuda.memory_summary())
    del x
    torch.cuda.empty_cache()
    same("after", torch.cuda.memory_reserved())
    free, total = torch.cuda.mem_get_info()
    same("total", total)
    check(0 < free < total)


@test(limit_s=90, alone=True)
def free_memory_falls_and_rises():
    torch = gpu_torch()
    kept = torch.zeros(1, device="cuda")
    before = torch.cuda.mem_get_info()[0]
    x = torch.empty(2 * GIB, dtype=torch.uint8, device="cuda")
    check(before - torch.cuda.mem_get_info()[0] == 2 * GIB, before - torch.cuda.mem_get_info()[0])
    del x
    torch.cuda.empty_cache()
    check(torch.cuda.mem_get_info()[0] == before and kept.item() == 0)


def allocate_with(configuration):
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = os.environ["PYTORCH_ALLOC_CONF"] = configuration
    torch = gpu_torch()
    for i in range(1, 40):
        x = torch.full((i, 1 << 20), float(i), device="cuda")
        check(x.sum().item() == i * i * (1 << 20), i)
        y = x + 1
        del x
        check(y[0, 0].item() == i + 1)
    torch.cuda.empty_cache()
    raises(torch.OutOfMemoryError, lambda: torch.empty(1 << 45, dtype=torch.uint8, device="cuda"))
    check(torch.ones(100, device="cuda").sum().item() == 100)


@test(limit_s=90)
def allocator_in_stream_order():
    allocate_with("backend:cudaMallocAsync")


@test(limit_s=90, alone=True)  # calls that wait, one after another: beside others they take longer than that
def allocator_with_expandable_segments():
    allocate_with("expandable_segments:True")


@test(limit_s=90)
def pinned_memory_registered():
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = os.environ["PYTORCH_ALLOC_CONF"] = "pinned_use_cuda_host_register:True"
    torch = gpu_torch()
    x = torch.arange(5 << 20).pin_memory()
    check(torch.equal((x.to("cuda", non_blocking=True) * 2).cpu(), x * 2))


# ---- facts and errors ----

@test(limit_s=60)
def the_device_is_what_it_is():
    torch = gpu_torch()
    same("count", torch.cuda.device_count())
    for i in range(torch.cuda.device_count()):
        same(f"properties {i}", torch.cuda.get_device_properties(i))
        same(f"capability {i}", torch.cuda.get_device_capability(i))
    same("architectures", torch.cuda.get_arch_list())
    same("versions", (torch.version.cuda, torch.backends.cudnn.version()))
    same("capability", torch.cuda.is_bf16_supported())


@test(limit_s=60)
def an_index_out_of_bounds_is_an_error():
    torch = gpu_torch()
    error_type = getattr(torch, "AcceleratorError", RuntimeError)
    x, index = torch.zeros(10, device="cuda"), torch.tensor([99], device="cuda")

    def wrong():
        x[index].sum().item()

    check("device-side assert" in str(raises(error_type, wrong)))
    check("device-side assert" in str(raises(error_type, lambda: torch.zeros(5, device="cuda").sum().item())))


@test(limit_s=60)
def errors_of_the_program_pass():
    torch = gpu_torch()
    raises(RuntimeError, lambda: torch.ones(3, device="cuda") @ torch.ones(4, device="cuda"))
    raises(RuntimeError, lambda: torch.ones(3, device="cuda:99"))
    raises(RuntimeError, lambda: torch.ones(3, device="cuda") + torch.ones(3))
    check(torch.ones(3, device="cuda").sum().item() == 3)


@test(limit_s=90)
def files_come_to_the_gpu():
    import tempfile
    torch = gpu_torch()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.pt")
        torch.save({"x": torch.arange(1000, device="cuda")}, path)
        check(torch.load(path)["x"].is_cuda)
        check(torch.load(path, map_location="cpu")["x"].sum().item() == 499500)


@test(limit_s=120)
def the_profiler_does_no_harm():
    """It takes CUPTI, which asks the driver for what no other process can give: only the host's side must be there."""
    torch = gpu_torch()
    from torch.profiler import ProfilerActivity, profile
    x = torch.randn(512, 512, device="cuda")
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        (x @ x).sum().item()
    check(any("aten::mm" in event.key for event in seen.key_averages()))
    check((x + 1).shape == x.shape)


@test(limit_s=90)
def two_gpus():
    torch = gpu_torch()
    if torch.cuda.device_count() < 2:
        raise support.Skip("one GPU here")
    x = torch.arange(1 << 20, device="cuda:0", dtype=torch.float32)
    y = x.to("cuda:1") * 2
    check(y.device.index == 1 and torch.equal(y.cpu(), x.cpu() * 2))
    check(torch.equal(y.to("cuda:0", non_blocking=True), x * 2))
    same("peers", torch.cuda.can_device_access_peer(0, 1))
    model = torch.nn.DataParallel(torch.nn.Linear(64, 8).cuda())
    model(torch.randn(32, 64, device="cuda")).sum().backward()


if __name__ == "__main__":
    support.main()
