"""PyTorch's less common ways to a GPU: allocators of a program's own, traces, graphs that share memory, shards on one GPU."""
import os
import shutil
import subprocess
import tempfile

import support
from support import bits, check, gpu_torch, raises, same, test


# ---- compilers ----

@test(limit_s=150)
def attention_of_a_score_function():
    """flex_attention: a kernel made for it, with a mask of blocks."""
    torch = gpu_torch()
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    q, k, v = (torch.randn(2, 4, 256, 64, device="cuda", requires_grad=True) for _ in range(3))
    mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, 256, 256, device="cuda")
    y = torch.compile(flex_attention)(q, k, v, block_mask=mask)
    wanted = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    check(torch.allclose(y, wanted, atol=3e-2), (y - wanted).abs().max().item())
    y.square().sum().backward()
    check(q.grad.isfinite().all().item())


@test(limit_s=150)
def compiled_for_all_shapes():
    torch = gpu_torch()
    calls = []

    def backend_of(x, w):
        calls.append(1)
        return torch.nn.functional.gelu(x @ w).sum(1)

    function = torch.compile(backend_of, dynamic=True)
    w = torch.randn(64, 64, device="cuda")
    for count in (3, 17, 128, 1001):
        x = torch.randn(count, 64, device="cuda")
        check(torch.allclose(function(x, w), torch.nn.functional.gelu(x @ w).sum(1), atol=5e-2, rtol=1e-2), count)
    check(len(calls) <= 4, "compiled", len(calls), "times")


@test(limit_s=150)
def an_operator_of_its_own_in_a_compiled_function():
    torch = gpu_torch()

    @torch.library.custom_op("gputest::thrice", mutates_args=())
    def thrice(x: torch.Tensor) -> torch.Tensor:
        return x * 3

    thrice.register_fake(torch.empty_like)
    x = torch.randn(1000, device="cuda")
    check(torch.allclose(torch.compile(lambda t: thrice(t.sin()).cos())(x), (x.sin() * 3).cos(), atol=1e-5))


@test(limit_s=120)
def an_exported_program():
    torch = gpu_torch()
    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4)).cuda().eval()
    x = torch.randn(16, 32, device="cuda")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.pt2")
        torch.export.save(torch.export.export(model, (x,)), path)
        check(torch.allclose(torch.export.load(path).module()(x), model(x), atol=1e-5))
    check(torch.allclose(torch.compile(model, backend="aot_eager")(x), model(x), atol=1e-5))


@test(limit_s=90)
def scripts_and_traces():
    torch = gpu_torch()
    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.Tanh(), torch.nn.Linear(64, 4)).cuda().eval()
    x = torch.randn(16, 32, device="cuda")
    traced = torch.jit.trace(model, x)
    for _ in range(4):  # the third call is fused by NVRTC
        check(torch.allclose(traced(x), model(x), atol=1e-5))
    with tempfile.TemporaryDirectory() as folder:
        traced.save(os.path.join(folder, "model.pt"))
        loaded = torch.jit.load(os.path.join(folder, "model.pt"), map_location="cuda")
        check(torch.allclose(loaded(x), model(x), atol=1e-5))


@test(limit_s=90)
def transforms_of_functions():
    """torch.func: several models at once, their gradients by example."""
    torch = gpu_torch()
    from torch.func import functional_call, grad, hessian, jvp, stack_module_state, vmap
    models = [torch.nn.Linear(8, 3).cuda() for _ in range(5)]
    weights, buffers = stack_module_state(models)
    x = torch.randn(20, 8, device="cuda")
    y = vmap(lambda w, b: functional_call(models[0], (w, b), (x,)))(weights, buffers)
    check(y.shape == (5, 20, 3) and torch.allclose(y[4], models[4](x), atol=1e-4))
    one = {name: value.detach() for name, value in models[0].named_parameters()}
    gradients = vmap(grad(lambda w, row: functional_call(models[0], w, (row,)).square().sum()), (None, 0))(one, x)
    check(gradients["weight"].shape == (20, 3, 8))
    check(torch.allclose(hessian(lambda v: (v ** 3).sum())(x[0]), (6 * x[0]).diag(), atol=1e-4))
    check(torch.allclose(jvp(torch.sin, (x,), (torch.ones_like(x),))[1], x.cos(), atol=1e-5))


