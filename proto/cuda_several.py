"""Writes the switch between several servers (src/runtime/several): cuda-several.h and cuda-several.c.

    struct ath_several_calls              the functions of one server's library
    CUresult ath_cuda_do_NAME(...)        what cuda-symbols.c calls of the client's: finds the server, and calls its library's
    CUresult ath_cuda_by_hand_NAME(...)

Which server: that of the stream, else of the first parameter that tells it, else of the thread's current context. What is not so
simple is written by hand.
"""
from cuda_client import NOTE, arguments, signature
from request import Fault

# Written in src/runtime/several, or in files of the client that know no server.
BY_HAND = set("""
    cuInit cuDriverGetVersion cuGetErrorName cuGetErrorString cuGetProcAddress cuGetProcAddress_v2 cuGetExportTable
    cuDeviceGetCount cuDeviceGet cuDeviceGetByPCIBusId cuDeviceCanAccessPeer cuDeviceGetP2PAttribute
    cuCtxEnablePeerAccess cuCtxDisablePeerAccess
    cuCtxCreate cuCtxCreate_v2 cuCtxCreate_v3 cuCtxCreate_v4 cuCtxDestroy cuCtxDestroy_v2
    cuCtxPushCurrent cuCtxPushCurrent_v2 cuCtxPopCurrent cuCtxPopCurrent_v2 cuCtxSetCurrent cuCtxGetCurrent
    cuDevicePrimaryCtxRetain cuDevicePrimaryCtxRelease cuDevicePrimaryCtxRelease_v2 cuDevicePrimaryCtxReset
    cuDevicePrimaryCtxReset_v2
    cuMemcpy cuMemcpyAsync cuMemcpyDtoD_v2 cuMemcpyDtoDAsync_v2 cuMemcpyPeer cuMemcpyPeerAsync cuMemcpyHtoDAsync_v2
    cuMemcpyDtoHAsync_v2 cuMemcpy2D_v2 cuMemcpy2DUnaligned_v2 cuMemcpy2DAsync_v2 cuMemcpy3D_v2 cuMemcpy3DAsync_v2
    cuMemcpy3DPeer cuMemcpy3DPeerAsync cuMemcpyBatchAsync cuMemcpyBatchAsync_v2
    cuStreamWaitEvent cuThreadExchangeStreamCaptureMode cuProfilerStart cuProfilerStop
    cuMemRangeGetAttribute cuMemRangeGetAttributes cuLaunchCooperativeKernelMultiDevice
    cuLibraryLoadData cuLibraryLoadFromFile cuLibraryUnload cuLibraryGetKernel cuLibraryEnumerateKernels cuKernelGetLibrary
""".split())

# They run in the current context whatever stream they name: another's is an error.
IN_CONTEXT = {"cuLaunchKernel", "cuLaunchKernelEx", "cuLaunchCooperativeKernel", "cuLaunch", "cuLaunchGrid", "cuLaunchGridAsync"}

# What gives out memory: where it is, how much, how a place is given back that another server has as well ("": it is kept), and how
# what lies behind that place is taken meanwhile.
ALLOCATES = {
    "cuMemAlloc_v2": ("*address", "bytes", "cuMemFree_v2(%s)", "cuMemAlloc_v2(%s)"),
    "cuMemAllocPitch_v2": ("*address", "*pitch * height", "cuMemFree_v2(%s)", "cuMemAlloc_v2(%s)"),
    "cuMemAllocManaged": ("*address", "bytes", "cuMemFree_v2(%s)", "cuMemAllocManaged(%s, flags)"),
    "cuMemAllocAsync": ("*address", "bytes", "cuMemFreeAsync(%s, stream)", "cuMemAllocAsync(%s, stream)"),
    "cuMemAllocFromPoolAsync": ("*address", "bytes", "cuMemFreeAsync(%s, stream)", "cuMemAllocFromPoolAsync(%s, pool, stream)"),
    "cuMemAddressReserve": ("*address", "size", "cuMemAddressFree(%s, size)", ""),
    "cuIpcOpenMemHandle": ("*address", "0", "", ""),
    "cuIpcOpenMemHandle_v2": ("*address", "0", "", ""),
    "cuMemPoolImportPointer": ("*address", "0", "", ""),
    "cuModuleGetGlobal_v2": ("address ? *address : 0", "bytes ? *bytes : 0", "", ""),
    "cuLibraryGetGlobal": ("address ? *address : 0", "bytes ? *bytes : 0", "", ""),
    "cuLibraryGetManaged": ("address ? *address : 0", "bytes ? *bytes : 0", "", ""),
}
PINS = {"cuMemAllocHost_v2": "*memory", "cuMemHostAlloc": "*memory", "cuMemHostRegister": "memory", "cuMemHostRegister_v2": "memory"}
FREES = {"cuMemFree_v2": "address", "cuMemFreeAsync": "address", "cuMemAddressFree": "address", "cuIpcCloseMemHandle": "address",
         "cuMemFreeHost": "(uintptr_t)memory", "cuMemHostUnregister": "(uintptr_t)memory"}

