"""Writes the gate's places in the driver's table: cuda-turns.c.

    static CUresult turns_NAME(...)       for each function that $does says occupies the GPU: waits for the turn, and calls the driver's.
                                          For others that the gate must know of (captures, ends of streams and contexts): tells it
    void ath_turn_gate_wrap(driver)       puts them into the driver's table

A function with a stream, a copy, a set or a launch that does not say whether it occupies the GPU is refused: it would be a way past the gate.
NAME_ptsz and NAME_ptds are NAME on the thread's stream.
"""
import re

from cuda_client import NOTE, arguments, signature
from request import Fault

WORK = r"cu(Mem(cpy|set|Prefetch)|Launch|GraphLaunch)"
# Facts of functions that give the GPU no work, or no more than a moment's.
OTHERWISE = {"noTurn", "noWork", "records", "gets", "ends", "reuses", "waits", "ofStream", "awaitsMemory", "awaitsOthers", "beginsCapture",
             "endsCapture", "joinsCapture"}
AWAITS = {"awaitsMemory", "awaitsOthers", "shares", "exports"}


class Turns:
    def __init__(self, table):
        self.table = table
        for method in table.functions:
            self._check(method)

    def _check(self, method):
        does = set(method.does)
        named = bool(re.match(WORK, method.c)) or "CUstream" in self.types(method)
        is_silent = named and method.kind != "refused" and not does & (OTHERWISE | {"occupies"})
        if is_silent or ("launches" in does and "occupies" not in does):
            raise Fault(f"{method.name}: {method.c}() has a stream, or copies, sets or launches; add 'occupies' to $does if it gives the GPU work that "
                        "others wait for, else 'noTurn'")

    @staticmethod
    def types(method):
        return {one.type.c() for one in method.function.parameters}

    def source(self):
        lines = [NOTE, '#include "config.h"', "", '#include "cuda/turns/gate.h"', "", "static struct ath_cuda_driver raw;", ""]
        wrapped = []
        for method in self.table.functions:
            around = self.around(method)
            if not around:
                continue
            for name, stream in [(method.c, None), *((f"{method.c}_{word}", "CU_STREAM_PER_THREAD") for word, _ in method.variants)]:
                lines += self.wrapper(name, self.table.header.functions[name], stream, *around)
                wrapped.append(name)
        lines += ["void ath_turn_gate_wrap(struct ath_cuda_driver *driver)", "{", "    raw = *driver;"]
        for name in wrapped:
            lines += [f"    if (raw.{name})", f"        driver->{name} = turns_{name};"]
        return "\n".join(lines + ["}", ""])

    def around(self, method):
        """The lines before and after the call, of which STREAM is the stream; None if the gate has nothing to do with it."""
        does, types = set(method.does), self.types(method)
        if "occupies" in does:
            return self.occupying(method)
        if "beginsCapture" in does:
            return ["ath_turn_gate_capture_begins();"], ["ath_turn_gate_capture_began(status);"]
        if "endsCapture" in does:
            return ["bool is_one = ath_turn_gate_capture_ends(STREAM);"], ["ath_turn_gate_capture_ended(STREAM, is_one);"]
        if "joinsCapture" in does:
            return ["bool is_held = ath_turn_gate_joins(STREAM);"], ["ath_turn_gate_joined(is_held);"]
        if "ends" in does and types == {"CUstream"}:
            return ["ath_turn_gate_stream_ends(STREAM);"], []
        if does & {"endsContext", "resetsDevice", "releasesDevice", "dropsStock"} or ("ends" in does and types == {"CUcontext"}):
            return self.ending(method)
        if does & AWAITS:
            return ["ath_turn_gate_awaits();"], []
        return self.making(method)

    # Functions that make, get or attach a context, by their parameters' types.
    MAKING = [(("CUdevice", "CUgreenCtx *"), "made_green"), (("CUgreenCtx", "CUcontext *"), "named_green"), (("CUdevice", "CUcontext *"), "made"),
              (("CUcontext *",), "attached")]

    def making(self, method):
        if not set(method.does) & {"makes", "gets"}:
            return None
        for ctypes, told in self.MAKING:
            if set(ctypes) <= self.types(method) and ("makes" in method.does or told == "named_green"):
                told = "retained" if "retainsDevice" in method.does else told
                ctypes = ctypes[:1] if told == "made" else ctypes
                values = ", ".join("*" * ctype.endswith("*") + self.named(method, ctype) for ctype in ctypes)
                return [], ["if (!status)", f"    ath_turn_gate_{told}({values});"]
        return None

    CALLER = "struct ath_turn_caller *own"

    def occupying(self, method):
        if "CUDA_LAUNCH_PARAMS *" in self.types(method):
            values = ", ".join(one.name for one in method.function.parameters[:2])
            return [f"{self.CALLER} = ath_turn_gate_enter_launches({values});"], [f"ath_turn_gate_leave_launches(own, {values});"]
        enter = "enter_graph" if "CUgraphExec" in self.types(method) else "enter"
        return [f"{self.CALLER} = ath_turn_gate_{enter}(STREAM);"], ["ath_turn_gate_leave(own);"]

    # The thing that a function ends, by its parameter's type.
    ENDING = {"CUcontext": "{ .context = %s, .device = -1 }", "CUgreenCtx": "{ .green = %s, .device = -1 }", "CUdevice": "{ .device = %s }"}

    def ending(self, method):
        ctype = next(one for one in self.ENDING if one in self.types(method))
        ends = "(struct ath_turn_place)" + self.ENDING[ctype] % self.named(method, ctype)
        lasts = "releasesDevice" in method.does or (ctype == "CUcontext" and "dropsStock" in method.does)
        after = {"CUdevice": "released", "CUcontext": "detached"}[ctype] if lasts else "contexts_ended"
        return [f"ath_turn_gate_contexts_end({ends});"], [f"ath_turn_gate_{after}({ends}, status);"]

    @staticmethod
    def named(method, ctype):
        return next(one.name for one in method.function.parameters if one.type.c() == ctype)

    def stream(self, function, default):
        """The stream of a call in C. default: of a variant, what its null stream is."""
        for one in function.parameters:
            if one.type.c() == "CUstream":
                return f"{one.name} ? {one.name} : {default}" if default else one.name
            if one.type.c() == "const CUlaunchConfig *":
                return f"{one.name} && {one.name}->hStream ? {one.name}->hStream : {default or 'NULL'}"
        return default or "NULL"

    def wrapper(self, name, function, default, before, after):
        stream = self.stream(function, default)
        lines = [f"static {signature(function, f'turns_{name}')}", "{"]
        lines += ["    " + line.replace("STREAM", stream) for line in before]
        if not after:
            return lines + [f"    return raw.{name}({arguments(function)});", "}", ""]
        lines.append(f"    CUresult status = raw.{name}({arguments(function)});")
        return lines + ["    " + line.replace("STREAM", stream) for line in after] + ["    return status;", "}", ""]
