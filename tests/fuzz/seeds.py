#!/usr/bin/env python3
"""Writes inputs for the fuzz targets that read bytes of other processes: seeds.py TARGET FOLDER."""
import json
import os
import random
import socket
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "runtime"))

import runtime  # noqa: E402

NONCE = list(range(32))
HELLO = {"protocol": runtime.PROTOCOL, "protocolMin": runtime.PROTOCOL, "software": "fuzz", "nonce": NONCE, "host": "box",
         "process": 7, "keyName": "alice"}
QUESTIONS = ({"getHealth": None}, {"getDevices": None}, {"getSessions": None}, {"endSession": "7"}, {"limitServer": 0.5},
             {"limitSession": {"id": "7", "device": 1, "memoryLimitBytes": "4096"}},
             {"nvml": {"calls": [{"function": 3, "given": []}]}}, {"getFigures": None})


def hello(purpose, has_key):
    return runtime.encode({"hello": dict(HELLO, purpose=purpose, hasKey=has_key)})


# ---- a client of a server (fuzz_session.c): its first bytes choose the server, the client's rights and what is on the board ----


def session_seeds():
    key, folder, tcp, metrics = 1, 2, 4, 8
    proof = runtime.encode({"proof": {"mac": [5] * 32}})
    questions = b"".join(runtime.encode(question) for question in QUESTIONS)
    channel = runtime.encode({"openChannel": {"transport": "tcp", "program": "train", "stripes": 3, "memoryLimitBytes": "65536",
                                              "environment": [{"name": name, "value": value} for name, value in (
                                                  ("CUDA_VISIBLE_DEVICES", "1,0"), ("CUDA_DEVICE_ORDER", "PCI_BUS_ID"),
                                                  ("AITHERION_DISABLE", "overlap"), ("CUDA_MODULE_LOADING", "LAZY"))]}})
    for bits in (0, key, folder, tcp, tcp | key):
        has_key = bool(bits & (key | folder))
        yield bytes([bits, 1, 0]) + hello("control", has_key) + proof + questions
        yield bytes([bits, 1, 0]) + hello("cuda", has_key) + proof + channel
    test = runtime.encode({"openChannel": {"transport": "tcp", "program": "aitherion net test", "isNetTest": True}})
    for which, (kind, connections, count, given) in enumerate((("echo", 1, 3, 3 * 64), ("toServer", 1, 0, 64), ("fromServer", 1, 0, 0),
                                                               ("toServer", 0, 0, 64), ("fromServer", 0, 0, 0), ("toServer", 2, 0, 0))):
        look, moved = (runtime.encode({"netTest": {"kind": word, "connections": connections, "bytes": "64", "count": number}})
                       for word, number in (("look", 0), (kind, count)))
        yield bytes([0 if which % 2 else tcp, 1, 0]) + hello("cuda", False) + proof + test + look + moved + b"\7" * given + look
    yield bytes([0, 1, 255]) + bytes(random.Random(1).randbytes(255 * 8)) + hello("control", False) + proof + questions
    yield bytes([metrics, 0, 40]) + b"\1" * 320 + b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
    yield bytes([metrics, 0, 0]) + b"POST / HTTP/1.0\n\n"
    yield bytes([tcp | key, 0, 0]) + client_hello()


def client_hello():
    """The first record of a TLS 1.3 client with a PSK (RFC 8446, 4.1.2), whose binder is wrong."""
    def vector(size, data):
        return len(data).to_bytes(size, "big") + data
    identity = vector(2, b"alice") + b"\0" * 4
    extensions = [(43, vector(1, b"\3\4")), (45, vector(1, b"\1")), (51, vector(2, b"\0\x1d" + vector(2, b"\7" * 32))),
                  (10, vector(2, b"\0\x1d")), (41, vector(2, identity) + vector(2, vector(1, b"\0" * 32)))]
    body = b"\3\3" + b"\5" * 32 + vector(1, b"") + vector(2, b"\x13\1") + vector(1, b"\0")
    body += vector(2, b"".join(struct.pack(">H", kind) + vector(2, data) for kind, data in extensions))
    return b"\x16\3\1" + vector(2, b"\1" + vector(3, body))