# ---- graphs ----

@test(limit_s=90)
def graphs_share_a_pool():
    torch = gpu_torch()
    pool = torch.cuda.graph_pool_handle()
    x = torch.zeros(1000, device="cuda")
    graphs, outcomes = [], []
    for i in range(4):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):
            outcomes.append((x + i) * torch.ones(1000, device="cuda"))
        graphs.append(graph)
    for value in (1.0, 5.0):
        x.fill_(value)
        for i, graph in enumerate(graphs):
            graph.replay()
            check(outcomes[i][999].item() == value + i)
    graphs[0].reset()


@test(limit_s=90)
def a_graph_with_random_numbers():
    """Each replay takes other numbers, the same ones as natively."""
    torch = gpu_torch()
    torch.cuda.manual_seed(9)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = torch.rand(1000, device="cuda")
    seen = []
    for _ in range(3):
        graph.replay()
        seen.append(y.clone())
    check(not torch.equal(seen[0], seen[1]) and not torch.equal(seen[1], seen[2]))
    same("numbers", [bits(one) for one in seen])


# ---- allocators ----

@test(limit_s=120)
def an_allocator_of_its_own():
    """A shared library with two functions takes cudaMalloc's place."""
    torch = gpu_torch()
    compiler = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if not compiler:
        raise support.Skip("no nvcc")
    with tempfile.TemporaryDirectory() as folder:
        source, library = os.path.join(folder, "own.cu"), os.path.join(folder, "own.so")
        with open(source, "w", encoding="ascii") as file:
            file.write('#include <cuda_runtime.h>\n#include <sys/types.h>\nstatic long count;\nextern "C" {\n'
                       "void *take(ssize_t size, int device, cudaStream_t stream) { void *p = nullptr; count++;\n"
                       "    return cudaMallocAsync(&p, size, stream) ? nullptr : p; }\n"
                       "void give(void *p, ssize_t, int, cudaStream_t stream) { cudaFreeAsync(p, stream); }\n"
                       "long taken() { return count; }\n}\n")
        subprocess.run([compiler, "-shared", "-cudart", "shared", "-Xcompiler", "-fPIC", "-o", library, source], check=True)
        import ctypes
        torch.cuda.memory.change_current_allocator(torch.cuda.memory.CUDAPluggableAllocator(library, "take", "give"))
        x = torch.randn(1000, 1000, device="cuda")
        check(torch.allclose((x + 1).sum(), x.sum() + 1e6, rtol=1e-3))
        del x
        check(ctypes.CDLL(library).taken() >= 2)


@test(limit_s=90)
def pools_of_memory():
    torch = gpu_torch()
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        x = torch.full((1 << 20,), 3.0, device="cuda")
    y = torch.full((1 << 20,), 4.0, device="cuda")
    check((x + y).sum().item() == 7 << 20)
    check(pool.use_count() >= 1)
    del x
    torch.cuda.empty_cache()


@test(limit_s=90)
def what_was_allocated_and_when():
    torch = gpu_torch()
    torch.cuda.memory._record_memory_history(max_entries=1000)
    x = torch.empty(1 << 24, dtype=torch.uint8, device="cuda")
    del x
    snapshot = torch.cuda.memory._snapshot()
    torch.cuda.memory._record_memory_history(enabled=None)
    actions = [entry["action"] for trace in snapshot["device_traces"] for entry in trace]
    check("alloc" in actions and "free_completed" in actions, actions)
    check(snapshot["segments"][0]["total_size"] >= 1 << 21)
    same("segments", [segment["total_size"] for segment in snapshot["segments"]])
    torch.cuda.reset_peak_memory_stats()
    check(torch.cuda.max_memory_allocated() == torch.cuda.memory_allocated())


# ---- marks and measurements ----

