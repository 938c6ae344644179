"""Writes what a session's part of the multiprocessors puts into the driver's table: cuda-part.c.

    static CUresult part_NAME(...)        for each function with a stream, or that gives the GPU work: src/runtime/part chooses its null stream.
                                          For those that depend on the current context's multiprocessors: calls the driver's inside the part
    void ath_part_wrap(driver)            puts them, and those of src/runtime/part/wrappers.c, into the driver's table

The functions that end in _ptsz and _ptds need nothing: both kinds of session name the thread's stream themselves and call the plain functions.

    cuda_part.py SOURCE                   fails if wrappers.c lacks a function that is named here as written by hand
"""
import re
import sys

from cuda_client import NOTE, arguments, signature
from cuda_turns import Turns

BY_HAND = ("cuCtxCreate", "cuCtxCreate_v2", "cuCtxCreate_v3", "cuCtxCreate_v4", "cuCtxGetDevResource", "cuDeviceGetDevResource",
           "cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxReset", "cuDevicePrimaryCtxReset_v2",
           "cuDevicePrimaryCtxRetain", "cuGraphAddKernelNode_v2", "cuGraphAddNode", "cuGraphAddNode_v2", "cuGraphExecKernelNodeSetParams_v2",
           "cuGraphExecNodeSetParams", "cuGraphKernelNodeGetParams_v2", "cuGraphKernelNodeSetParams_v2", "cuGraphNodeSetParams",
           "cuOccupancyMaxPotentialBlockSize", "cuOccupancyMaxPotentialBlockSizeWithFlags", "cuStreamCreate", "cuStreamCreateWithPriority",
           "cuStreamDestroy", "cuStreamDestroy_v2", "cuStreamGetCtx", "cuStreamGetCtx_v2", "cuStreamGetGreenCtx")
# A node runs on the multiprocessors of the context in which it was made.
INSIDE = r"cuGraphAdd(\w+)Node$|cuGraphConditionalHandleCreate$|cuGraph(Exec)?(Mem\w+|Kernel)NodeSetParams$|cuOccupancyMax(ActiveClusters|PotentialClusterSize)$"
IDLE = {"noWork", "waits", "noTurn", "ofStream", "plain"}  # facts of functions that give no work in the order of streams


class Part:
    def __init__(self, table):
        self.table = table

    def source(self):
        lines = [NOTE, '#include "config.h"', "", '#include "proto/cuda-part.h"', "", '#include "runtime/part/part.h"', "",
                 "static struct ath_cuda_driver raw;", ""]
        wrapped = [(name, f"ath_part_{name}") for name in BY_HAND]
        for method in self.table.functions:
            if method.c in BY_HAND or method.kind == "refused":
                continue
            made = self.wrapper(method)
            if made:
                lines += made
                wrapped.append((method.c, f"part_{method.c}"))
        lines += ["void ath_part_wrap(struct ath_cuda_driver *driver)", "{", "    raw = *driver;"]
        for name, own in wrapped:
            lines += [f"    if (raw.{name})", f"        driver->{name} = {own};"]
        return "\n".join(lines + ["}", ""])

    def header(self):
        lines = [NOTE, "#pragma once", '#include "proto/cuda-server.h"', "",
                 "/* In the driver's table in place of the driver's own functions (src/runtime/part/wrappers.c). */"]
        lines += [signature(self.table.header.functions[name], f"ath_part_{name}") + ";" for name in BY_HAND]
        return "\n".join(lines) + "\n"

    def wrapper(self, method):
        types = Turns.types(method)
        function = method.function
        head = [f"static {signature(function, f'part_{method.c}')}", "{", "    struct ath_part *held;"]
        tail = ["    ath_part_leave(held);", "    return outcome;", "}", ""]
        if re.match(INSIDE, method.c):
            values = ", ".join(f"ath_part_inside({one.name})" if one.type.c() == "CUcontext" else one.name for one in function.parameters)
            return head + ["    CUresult outcome = ath_part_enter_inside(&held);", "    if (outcome)", "        return outcome;",
                           f"    outcome = raw.{method.c}({values});", *tail]
        stream = next((one.name for one in function.parameters if one.type.c() == "CUstream"), None)
        config = next((one.name for one in function.parameters if one.type.c() == "const CUlaunchConfig *"), None)
        if not (stream or config or "occupies" in method.does):
            return None
        gives = "false" if IDLE & set(method.does) and "occupies" not in method.does else "true"
        values = arguments(function)
        if config:
            head += [f"    CUlaunchConfig changed = *{config};"]
            stream, values = "changed.hStream", ", ".join("&changed" if one.name == config else one.name for one in function.parameters)
        elif not stream:
            head += ["    CUstream stream = NULL;"]
            stream = "stream"
        return head + [f"    CUresult outcome = ath_part_enter(&{stream}, {gives}, &held);", "    if (outcome)", "        return outcome;",
                       f"    outcome = raw.{method.c}({values});", *tail]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        defined = set(re.findall(r"(?m)^CUresult ath_part_(cu\w+)\(", file.read()))
    missing = [f"cuda_part.py: src/runtime/part/wrappers.c must define ath_part_{name}()" for name in BY_HAND if name not in defined]
    sys.exit("\n".join(missing) or None)


if __name__ == "__main__":
    main()
