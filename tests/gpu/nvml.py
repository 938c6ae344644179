"""nvidia-smi and pynvml on the library of aitherion."""
import os
import shutil
import subprocess

import support
from support import check, need, same, test


def smi(*arguments):
    if not shutil.which("nvidia-smi"):
        raise support.Skip("no nvidia-smi here")
    result = subprocess.run(["nvidia-smi", *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30,
                            check=False)
    print(result.stdout)
    check(result.returncode == 0, "nvidia-smi ended with", result.returncode)
    return result.stdout


@test(limit_s=60)
def smi_lists_the_gpus():
    same("list", smi("-L").strip())


@test(limit_s=60)
def smi_answers_what_it_is_asked():
    fields = "index,name,uuid,pci.bus_id,driver_version,memory.total,compute_cap,power.limit,clocks.max.sm,ecc.mode.current"
    same("csv", smi(f"--query-gpu={fields}", "--format=csv,noheader").strip())


@test(limit_s=60)
def smi_shows_its_table():
    check("NVIDIA-SMI" in smi(), "no table")


@test(limit_s=60)
def smi_tells_all():
    check("Product Name" in smi("-q"), "no report")


@test(limit_s=60)
def smi_shows_the_topology():
    rows = [line.split() for line in smi("topo", "-m").splitlines() if line.startswith("GPU")]
    same("cells", [row[:1 + len(rows)] for row in rows])  # those behind are of network ports: a server's GPUs are far from them
    same("nodes", smi("topo", "-C", "-i", "0").strip())


def nvml():
    pynvml = need("pynvml")
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        support.lacks(f"NVML: {error}")
    return pynvml


@test(limit_s=60)
def pynvml_says_what_the_devices_are():
    pynvml = nvml()
    same("driver", pynvml.nvmlSystemGetDriverVersion())
    same("CUDA", pynvml.nvmlSystemGetCudaDriverVersion())
    same("count", pynvml.nvmlDeviceGetCount())
    for i in range(pynvml.nvmlDeviceGetCount()):
        device = pynvml.nvmlDeviceGetHandleByIndex(i)
        same("name", pynvml.nvmlDeviceGetName(device))
        same("uuid", pynvml.nvmlDeviceGetUUID(device))
        same("serial", pynvml.nvmlDeviceGetPciInfo(device).busId)
        same("memory", pynvml.nvmlDeviceGetMemoryInfo(device).total)
        same("capability", pynvml.nvmlDeviceGetCudaComputeCapability(device))
        same("cores", pynvml.nvmlDeviceGetNumGpuCores(device))
        check(0 < pynvml.nvmlDeviceGetTemperature(device, pynvml.NVML_TEMPERATURE_GPU) < 120)
        check(0 <= pynvml.nvmlDeviceGetUtilizationRates(device).gpu <= 100)
        check(pynvml.nvmlDeviceGetPowerUsage(device) > 0)
    pynvml.nvmlShutdown()


@test(limit_s=90, alone=True)
def pynvml_sees_what_a_program_takes():
    pynvml = nvml()
    torch = support.gpu_torch()
    device = pynvml.nvmlDeviceGetHandleByIndex(0)
    torch.zeros(1, device="cuda")
    before = pynvml.nvmlDeviceGetMemoryInfo(device).used
    x = torch.empty(4 << 30, dtype=torch.uint8, device="cuda")
    grown = pynvml.nvmlDeviceGetMemoryInfo(device).used - before
    check(abs(grown - x.nbytes) <= 64 << 20, "grown by", grown)


@test(limit_s=90)
def pytorch_asks_nvml():
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
    torch = support.gpu_torch()
    need("pynvml")
    check(0 <= torch.cuda.utilization() <= 100)
    check(0 < torch.cuda.temperature() < 120)
    check(torch.cuda.device_memory_used() > 0)


if __name__ == "__main__":
    support.main()
