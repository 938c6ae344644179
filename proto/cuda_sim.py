"""Writes the functions of the simulated driver that are not written by hand: cuda-sim.c.

All of them are weak, so that a function that sim/ defines takes their place:

    NAME_ptsz, NAME_ptds    NAME on the calling thread's own stream
    NAME                    the next version of NAME, if it has the same parameters
    NAME                    else CUDA_ERROR_NOT_SUPPORTED: the function is not simulated
"""
import re

from cuda_client import NOTE, Client, arguments, signature


class Sim:
    def __init__(self, table):
        self.table, self.client = table, Client(table)

    def source(self):
        lines = [NOTE, '#include "config.h"', "", '#include "cuda/api/cuda_api.h"', "", "#pragma GCC visibility push(default)", ""]
        for method in self.table.functions:
            lines += self.weak(self.plain(method))
            for word, _ in method.variants:
                lines += self.weak(self.client.variant(method, word))
        return "\n".join([*lines, "#pragma GCC visibility pop"])

    def weak(self, lines):
        return ["__attribute__((weak)) " + lines[0], *lines[1:]]

    def plain(self, method):
        function, newer = method.function, self.newer(method)
        if newer:
            return [signature(function, method.c), "{", f"    return {newer}({arguments(function)});", "}", ""]
        return [signature(function, method.c), "{", *(f"    (void){one.name};" for one in function.parameters),
                "    return CUDA_ERROR_NOT_SUPPORTED;", "}", ""]

    def newer(self, method):
        """The next version of a function, if it has the same parameters; else None."""
        base, number = re.fullmatch(r"(\w+?)(?:_v(\d+))?", method.c).groups()
        function = self.table.header.functions.get(f"{base}_v{int(number or 1) + 1}")
        is_same = function and [one.type.c() for one in function.parameters] == [one.type.c() for one in method.function.parameters]
        return function.name if is_same else None
