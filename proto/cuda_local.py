"""Writes the library for a program that has the driver in its own process (src/cuda/local): cuda-local.c.

    CUresult cuNAME(...)                  the exported functions: each calls the driver's, or what src/runtime/quota puts in its place
    ath_local_names[]                     the driver's functions, in the order of struct ath_cuda_driver
    ath_cuda_symbols[]                    for cuGetProcAddress()

The functions that end in _ptsz and _ptds name the thread's stream themselves, so that one function counts for both.
"""
import re

from cuda_client import NOTE, Client, arguments, signature

LOOKED_AT = {"takes", "gives", "counts", "occupies", "beginsCapture", "endsCapture"}
# These have nothing to do with the GPUs. Many others that a client answers alone (class local) go to the driver here.
TELLS = {"cuGetErrorName", "cuGetErrorString", "cuGetExportTable", "cuGetProcAddress", "cuGetProcAddress_v2", "cuDriverGetVersion"}
BY_HAND = ("cuInit", "cuGetProcAddress", "cuGetProcAddress_v2")


class Local(Client):
    def source(self):
        lines = [NOTE, '#include "config.h"', "", '#include "cuda/api/symbols.h"', '#include "cuda/local/local.h"', "",
                 "#pragma GCC visibility push(default)", ""]
        for method in self.table.functions:
            lines += self.exported(method)
            for word, _ in method.variants:
                lines += self.variant(method, word)
        lines += ["#pragma GCC visibility pop", "", "const char *const ath_local_names[ATH_CUDA_DRIVER_COUNT] = {"]
        lines += [f'    "{name}",' for name in self.table.header.functions]
        lines += ["};", "", "const struct ath_cuda_symbol ath_cuda_symbols[] = {"]
        lines += [f"    {{ \"{base}\", \"{name}\", {since}, {is_thread}, (void (*)(void)){name} }},"
                  for base, is_thread, since, name in self.rows()]
        return "\n".join(lines) + "\n};\nconst size_t ath_cuda_symbol_count = sizeof ath_cuda_symbols / sizeof ath_cuda_symbols[0];\n"

    def refusals(self, method):
        """Lines that refuse null pointers, as drivers do: what stands in a function's place may look behind them."""
        if not set(method.does) & LOOKED_AT:
            return []
        if method.parameters is not None and not method.client_by_hand:
            return [line.replace("ath_cuda_end(&exchange, CUDA_ERROR_INVALID_VALUE)", "CUDA_ERROR_INVALID_VALUE") for line in self.checks(method)]
        first = method.function.parameters[0]
        return [f"    if (!{first.name})", "        return CUDA_ERROR_INVALID_VALUE;"] if first.type.stars else []

    def counted_bytes(self, method):
        """A line that counts the bytes of a copy whose name says its direction."""
        found = re.match(r"cuMemcpy([AD]toH|Hto[AD])(Async)?(_v2)?$", method.c)
        if not found:
            return []
        (name,) = [parameter.name for parameter in method.function.parameters if parameter.name == "byte_count"]
        return [f"    ath_local_count_{'from' if found.group(1).endswith('H') else 'to'}_gpu({name});"]

    def exported(self, method):
        kind = "TELLS" if method.c in TELLS else "ENDS" if {"ends", "offline"} & set(method.does) else "USES"
        lines = [signature(method.function, method.c), "{", f"    if (ath_local_stops(ATH_LOCAL_{kind}))", "        return ath_local_why();"]
        call = f"{arguments(method.function)});"
        if method.c in BY_HAND:
            return lines + [f"    return ath_local_{method.c}({call}", "}", ""]
        lines += [f"    if (!ath_local.driver.{method.c})", "        return CUDA_ERROR_NOT_SUPPORTED;", *self.refusals(method)]
        lines += self.counted_bytes(method)
        call = f"ath_local.driver.{method.c}({call}"
        if "beginsCapture" in method.does or "endsCapture" in method.does:
            word = "began" if "beginsCapture" in method.does else "ended"
            return lines + [f"    return ath_local_{word}_capture({call[:-1]});", "}", ""]
        return lines + [f"    return {call}", "}", ""]