@test(limit_s=90)
def marks_for_profilers():
    torch = gpu_torch()
    with torch.cuda.nvtx.range("outer"):
        torch.cuda.nvtx.range_push("inner")
        x = torch.ones(1000, device="cuda")
        torch.cuda.nvtx.mark("here")
        torch.cuda.nvtx.range_pop()
    check(torch.cuda.cudart().cudaProfilerStart() == 0)
    x += 1
    check(torch.cuda.cudart().cudaProfilerStop() == 0)
    with torch.cuda.profiler.profile():
        x += 1
    check(x[0].item() == 3)
    with torch.autograd.profiler.emit_nvtx():
        x.sum()


@test(limit_s=120)
def what_the_profiler_sees():
    """The program's side is whole; kernels are seen natively, and remotely none (docs say so): no failure, no hang."""
    torch = gpu_torch()
    from torch.profiler import ProfilerActivity, profile, schedule
    x = torch.randn(512, 512, device="cuda")
    with tempfile.TemporaryDirectory() as folder:
        steps = schedule(wait=1, warmup=1, active=2, repeat=1)
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], schedule=steps, record_shapes=True,
                     profile_memory=True, with_stack=True) as seen:
            for _ in range(4):
                (x @ x).relu_().sum().item()
                seen.step()
        path = os.path.join(folder, "trace.json")
        seen.export_chrome_trace(path)
        check(os.path.getsize(path) > 1000)
    table = seen.key_averages().table(sort_by="cpu_time_total", row_limit=10)
    check("aten::mm" in table, table)
    kernels = [event for event in seen.events() if str(event.device_type).endswith("CUDA")]
    print("kernels seen:", len(kernels))
    if support.MODE == "native":
        check(kernels)


@test(limit_s=90)
def measured_by_the_clock_of_the_gpu():
    torch = gpu_torch()
    from torch.utils import benchmark
    x = torch.randn(1024, 1024, device="cuda")
    measured = benchmark.Timer("x @ x", globals={"x": x}).timeit(20)
    check(1e-6 < measured.median < 1, measured.median)
    check(torch.cuda.get_device_name() and torch.cuda.utilization() in range(101))
    check(torch.cuda.temperature() > 0 and torch.cuda.clock_rate() > 0 and torch.cuda.power_draw() > 0)


# ---- copies ----

@test(limit_s=90)
def a_loader_that_pins():
    torch = gpu_torch()
    data = torch.utils.data.TensorDataset(torch.arange(1000.0).repeat(16, 1).t().contiguous(), torch.arange(1000))
    total = 0
    for x, y in torch.utils.data.DataLoader(data, 100, pin_memory=True, shuffle=True):
        check(x.is_pinned() and y.is_pinned())
        x, y = x.to("cuda", non_blocking=True), y.to("cuda", non_blocking=True)
        check(torch.equal(x[:, 3].long(), y))
        total += y.sum().item()
    check(total == 499500)


@test(limit_s=90)
def tensors_of_other_libraries():
    """DLPack and __cuda_array_interface__: the same memory in CuPy."""
    cupy = support.need("cupy")
    torch = gpu_torch()
    x = torch.arange(1000, device="cuda", dtype=torch.float32)
    y = cupy.from_dlpack(x)
    y += 1
    cupy.cuda.get_current_stream().synchronize()
    check(x[5].item() == 6)
    z = torch.from_dlpack(cupy.arange(100))
    check(z.is_cuda and z.sum().item() == 4950)
    check(torch.as_tensor(cupy.ones(10), device="cuda").sum().item() == 10)


# ---- several processes, and shards on one GPU ----

def with_group(work, backend="nccl"):
    """work(torch, distributed) as the only member of a group."""
    torch = gpu_torch()
    import torch.distributed as distributed
    if backend == "nccl" and not distributed.is_nccl_available():
        raise support.Skip("PyTorch without NCCL")
    os.environ.update(NCCL_NVLS_ENABLE="0", TORCH_SYMM_MEM_DISABLE_MULTICAST="1", NVSHMEM_DISABLE_NVLS="1")
    torch.cuda.set_device(0)
    with tempfile.TemporaryDirectory() as folder:
        distributed.init_process_group(backend, init_method=f"file://{folder}/store", rank=0, world_size=1)
        try:
            work(torch, distributed)
        finally:
            distributed.destroy_process_group()


