"""Run in a process of its own: NVML as pynvml and PyTorch use it, with ctypes; prints what it found as JSON.

    pynvml_manner.py LIBRARY [SECONDS]   says "paused", and waits for a line, in which time the server may end the session. Behind it,
                                         it waits SECONDS for a server that is gone.
"""
import ctypes
import json
import os
import sys
import threading
import time

LIBRARY = ctypes.CDLL(sys.argv[1])
LIBRARY.nvmlErrorString.restype = ctypes.c_char_p
SAID = {}


class Memory(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]


class MemoryV2(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint)] + [(name, ctypes.c_ulonglong) for name in ("total", "reserved", "free", "used")]


class PciInfo(ctypes.Structure):
    _fields_ = [("busIdLegacy", ctypes.c_char * 16), *((name, ctypes.c_uint) for name in ("domain", "bus", "device", "id", "subsystem")),
                ("busId", ctypes.c_char * 32)]


class FieldValue(ctypes.Structure):
    _fields_ = [("fieldId", ctypes.c_uint), ("scopeId", ctypes.c_uint), ("timestamp", ctypes.c_longlong),
                ("latencyUsec", ctypes.c_longlong), ("valueType", ctypes.c_uint), ("nvmlReturn", ctypes.c_uint),
                ("value", ctypes.c_ulonglong)]


def call(name, *arguments):
    return getattr(LIBRARY, name)(*arguments)


def number(name, *arguments):
    value = ctypes.c_uint()
    status = call(name, *arguments, ctypes.byref(value))
    return value.value if not status else -status


def text(name, *arguments, room=96):
    value = ctypes.create_string_buffer(room)
    status = call(name, *arguments, value, ctypes.c_uint(room))
    return value.value.decode() if not status else -status


def handle(name, *arguments):
    value = ctypes.c_void_p()
    status = call(name, *arguments, ctypes.byref(value))
    return value if not status else -status


def memory(device):
    info = Memory()
    status = call("nvmlDeviceGetMemoryInfo", device, ctypes.byref(info))
    return [info.total, info.free, info.used] if not status else -status


def memory_v2(device, version=None):
    info = MemoryV2(ctypes.sizeof(MemoryV2) | 2 << 24 if version is None else version)
    status = call("nvmlDeviceGetMemoryInfo_v2", device, ctypes.byref(info))
    return [info.total, info.reserved, info.free, info.used] if not status else -status


def look_at(device):
    pci = PciInfo()
    call("nvmlDeviceGetPciInfo_v3", device, ctypes.byref(pci))
    major, minor = ctypes.c_int(), ctypes.c_int()
    call("nvmlDeviceGetCudaComputeCapability", device, ctypes.byref(major), ctypes.byref(minor))
    use = (ctypes.c_uint * 2)(7, 7)
    call("nvmlDeviceGetUtilizationRates", device, use)
    fields = (FieldValue * 2)(FieldValue(fieldId=1), FieldValue(fieldId=2))
    field_status = call("nvmlDeviceGetFieldValues", device, 2, fields)
    uuid = text("nvmlDeviceGetUUID", device)
    return {"name": text("nvmlDeviceGetName", device), "uuid": uuid, "index": number("nvmlDeviceGetIndex", device),
            "short": text("nvmlDeviceGetName", device, room=4), "bus": pci.busId.decode(), "capability": [major.value, minor.value],
            "memory": memory(device), "memory_v2": memory_v2(device), "memory_no_version": memory_v2(device, 0),
            "memory_too_large": memory_v2(device, 0xffff | 2 << 24), "use": list(use), "fields": [field_status, fields[0].nvmlReturn],
            "temperature": number("nvmlDeviceGetTemperature", device, 0), "power": number("nvmlDeviceGetPowerUsage", device),
            "by_uuid": handle("nvmlDeviceGetHandleByUUID", uuid.encode()).value == device.value,
            "by_bus": handle("nvmlDeviceGetHandleByPciBusId_v2", pci.busId).value == device.value,
            "fan": number("nvmlDeviceGetFanSpeed", device), "compute": processes(device)}


def processes(device):
    count = ctypes.c_uint(0)
    status = call("nvmlDeviceGetComputeRunningProcesses_v3", device, ctypes.byref(count), None)
    return [status, count.value]


def clocks(device):
    """Gets a list, after asking for its length."""
    count, values = ctypes.c_uint(0), (ctypes.c_uint * 4)()
    first = call("nvmlDeviceGetSupportedMemoryClocks", device, ctypes.byref(count), None)
    needed, count.value = count.value, 4
    second = call("nvmlDeviceGetSupportedMemoryClocks", device, ctypes.byref(count), values)
    return [first, needed, second, count.value, values[0], values[1]]