# ---- a server of control sessions (fuzz_answers.c) ----


def answer_seeds():
    def opening(has_key):
        challenge = {"protocol": runtime.PROTOCOL, "nonce": NONCE, "wantsKey": has_key, "session": "5"}
        return runtime.encode({"challenge": challenge}) + runtime.encode({"welcome": {"mac": [0] * 32, "session": "5"}})
    device = {"pci": "0004:04:00.0", "uuid": "GPU-1", "name": "a\u001b[31mb"}
    problem = {"severity": "fault", "code": "no-devices", "object": "x", "message": "no device"}
    health = {"health": {"software": "fuzz", "node": "0", "devices": [device, device], "problems": [problem], "address": "a:1"}}
    sessions = {"sessions": {"sessions": [{"id": "4", "purpose": "cuda", "peer": "p", "program": "a\tb", "host": "h",
                                           "devices": [{"device": 1, "memoryLimitSource": "set"}]}]}}
    figures = {"figures": {"devices": [{"busyPercent": "7"}], "sessions": [{"id": "4", "waits": list("123456789"), "transport": "a\tb"}]}}
    done, failure = {"done": None}, {"failure": {"code": "notFound", "message": "there is none"}}
    for has_key in (False, True):
        for first, answers in ((0, (health, sessions, done, done, done, figures)), (1, (sessions, failure, done)), (2, (done, failure)),
                               (5, (figures, health))):
            yield bytes([has_key | first << 1]) + opening(has_key) + b"".join(runtime.encode(answer) for answer in answers)
        for answers in net_test_answers():
            yield bytes([has_key | 128]) + opening(has_key) + answers
        yield bytes([has_key]) + runtime.encode({"refusal": {"reason": "busy", "message": "too many\n"}})


def echoed(count):
    """The bytes of an echo (fill() in src/remote/net_test/lanes.c)."""
    state = 1
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        yield state >> 56


def net_test_answers():
    """The server's side of a test of one path, as fuzz_answers.c plans it: 4096 bytes in each direction."""
    def done(**members):
        return runtime.encode({"netTestDone": members})
    look = done() + done(sentAgain="2")
    for is_net_test, rate in ((True, {"bytes": "3584", "timeNs": "1"}), (True, {"bytes": "4097", "timeNs": "1"}), (False, {})):
        yield (runtime.encode({"channel": {"transport": "tcp", "isNetTest": is_net_test}}) + done() + bytes(echoed(64)) * 10 + done()
               + look + done() + done(**rate) + look + look + done() + b"\7" * 4096 + done() + look)


# ---- unproven clients and sessions (fuzz_listener.c): steps ----


def listener_seeds():
    def client(number, *pieces):
        return bytes([0, number, 1, number % 3]) + bytes(4) + b"".join(bytes([1, number]) + struct.pack("<H", len(piece)) + piece for piece in pieces)

    def report(slot, kind, asks=0, device=0, object_=0, name=0, amount=0, fraction=0.0, ends=0, purpose=1):
        return bytes([5, slot, kind]) + struct.pack("<IIQQqdQi", asks, device, object_, name, amount, fraction, ends, purpose) + b"\0"
    join, long_join = (runtime.encode({"join": {"session": "1", "number": 1, "mac": [3] * count}}) for count in (32, 80))
    first = hello("cuda", True)
    three = b"".join(client(i, first) + bytes(4) for i in range(3))
    yield client(0, first[:4], first[4:]) + bytes(4) + client(1, join) + client(2, join[:9], join[9:]) + report(0, 0) + client(3, join)
    yield client(0, first) + bytes(4) + client(1, long_join)
    yield client(0, b"GET / HTTP/1.0\r\n\r\n") + client(1, b"\x16\3\1") + bytes(4) + client(2, first[:6]) + b"\x0b\2"
    yield three + report(0, 0) + report(1, 2) + report(2, 0, purpose=0) + report(2, 0, ends=1) + report(2, 0, ends=2) + b"\x0c\0"
    yield three + report(0, 0) + report(1, 2) + b"".join(
        report(slot, 16, asks, 0, 1, 5, 4096) for asks in range(1, 10) for slot in (0, 1)) + b"\x0c\0\x0c\1"
    rng = random.Random(2)
    for _ in range(6):
        yield three + report(0, 0) + report(1, 2) + b"".join(
            bytes([5, slot, rng.randrange(256) & 0x7e]) + rng.randbytes(52) + b"\0" for slot in range(3) for _ in range(6))


