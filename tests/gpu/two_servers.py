"""Programs with their GPUs at two servers (tests/gpu/run --two-servers): both are in one list, also in NVML's."""
import ctypes

import nvml
import support
from support import check, digest, need, same, test

GIB = 1 << 30


@test(limit_s=150, servers=2)
def pytorch_has_the_gpus_of_both():
    torch = support.gpu_torch(True)
    first, last = torch.device("cuda:0"), torch.device("cuda", torch.cuda.device_count() - 1)
    check(support.MODE == "native" or last.index == 1, "devices:", torch.cuda.device_count())

    a = torch.arange(1 << 20, dtype=torch.float32, device=first)
    same("copied", ((a * 2).to(last) + 1).double().sum().item())

    net = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(16 * 30 * 30, 10))
    x = torch.randn(8, 3, 32, 32)
    for place in (first, last):
        net.to(place).zero_grad()
        net(x.to(place)).sum().backward()
        same("gradients", support.bits(net[0].weight.grad))

    stream, event = torch.cuda.Stream(last), torch.cuda.Event()
    with torch.cuda.device(first):
        for _ in range(50):
            a.mul_(1.0001)
        event.record()
    with torch.cuda.stream(stream):
        stream.wait_event(event)
        z = torch.ones(1000, device=last).sum()
    stream.synchronize()
    check(event.query() and z.item() == 1000, "the event was not waited for")

    host = torch.randn(1 << 22).pin_memory()
    there = [host.to(place, non_blocking=True) for place in (first, last)]
    for place in (first, last):
        torch.cuda.synchronize(place)
    check(all(torch.equal(one.cpu(), host) for one in there), "what was copied is something else")


@test(limit_s=90, servers=2)
def cupy_has_the_gpus_of_both():
    cupy = need("cupy")
    values = []
    for number in (0, cupy.cuda.runtime.getDeviceCount() - 1):
        with cupy.cuda.Device(number):
            x = cupy.arange(1 << 16, dtype=cupy.float64).reshape(256, 256)
            values.append(cupy.asnumpy(x @ x.T))
    same("products", digest(values[0]))
    check((values[0] == values[1]).all(), "not the same at the second server")


# ---- NVML ----

class Memory(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]


def handles(library):
    """The NVML handles of all devices."""
    count = ctypes.c_uint()
    check(not library.nvmlInit_v2() and not library.nvmlDeviceGetCount_v2(ctypes.byref(count)), "NVML does not begin")
    found = [ctypes.c_void_p() for _ in range(count.value)]
    for i, handle in enumerate(found):
        check(not library.nvmlDeviceGetHandleByIndex_v2(i, ctypes.byref(handle)), "no device", i)
    return found


def used_bytes(library, handle):
    memory = Memory()
    check(not library.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)), "no memory told")
    return memory.used


@test(limit_s=60, servers=2, native=False)
def nvml_lists_the_gpus_of_both():
    library, index = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_uint()
    found = handles(library)
    check(len(found) == 2, "devices:", len(found))
    for i, handle in enumerate(found):
        name = ctypes.create_string_buffer(96)
        check(not library.nvmlDeviceGetIndex(handle, ctypes.byref(index)) and index.value == i, "index", index.value, "of device", i)
        check(not library.nvmlDeviceGetName(handle, name, len(name)) and name.value, "device", i, "has no name")
    check(found[0].value != found[1].value, "one device has two places")


@test(limit_s=60, servers=2, native=False, alone=True)
def nvml_sees_what_a_program_takes_at_the_second():
    if support.IS_SIM:
        raise support.Skip("the simulated NVML does not see what programs take")
    library, cuda = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.CDLL("libcuda.so.1")
    second = handles(library)[1]
    context, address = ctypes.c_void_p(), ctypes.c_uint64()
    check(not cuda.cuInit(0) and not cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 1), "no context")
    before = used_bytes(library, second)
    check(not cuda.cuCtxSetCurrent(context) and not cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(GIB)), "no memory")
    grown = used_bytes(library, second) - before
    check(abs(grown - GIB) <= 64 << 20, "grown by", grown)


@test(limit_s=60, servers=2, native=False)
def smi_lists_the_gpus_of_both():
    lines = nvml.smi("-L").strip().splitlines()
    check([line[:6] for line in lines] == ["GPU 0:", "GPU 1:"], "lists:", lines)


@test(limit_s=60, servers=2, native=False)
def smi_shows_its_table_of_both():
    check(nvml.smi().count("Default") == 2, "not two devices")


if __name__ == "__main__":
    support.main()
