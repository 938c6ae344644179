"""The books of simulated GPUs that processes share: how long each party has occupied them (sim/gpu_time.h)."""
import os
import struct

HEAD, DEVICES, DEVICE, BOOK = 64, 8, 128, struct.Struct("<iIqQq")
MAGIC = 0x67707531


def books(path):
    """[(process, party, used in seconds, number of works, when the last one ended in seconds)]"""
    if not os.path.exists(path):
        return []
    with open(path, "rb") as file:
        data = file.read()
    if len(data) < HEAD or struct.unpack_from("<I", data)[0] != MAGIC:
        return []
    count = struct.unpack_from("<I", data, 4)[0]
    first = HEAD + DEVICES * DEVICE
    rows = [BOOK.unpack_from(data, first + i * BOOK.size) for i in range(min(count, (len(data) - first) // BOOK.size))]
    return [(process, party, used / 1e9, works, last / 1e9) for process, party, used, works, last in rows if process]


def used(path):
    """{party: seconds on the GPUs}"""
    found = {}
    for _, party, seconds, _, _ in books(path):
        found[party] = found.get(party, 0) + seconds
    return found