def train(torch, model):
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    x = torch.randn(32, 64, generator=torch.Generator().manual_seed(3)).cuda()
    losses = []
    for _ in range(10):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    check(losses[-1] < losses[0], losses)


def layers(torch):
    torch.manual_seed(5)
    return torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 8)).cuda()


@test(limit_s=120)
def weights_in_shards():
    """FSDP, old and new."""
    def work(torch, _):
        from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
        train(torch, FullyShardedDataParallel(layers(torch), device_id=0))
        model = layers(torch)
        fully_shard(model[0])
        fully_shard(model)
        train(torch, model)
    with_group(work)


@test(limit_s=120)
def gradients_by_gloo():
    def work(torch, distributed):
        train(torch, torch.nn.parallel.DistributedDataParallel(layers(torch), device_ids=[0]))
        x = torch.ones(1000, device="cuda")
        distributed.all_reduce(x)
        check(x.sum().item() == 1000)
    with_group(work, "gloo")


@test(limit_s=120)
def gradients_by_nccl():
    def work(torch, distributed):
        train(torch, torch.nn.parallel.DistributedDataParallel(layers(torch), device_ids=[0]))
        x = torch.arange(1000.0, device="cuda")
        pending = distributed.all_reduce(x, async_op=True)
        pending.wait()
        check(x.sum().item() == 499500)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):  # NCCL in a graph
            y = x * 2
            distributed.all_reduce(y)
        graph.replay()
        check(y.sum().item() == 999000)
    with_group(work)


@test(limit_s=120)
def tensors_spread_over_a_mesh():
    def work(torch, _):
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor import Replicate, Shard, distribute_tensor
        mesh = init_device_mesh("cuda", (1,))
        x = distribute_tensor(torch.arange(64.0).reshape(8, 8).cuda(), mesh, [Shard(0)])
        y = distribute_tensor(torch.eye(8).cuda(), mesh, [Replicate()])
        check(torch.equal((x @ y).full_tensor().cpu(), torch.arange(64.0).reshape(8, 8)))
        check(torch.equal(x.redistribute(mesh, [Replicate()]).to_local().cpu(), torch.arange(64.0).reshape(8, 8)))
    with_group(work)


def give_back_doubled(number, queue, answers):
    import torch
    for _ in range(5):
        x = queue.get()
        answers.put((number, (x * 2).sum().item()))
        del x
    queue.get()
    torch.cuda.synchronize()


@test(limit_s=120)
def tensors_go_through_queues():
    torch = gpu_torch()
    context = torch.multiprocessing.get_context("spawn")
    queues, answers = [context.Queue() for _ in range(2)], context.Queue()
    processes = [context.Process(target=give_back_doubled, args=(i, queue, answers), daemon=True)
                 for i, queue in enumerate(queues)]
    for process in processes:
        process.start()
    kept = []
    for i in range(5):
        for queue in queues:
            kept.append(torch.full((1000,), float(i), device="cuda"))
            queue.put(kept[-1])
    said = [answers.get(timeout=80) for _ in range(10)]
    check(sorted(value for _, value in said) == sorted(2000.0 * i for i in range(5) for _ in range(2)), said)
    for queue in queues:
        queue.put(None)
    for process in processes:
        process.join(20)
        check(process.exitcode == 0, process.exitcode)


@test(limit_s=90)
def no_fork_after_the_gpu_is_used():
    torch = gpu_torch()
    torch.zeros(1, device="cuda")
    child = os.fork()
    if not child:
        try:
            torch.zeros(1, device="cuda")
        except RuntimeError as error:
            os._exit(0 if "fork" in str(error) else 1)
        os._exit(2)
    check(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0)
    check(torch.ones(5, device="cuda").sum().item() == 5)


@test(limit_s=90)
def errors_tell_their_place():
    """CUDA_LAUNCH_BLOCKING: each launch is waited for."""
    os.environ["CUDA_LAUNCH_BLOCKING"] = "1"
    torch = gpu_torch()
    x, index = torch.zeros(10, device="cuda"), torch.tensor([99], device="cuda")
    error = raises(getattr(torch, "AcceleratorError", RuntimeError), lambda: x[index])
    check("device-side assert" in str(error))


if __name__ == "__main__":
    support.main()