# ---- files (fuzz_files.c) ----

STATE = b"""{"schema":"aitherion.process-state/1","id":3,"name":"aitherion-numa3","boot_id":"b","supervisor":{"pid":1,"start_ticks":2,
"session":3},"runtime":{"pid":4,"start_ticks":5,"started_s":6},"restarts":0,"exit_code":0,"is_waiting":true,"plan":"p",
"socket":"s","macvlans":"a,b","cgroups":["/x","/y"]}"""
CDI = b"""cdiVersion: 0.5.0
kind: nvidia.com/gpu
devices:
- name: GPU-1
  containerEdits: {deviceNodes: [{path: /dev/nvidia0}, {hostPath: /dev/nvidiactl, path: /x}]}
- {name: all, containerEdits: {deviceNodes: [{path: /dev/nvidia0}, {path: /dev/nvidia1}]}}
containerEdits: {mounts: [{hostPath: /usr/lib/libcuda.so.535.104.05}]}
"""


def file_seeds():
    yield b"\0# rows\nalice memory_bytes=4294967296 sessions=2 gpus=0004:04:00.0,0004:05:00.0\nteam-a memory_percent=50\nop admin\n"
    yield b"\1" + STATE
    yield b"\2" + CDI
    yield b"\3         0          0 4294967295\n"
    yield b"\3         0     100000      65536\n     65536     200000       1024\n"


# ---- the kernel (fuzz_netlink.c) ----


def netlink_seeds():
    def attribute(kind, data):
        return struct.pack("<HH", 4 + len(data), kind) + data + b"\0" * (-len(data) % 4)

    def message(kind, body, flags=2):
        return struct.pack("<IHHII", 16 + len(body), kind, flags, 0, 0) + body + b"\0" * (-len(body) % 4)

    def piece(*messages):
        data = b"".join(messages)
        return struct.pack("<H", len(data)) + data
    done, accepted = message(3, bytes(4)), message(2, bytes(20))
    info = attribute(18, attribute(1, b"macvlan\0") + attribute(2, attribute(1, struct.pack("<I", 4))))
    link = message(16, struct.pack("<BBHiII", 0, 0, 1, 2, 0x10043, 0) + attribute(3, b"eth0\0") + attribute(4, struct.pack("<I", 1500))
                   + attribute(1, b"\2\0\0\0\0\1") + attribute(20, b"aitherion:x\0") + attribute(16, b"\6") + info)
    address = message(20, struct.pack("<BBBBI", socket.AF_INET, 24, 0x80, 0, 2) + attribute(2, b"\x0a\0\0\1") + attribute(8, struct.pack("<I", 0x80)))
    route = message(24, struct.pack("<BBBBBBBBI", socket.AF_INET, 24, 0, 0, 254, 4, 0, 1, 0) + attribute(1, b"\x0a\0\1\0")
                    + attribute(4, struct.pack("<I", 2)) + attribute(15, struct.pack("<I", 254)))
    refused = message(2, struct.pack("<i", -22) + bytes(16) + attribute(1, b"no such thing\0"), flags=0x300)
    device = message(0x1401, attribute(1, struct.pack("<I", 1)) + attribute(2, b"mlx5_0\0"))
    port = message(0x1405, attribute(3, struct.pack("<I", 1)) + attribute(12, b"\4") + attribute(51, struct.pack("<I", 2)) + attribute(52, b"eth0\0"))
    yield b"\0" + piece(link) + piece(done) + piece(address, done) + piece(route, done)
    yield b"\0" + piece(refused)
    yield b"\1" + piece(link, accepted)
    yield b"\2" + piece(accepted)
    yield b"\2" + piece(refused)
    yield b"\3" + piece(device, done) + piece(port, done)
    yield b"\4" + piece(message(0x1406, attribute(66, b"\1")), accepted)