def events(device):
    """A thread that waits does not delay another thread."""
    made, data = handle("nvmlEventSetCreate"), (ctypes.c_ubyte * 32)()
    registered = call("nvmlDeviceRegisterEvents", device, ctypes.c_ulonglong(8), made)
    for wait_ms in (1500, 15000, 60000):  # on a machine that is busy the question may take longer than the first
        others = []
        waiter = threading.Thread(target=lambda: others.append(call("nvmlEventSetWait_v2", made, data, wait_ms)))
        begun = time.monotonic()
        waiter.start()
        time.sleep(0.1)
        asked = number("nvmlDeviceGetPowerUsage", device)
        went_on = not others
        waiter.join()
        if went_on:
            break
    waited = time.monotonic() - begun > 0.9 * wait_ms / 1000
    return [registered, asked > 0, went_on, others[0], waited, call("nvmlEventSetFree", made), call("nvmlEventSetFree", made)]


def apart(one, other):
    """The topology between two devices: (status, NVML_TOPOLOGY_..., status, whether they are on one board)."""
    level, board = ctypes.c_int(-1), ctypes.c_int(-1)
    return [call("nvmlDeviceGetTopologyCommonAncestor", one, other, ctypes.byref(level)), level.value,
            call("nvmlDeviceOnSameBoard", one, other, ctypes.byref(board)), board.value]


def table_of_nvidia_smi():
    """The functions of the table that nvidia-smi calls by their places; None if the library has no such table."""
    identity = (ctypes.c_uint8 * 16).from_buffer_copy(bytes.fromhex("c4fe3e6cc98f6c4ea327ee696e12f7c4"))
    table = ctypes.c_void_p()
    if not hasattr(LIBRARY, "nvmlInternalGetExportTable") or call("nvmlInternalGetExportTable", ctypes.byref(table), identity):
        return None
    places = ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))
    return lambda place, *arguments: ctypes.CFUNCTYPE(ctypes.c_int, *map(type, arguments))(places[place])(*arguments)


def topology_of_nvidia_smi(devices):
    """Answers to the questions of `nvidia-smi topo`: distances of addresses, and the NUMA nodes of the nearest processors."""
    table, known, level, nodes = table_of_nvidia_smi(), [], ctypes.c_uint(), (ctypes.c_ulong * 3)(7, 7, 7)
    if not table:
        return None
    for device in devices:
        known.append(PciInfo())
        call("nvmlDeviceGetPciInfo_v3", device, ctypes.byref(known[-1]))
    ids = [one.busId for one in known]
    pairs = [(ids[0], ids[-1]), (ids[0].lower(), known[-1].busIdLegacy), (ids[0], b"0000:99:00.0"), (b"nonsense", ids[0]), (None, ids[0])]
    found = []
    for one, other in pairs:
        level.value = 99
        found.append([table(23, ctypes.c_char_p(one), ctypes.c_char_p(other), ctypes.pointer(level)), level.value])
    status = table(223, devices[-1], ctypes.c_uint(2), nodes, ctypes.c_uint(0))
    return [found, status, list(nodes)]


def forked(device):
    """A child asks on a session of its own, and the parent's goes on."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, json.dumps([memory(device), text("nvmlDeviceGetName", device)]).encode())
        os._exit(0)
    os.close(writing)
    said = os.read(reading, 4096)
    os.waitpid(child, 0)
    return [json.loads(said), memory(device)]


def main():
    SAID["before"] = number("nvmlDeviceGetCount_v2")
    SAID["init"] = call("nvmlInit_v2")
    if SAID["init"]:
        return
    SAID["count"] = count = number("nvmlDeviceGetCount_v2")
    devices = [handle("nvmlDeviceGetHandleByIndex_v2", at) for at in range(count)]
    SAID["beyond"] = handle("nvmlDeviceGetHandleByIndex_v2", count)
    SAID["driver"] = text("nvmlSystemGetDriverVersion")
    SAID["cuda"] = number("nvmlSystemGetCudaDriverVersion_v2")
    SAID["devices"] = [look_at(device) for device in devices]
    SAID["again"] = [text("nvmlDeviceGetName", device) for device in devices]
    SAID["p2p"] = number("nvmlDeviceGetP2PStatus", devices[0], devices[-1], 0)
    SAID["apart"] = apart(devices[0], devices[-1])
    SAID["topology"] = topology_of_nvidia_smi(devices)
    SAID["nobody"] = text("nvmlDeviceGetName", ctypes.c_void_p(4711))
    SAID["null"] = text("nvmlDeviceGetName", None)
    SAID["clocks"] = clocks(devices[0])
    SAID["set"] = call("nvmlDeviceSetPowerManagementLimit", devices[0], 100)
    SAID["vgpu"] = number("nvmlDeviceGetHostVgpuMode", devices[0])
    SAID["events"] = events(devices[0])
    SAID["fork"] = forked(devices[0])
    if len(sys.argv) > 2:
        print("paused", flush=True)
        sys.stdin.readline()
        os.environ["AITHERION_CONNECT_TIMEOUT"] = sys.argv[2]
        SAID["after"] = [memory(devices[0]), memory(devices[0])]
        SAID["count_after"] = number("nvmlDeviceGetCount_v2")
        SAID["last_after"] = [memory(devices[-1]), number("nvmlDeviceGetIndex", devices[-1])]
    SAID["words"] = call("nvmlErrorString", 3).decode()
    SAID["shutdown"] = [call("nvmlInit_v2"), call("nvmlShutdown"), call("nvmlShutdown"), call("nvmlShutdown")]


main()
print(json.dumps(SAID))
