"""PyTorch in several processes: workers that load data, memory that is shared, NCCL, ends at any moment."""
import os
import subprocess
import sys
import tempfile

import support
from support import check, gpu_torch, same, test


def run(text, code=0, limit_s=60, **changes):
    """A program of its own; what it printed."""
    result = subprocess.run([sys.executable, "-c", text], env=dict(os.environ, **changes), text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, timeout=limit_s, check=False)
    print(result.stdout)
    check(result.returncode == code, "it ended with", result.returncode)
    return result.stdout


class Numbers:
    def __len__(self):
        return 256

    def __getitem__(self, i):
        import torch
        return torch.full((3, 64, 64), float(i)), i


@test(limit_s=120)
def workers_load_data_into_pinned_memory():
    torch = gpu_torch()
    torch.zeros(1, device="cuda")
    seen = 0
    loader = torch.utils.data.DataLoader(Numbers(), 16, num_workers=4, pin_memory=True, persistent_workers=True)
    for _ in range(2):
        for x, y in loader:
            check(x.is_pinned())
            x, y = x.to("cuda", non_blocking=True), y.to("cuda", non_blocking=True)
            check(torch.equal(x[:, 0, 0, 0].long(), y))
            seen += len(x)
    check(seen == 512)


def double_it(queue, answer):
    x = queue.get()
    x.mul_(2)
    import torch
    torch.cuda.synchronize()
    answer.put("done")
    queue.get()


def share():
    torch = gpu_torch()
    context = torch.multiprocessing.get_context("spawn")
    queue, answer = context.Queue(), context.Queue()
    process = context.Process(target=double_it, args=(queue, answer))
    process.start()
    x = torch.arange(1 << 20, device="cuda", dtype=torch.float32)
    queue.put(x)
    check(answer.get(timeout=60) == "done")
    check(torch.equal(x.cpu(), torch.arange(1 << 20) * 2.0))
    queue.put(None)
    process.join(30)
    check(process.exitcode == 0, process.exitcode)


@test(limit_s=120)
def memory_is_shared_with_another_process():
    """cudaIpc, and an event of it."""
    share()


@test(limit_s=120)
def expandable_segments_are_shared():
    """File descriptors of cuMemCreate()'s memory, which the other process takes with pidfd_getfd()."""
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
    share()


@test(limit_s=60)
def a_fork_before_the_gpu_is_used():
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # else to ask whether there is a GPU is to use it
    torch = gpu_torch()
    check(not torch.cuda.is_initialized())
    child = os.fork()
    if not child:
        os._exit(0 if torch.ones(1000, device="cuda").sum().item() == 1000 else 1)
    check(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0)
    check(torch.ones(10, device="cuda").sum().item() == 10)


@test(limit_s=60)
def ends_at_any_moment():
    gpu_torch()
    begin = "import torch, os, sys\nx = torch.randn(4096, 4096, device='cuda')\nfor _ in range(50): x = x @ x / 64\n"
    run(begin)
    run(begin + "sys.exit(3)", 3)
    run(begin + "os._exit(4)", 4)
    run(begin + "raise KeyError(1)", 1)


@test(limit_s=60)
def visible_devices():
    gpu_torch()
    text = "import torch; print('=', torch.cuda.device_count(), torch.cuda.is_available())"
    same("none", run(text, CUDA_VISIBLE_DEVICES="").strip())
    same("first", run(text, CUDA_VISIBLE_DEVICES="0").strip())
    same("last", run(text, CUDA_VISIBLE_DEVICES="-1").strip())
    same("beyond", run(text, CUDA_VISIBLE_DEVICES="99").strip())


# ---- NCCL ----

def member(rank, size, path, answers):
    import torch
    import torch.distributed as distributed
    torch.cuda.set_device(rank)
    distributed.init_process_group("nccl", init_method=f"file://{path}", rank=rank, world_size=size,
                                   device_id=torch.device("cuda", rank))
    said = {}
    for count in [1, 1000, 1 << 20, 1 << 24]:
        x = torch.full((count,), float(rank + 1), device="cuda")
        distributed.all_reduce(x)
        said[f"sum of {count}"] = (x.min().item(), x.max().item()) == (size * (size + 1) / 2,) * 2
    parts = [torch.zeros(100, device="cuda") for _ in range(size)]
    distributed.all_gather(parts, torch.full((100,), float(rank), device="cuda"))
    said["gathered"] = [part[5].item() for part in parts] == list(map(float, range(size)))
    x = torch.full((100,), float(rank), device="cuda")
    distributed.broadcast(x, size - 1)
    said["broadcast"] = x[7].item() == size - 1
    out = torch.zeros(100, device="cuda")
    distributed.reduce_scatter_tensor(out, torch.ones(100 * size, device="cuda"))
    said["scattered"] = out[3].item() == size
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 8).cuda(), device_ids=[rank])
    model(torch.randn(16, 64, device="cuda")).sum().backward()
    grad = model.module.weight.grad.sum().reshape(1)
    grads = [torch.zeros(1, device="cuda") for _ in range(size)]
    distributed.all_gather(grads, grad)
    said["gradients"] = all(one.item() == grads[0].item() for one in grads)
    distributed.barrier()
    distributed.destroy_process_group()
    answers.put((rank, said))


def nccl(size, is_refused=False):
    torch = gpu_torch()
    if not torch.distributed.is_nccl_available():
        raise support.Skip("PyTorch without NCCL")
    os.environ.update(NCCL_NVLS_ENABLE="0", TORCH_SYMM_MEM_DISABLE_MULTICAST="1", NVSHMEM_DISABLE_NVLS="1")
    os.environ.setdefault("NCCL_DEBUG", "WARN")
    with tempfile.TemporaryDirectory() as folder:
        context = torch.multiprocessing.get_context("spawn")
        answers = context.Queue()
        processes = [context.Process(target=member, args=(i, size, os.path.join(folder, "store"), answers), daemon=True)
                     for i in range(size)]
        for process in processes:
            process.start()
        for process in processes:
            process.join(75)
        if is_refused:
            check(all(process.exitcode for process in processes), [process.exitcode for process in processes])
            return
        check(all(process.exitcode == 0 for process in processes), [process.exitcode for process in processes])
        for _ in processes:
            rank, said = answers.get(timeout=5)
            check(all(said.values()), rank, said)


@test(limit_s=100)
def nccl_on_one_gpu():
    nccl(1)


@test(limit_s=100, gpus=2)
def nccl_on_two_gpus():
    nccl(2)


@test(limit_s=100, gpus=2)
def nccl_on_two_gpus_by_shared_memory():
    """Over tcp NCCL fails instead of waiting forever: a kernel does not see the writes of another host's processes to a mapped file."""
    os.environ["NCCL_P2P_DISABLE"] = "1"
    nccl(2, is_refused=support.MODE == "tcp")


if __name__ == "__main__":
    support.main()