# ---- Docker (fuzz_docker.c) ----

OBJECT = b"""{"Id":"abc","Name":"/aitherion-numa0","Image":"sha256:1","Created":"2024-01-01T00:00:00Z","RepoTags":["a:b","c"],"Size":5,
"Architecture":"amd64","Driver":"macvlan","Labels":{"org.aitherion.node":"0"},"Containers":{"x":{}},"StatusCode":3,"Error":null,
"State":{"Status":"running","Running":true,"Pid":5,"ExitCode":0,"OOMKilled":false,"Health":{"Status":"healthy"}},
"Config":{"Image":"a:b","Tty":true,"Labels":{"a":"b"}},"HostConfig":{"NetworkMode":"host"},"MinAPIVersion":"1.24","ApiVersion":"1.43",
"Version":"24.0.5","Runtimes":{"runc":{},"nvidia":{}},"CDISpecDirs":["/etc/cdi"],"CgroupVersion":"2","NCPU":8,"MemTotal":1024}"""
LINES = (b'{"Type":"container","Action":"die","Actor":{"ID":"x","Attributes":{"exitCode":"1","name":"n"}},"timeNano":5}\n'
         b'{"stream":"Loaded image: a:b\\n"}\n{"status":"Loading layer","progressDetail":{"current":1,"total":2},"id":"x"}\n')
FRAMES = b"\1\0\0\0\0\0\0\5hello\2\0\0\0\0\0\0\3bad\3\0\0\0\0\0\0\4oops"


def docker_seeds():
    def http(body, head=b"", status=b"200 OK"):
        return b"HTTP/1.1 " + status + b"\r\nContent-Length: %d\r\n" % len(body) + head + b"\r\n" + body
    kinds = range(13)
    for kind in kinds:
        body = b"[" + OBJECT + b"]" if kind in (1, 5, 7) else LINES if kind in (9, 10) else OBJECT
        yield bytes([kind]) + http(body, b"Api-Version: 1.43\r\n")
    yield b"\3" + http(FRAMES, b"Content-Type: application/vnd.docker.multiplexed-stream\r\n")
    yield b"\0" + http(b'{"message":"no such container"}', status=b"404 Not Found")
    yield b"\0HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"Id\"\r\n0\r\n\r\n"


# ---- images of modules (fuzz_image.c) ----

PTX = (b".version 8.0\n.target sm_90\n.address_size 64\n.visible .global .align 4 .b8 a[64];\n.extern .global .b8 e[5];\n"
       b".global .attribute(.managed) .v4 .f32 m[3][5] = { 1, 2 }, n; // x\n.entry k() { ld.global.u32 %r1, [a]; }\n\0")


def elf():
    names = b"\0.text.k\0.nv.global\0.nv.shared.k\0"
    rows = [(0, 3, 0, 64, len(names)), (1, 1, 2, 64, 40), (9, 8, 3, 0, 4096), (20, 8, 3, 0, 512)]
    table = b"".join(struct.pack("<IIQQQQIIQQ", name, kind, flags, 0, offset, size, 0, 0, 1, 0) for name, kind, flags, offset, size in rows)
    head = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, 64 + len(names), 0, 64, 56, 0, 64, len(rows), 0)
    return head + names + table