# They wait for what was done before, and say what has failed.
WAITS = {"cuCtxSynchronize", "cuCtxSynchronize_v2", "cuStreamSynchronize", "cuStreamQuery", "cuEventSynchronize", "cuEventQuery",
         "cuMemcpyDtoH_v2"}

# Structures that a kernel may be named in.
NODES = {"CUDA_KERNEL_NODE_PARAMS_v1", "CUDA_KERNEL_NODE_PARAMS"}
# And those that say on which device memory shall lie.
PLACES = {"CUmemLocation": "{0}", "CUmemAllocationProp": "&{0}->location", "CUmemPoolProps": "&{0}->location"}


class Several:
    def __init__(self, table):
        self.table = table
        self.methods = [method for method in table.functions if method.kind != "refused"]
        known = {method.c for method in self.methods}
        for name in sorted((BY_HAND | IN_CONTEXT | WAITS | set(ALLOCATES) | set(FREES) | set(PINS)) - known):
            raise Fault(f"cuda_several.py: there is no function '{name}' that is served")

    def header(self):
        members = [f"    {signature(method.function, f'(*{method.c})')};" for method in self.methods]
        return "\n".join([NOTE, "#pragma once", "#include <stddef.h>", "", '#include "runtime/cuda/cuda_api.h"', "",
                          "/* The functions of a server's library, and their names in the same order. */",
                          "struct ath_several_calls {", *members, "};",
                          "extern const char *const ath_several_names[];", "extern const size_t ath_several_name_count;"]) + "\n"

    def source(self):
        lines = [NOTE, '#include "config.h"', "", '#include "proto/cuda-client.h"', '#include "proto/cuda-several.h"',
                 '#include "runtime/several/addresses.h"', '#include "runtime/several/copies.h"',
                 '#include "runtime/several/libraries.h"', '#include "runtime/several/several.h"', "",
                 "const char *const ath_several_names[] = {"]
        lines += [f'    "{method.c}",' for method in self.methods]
        lines += ["};", "const size_t ath_several_name_count = sizeof ath_several_names / sizeof *ath_several_names;", ""]
        for method in self.methods:
            if method.c not in BY_HAND:
                lines += self.function(method)
        return "\n".join(lines)

    def function(self, method):
        side = "by_hand" if method.client_by_hand else "do"
        lines = [signature(method.function, f"ath_cuda_{side}_{method.c}"), "{", "    struct ath_several *server;"]
        if method.c == "cuMemFree_v2":  # which waits for the device, as the others do not
            lines.append("    ath_several_await_copies(address);")
        lines += [f"    CUresult outcome = ath_several_enter({self.route(method)}, &server);", *self.translations(method),
                  "    if (outcome)", "        return outcome;"]
        return lines + self.call(method) + ["}", ""]

    # ---- where to ----

    def route(self, method):
        """An expression for the server's number."""
        found = {}
        if method.c not in IN_CONTEXT:
            for one in reversed(method.function.parameters):
                kind, expression = self.tells(one)
                if kind:
                    found[kind] = expression
        for kind in ("stream", "handle", "address", "device", "place", "function"):
            if kind in found:
                return found[kind]
        return "ath_several_here()"

    def tells(self, one):
        """What a parameter says of the server: (kind, expression), or (None, None)."""
        name, stars = one.type.name, one.type.stars
        if name in PLACES and (stars == 1 or name == "CUmemLocation"):
            return "place", f"ath_several_of_place({PLACES[name].format(one.name if stars else '&' + one.name)})"
        if name == "void" and stars == 1 and one.name == "memory":
            return "address", f"ath_several_of_address((uintptr_t){one.name})"
        if stars or name in ("CUlibrary", "CUkernel", "CUtexObject", "CUsurfObject", "CUgraphConditionalHandle"):
            return None, None
        if name == "CUstream":
            return "stream", f"ath_several_of_stream({one.name})"
        if name == "CUdevice":
            return "device", f"ath_several_of_device({one.name})"
        if name == "CUfunction":
            return "function", f"ath_several_of_function({one.name})"
        if name == "CUdeviceptr":
            return "address", f"ath_several_of_address({one.name})"
        if name == "CUmemGenericAllocationHandle":
            return "handle", f"ath_several_of_handle({one.name})"
        return ("handle", f"ath_several_of_handle((uintptr_t){one.name})") if self.table.header.is_handle(name) else (None, None)

    # ---- what it is called there ----

    def translations(self, method):
        lines = []
        for one in method.function.parameters:
            name, stars = one.type.name, one.type.stars
            if not stars and name in ("CUkernel", "CUlibrary", "CUfunction"):
                lines += ["    if (!outcome)", f"        outcome = ath_several_{name[2:]}_there(server, &{one.name});"]
            elif stars == 1 and one.type.is_const and name in NODES:
                lines += [f"    {name} {one.name}_there;", "    if (!outcome)",
                          f"        outcome = ath_several_{'node_v1' if name.endswith('_v1') else 'node'}_there(server, &{one.name}, "
                          f"&{one.name}_there);"]
            elif stars == 1 and name == "CUgraphNodeParams":
                lines += [f"    struct ath_several_put_back put_back __attribute__((cleanup(ath_several_put_back))) = {{ 0 }};",
                          "    if (!outcome)", f"        outcome = ath_several_params_there(server, {one.name}, &put_back);"]
        return lines

    def call(self, method):
        call = f"server->calls.{method.c}({arguments(method.function)})"
        if method.c in FREES:
            return [f"    const struct ath_several_range range = ath_several_leave(server, {FREES[method.c]});", f"    outcome = {call};",
                    "    if (outcome)", "        ath_several_stay(&range);", "    return outcome;"]
        if method.c in WAITS:
            return [f"    return ath_several_waited(server, {call});"]
        if method.c in PINS:
            return [f"    outcome = {call};", "    if (!outcome)", f"        ath_several_keep_host(server, {PINS[method.c]}, bytes);",
                    "    return outcome;"]
        if method.c not in ALLOCATES:
            return [f"    return {call};"]
        where, bytes_, give_back, more = ALLOCATES[method.c]
        if not give_back:
            return [f"    outcome = {call};", "    if (!outcome)", f"        ath_several_keep(server, {where}, {bytes_});", "    return outcome;"]
        lines = ["    struct ath_several_rejected rejected = { 0 };", f"    outcome = {call};",
                 f"    while (!outcome && ath_several_is_taken(server, {where}, {bytes_}, &rejected)) {{"]
        if more:
            lines += ["        CUdeviceptr behind;", f"        if (!server->calls.{more % '&behind, rejected.behind'})",
                      "            rejected.addresses[rejected.count++] = behind;"]
        return lines + [f"        outcome = {call};", "    }", "    for (size_t i = 0; i < rejected.count; i++)",
                        f"        server->calls.{give_back % 'rejected.addresses[i]'};",
                        "    return outcome ? outcome : ath_several_took(server, &rejected);"]