def fat_binary(*parts):
    rest = b"".join(struct.pack("<HHIQ", kind, 0x101, 64, len(code)) + bytes(48) + code for kind, code in parts)
    return struct.pack("<IHHQ", 0xba55ed50, 1, 16, len(rest)) + rest


def image_seeds():
    yield PTX
    yield elf()
    yield fat_binary((1, PTX), (2, elf()))
    yield fat_binary()


# ---- calls with a driver that frees (fuzz_cuda_session.c): its number() says how numbers are read ----

SMALL, RECENT, POWER = 0, 1, 5


def favoured():
    """The calls that the target favours; their places are their numbers."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fuzz_cuda_session.c")
    with open(path, encoding="utf-8") as file:
        rows = file.read().split("favoured[] = {")[1].split("}")[0]
    return [row.strip(' \n"') for row in rows.split(",") if row.strip()]


def call_seeds():
    names = favoured()

    def call(name, *numbers, kind=0):
        data = bytes([kind]) + b"".join(numbers)
        return struct.pack("<HB", names.index(name) << 1 | 1, len(data)) + data
    zero, one, flags = bytes([SMALL]), bytes([1 << 3 | SMALL]), bytes([1 << 3 | SMALL])
    last, second, third = (bytes([age << 3 | RECENT]) for age in range(3))
    size = bytes([16 << 3 | POWER, 0])
    mirror = call("cuMemHostRegister_v2", bytes([0 << 3 | 3]), size, bytes([2 << 3 | SMALL]))
    managed, plain = call("cuMemAllocManaged", size, flags), call("cuMemAlloc_v2", size)
    bring, sync = call("athPushMemory", b"\1", last, zero, b"\x42", b"\x80"), call("cuCtxSynchronize")
    reset, free, again = call("cuDevicePrimaryCtxReset_v2", zero), call("cuMemFree_v2", last), call("cuDevicePrimaryCtxRetain", zero)
    own, end = call("cuCtxCreate_v2", zero, zero), call("cuCtxDestroy_v2", last)
    image = (b"\1", zero, b"\0", b"\0\0")  # one, which is in the call: the target's own code
    stream, end_stream = call("cuStreamCreate", one), call("cuStreamDestroy_v2", last)
    module, library = call("cuModuleLoadDataEx", zero, *image), call("cuLibraryLoadData", zero, *image)
    yield managed + sync + free + sync + free
    yield managed + reset + sync + again + managed + sync
    yield own + call("cuMemAllocManaged", last, size, flags, kind=0x10) + end + sync
    yield mirror + sync + call("cuMemHostUnregister", bytes([3])) + sync + bring
    yield plain + free + free + call("cuMemsetD8Async", last, one, size)
    yield stream + end_stream + end_stream + call("cuStreamSynchronize", last) + call("cuLaunchKernel", second, one, one, one, last)
    yield module + call("cuModuleGetFunction", last, b"\0") + call("cuModuleUnload", second) + call("cuLaunchKernel", last, one, one)
    yield library + call("cuLibraryGetManaged", last, b"\1") + sync + call("cuLibraryUnload", third) + sync + call("cuLibraryUnload", third)
    rng = random.Random(4)
    parts = (managed, plain, mirror, bring, sync, reset, free, again, own, end, stream, end_stream, module, library)
    for _ in range(24):
        yield b"".join(rng.choice(parts) if rng.random() < 0.6 else struct.pack("<HB", rng.randrange(2000) | 1, 12) + rng.randbytes(12)
                       for _ in range(rng.randrange(5, 24)))


# ---- Kubernetes (fuzz_kubernetes.c): the first byte chooses the sender, in the order below ----


def kubernetes_seeds():
    limits = {"aitherion.io/gpu": "2", "aitherion.io/gpu-memory": "40Gi", "aitherion.io/gpu-share": "150", "ai.compute/vram": "1500m", "aitherion.io/gpu-tflops": "100"}
    annotations = {"aitherion.io/numa-policy": "single-numa", "aitherion.io/gpu-model": "a100-sxm4-80gb", "aitherion.io/preferred-model": "h100"}
    pod = {"metadata": {"name": "p", "namespace": "d", "uid": "1", "resourceVersion": "7", "annotations": annotations},
           "spec": {"priority": 10, "initContainers": [{"restartPolicy": "Always", "resources": {"requests": limits}}],
                    "containers": [{"name": "c", "env": [], "resources": {"limits": limits}}]}, "status": {"phase": "Pending"}}
    bound = {**pod, "metadata": {**pod["metadata"], "annotations": {**annotations, "aitherion.io/gpus": "a,b"}}, "spec": {**pod["spec"], "nodeName": "n1"}}
    node = {"metadata": {"name": "n1", "resourceVersion": "8"}, "status": {
        "phase": "Ready", "message": "m", "runtime": "10.0.0.1:50051", "numaNodes": [0, 8], "links": [{"devices": [0, 1], "bytesPerSecond": 3}],
        "devices": [{"uuid": name, "model": "h100", "memory": "80Gi", "numaNode": 8, "healthScore": 70} for name in "ab"]}}
    binding = {"PodName": "p", "PodNamespace": "d", "PodUID": "1", "Node": "n1"}
    victims = {"n1": {"Pods": [{"UID": "2"}], "NumPDBViolations": 1}, "n2": {"Pods": None}}
    question = {"Pod": pod, "Nodes": None, "NodeNames": ["n1", "n2", "n3"]}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "u", "operation": "UPDATE", "namespace": "d", "name": "p", "resource": {"resource": "pods"}, "subResource": "", "dryRun": False,
        "userInfo": {"username": "agent", "extra": {"authentication.kubernetes.io/node-name": ["n1"]}}, "object": bound, "oldObject": pod}}
    lease = {"metadata": {"resourceVersion": "3"}, "spec": {"holderIdentity": "other", "leaseDurationSeconds": 15, "leaseTransitions": 2}}
    status = {"kind": "Status", "message": "gone", "code": 410}

    def events(obj):
        rows = [("ADDED", obj), ("MODIFIED", obj), ("BOOKMARK", {"metadata": {"resourceVersion": "9"}}), ("DELETED", obj), ("ERROR", status)]
        return "\n".join(json.dumps({"type": kind, "object": row}) for kind, row in rows)

    def page(obj):
        return {"metadata": {"resourceVersion": "5", "continue": "next"}, "items": [obj, obj]}
    rows = (question, question, {"Pod": pod, "NodeNameToMetaVictims": victims}, binding, page(node), page(bound), events(node), events(bound), pod, status,
            lease, review, review, "1500m")
    for sender, row in enumerate(rows):
        yield bytes([sender]) + (row if isinstance(row, str) else json.dumps(row)).encode()


# ---- shared memory (fuzz_shm.c), flows (fuzz_udp.c): any bytes are steps ----


def random_seeds():
    rng = random.Random(3)
    for length in (16, 64, 200, 600, 2000) * 6:
        yield rng.randbytes(length)


SEEDS = {"fuzz_session": session_seeds, "fuzz_answers": answer_seeds, "fuzz_listener": listener_seeds, "fuzz_files": file_seeds,
         "fuzz_netlink": netlink_seeds, "fuzz_docker": docker_seeds, "fuzz_image": image_seeds, "fuzz_kubernetes": kubernetes_seeds,
         "fuzz_cuda_session": call_seeds, "fuzz_shm": random_seeds, "fuzz_udp": random_seeds}


def main():
    target, folder = sys.argv[1:]
    for i, seed in enumerate(SEEDS[target]()):
        with open(os.path.join(folder, f"seed-{i}"), "wb") as file:
            file.write(seed)


if __name__ == "__main__":
    main()
