"""Writes the switch between several servers (src/cuda/several): cuda-several.h and cuda-several.c.

    struct ath_several_calls              the functions of one server's library
    CUresult ath_cuda_do_NAME(...)        what cuda-symbols.c calls of the client's: finds the server, and calls its library's
    CUresult ath_cuda_by_hand_NAME(...)

A call goes to the server of its stream, else to the server of the first parameter that tells one, else to the server of the
thread's current context. Functions for which this is not enough are written by hand ($bySwitch).
"""
from cuda_client import NOTE, arguments, signature
from request import Fault

# Structures that may name a kernel.
NODES = {"CUDA_KERNEL_NODE_PARAMS_v1", "CUDA_KERNEL_NODE_PARAMS"}
# Structures that say on which device memory lies.
PLACES = {"CUmemLocation": "{0}", "CUmemAllocationProp": "&{0}->location", "CUmemPoolProps": "&{0}->location"}


class Several:
    def __init__(self, table):
        self.table = table
        self.methods = [method for method in table.functions if method.kind != "refused"]
        for method in table.functions:
            if method.kind == "refused" and method.marks.keys() & {"bySwitch", "placed", "pinned", "unplaced"}:
                raise Fault(f"{method.name}: a refused method needs no word for several servers")

    def header(self):
        members = [f"    {signature(method.function, f'(*{method.c})')};" for method in self.methods]
        return "\n".join([NOTE, "#pragma once", "#include <stddef.h>", "", '#include "cuda/api/cuda_api.h"', "",
                          "/* The functions of a server's library, and their names in the same order. */",
                          "struct ath_several_calls {", *members, "};",
                          "extern const char *const ath_several_names[];", "extern const size_t ath_several_name_count;"]) + "\n"

    def source(self):
        lines = [NOTE, '#include "config.h"', "", '#include "proto/cuda-client.h"', '#include "proto/cuda-several.h"',
                 '#include "cuda/several/addresses.h"', '#include "cuda/several/copies.h"',
                 '#include "cuda/several/libraries.h"', '#include "cuda/several/several.h"', "",
                 "const char *const ath_several_names[] = {"]
        lines += [f'    "{method.c}",' for method in self.methods]
        lines += ["};", "const size_t ath_several_name_count = sizeof ath_several_names / sizeof *ath_several_names;", ""]
        for method in self.methods:
            if "bySwitch" not in method.marks:
                lines += self.function(method)
        return "\n".join(lines)

    def function(self, method):
        side = "by_hand" if method.client_by_hand else "do"
        lines = [signature(method.function, f"ath_cuda_{side}_{method.c}"), "{", "    struct ath_several *server;"]
        if "unplaced" in method.marks and "synchronizes" in method.does:
            lines.append("    ath_several_await_copies(address);")
        lines += [f"    CUresult outcome = ath_several_enter({self.route(method)}, &server);", *self.translations(method),
                  "    if (outcome)", "        return outcome;"]
        return lines + self.call(method) + ["}", ""]

    # ---- the server of a call ----

    def route(self, method):
        """An expression for the server's number."""
        found = {}
        if "inContext" not in method.does:
            for one in reversed(method.function.parameters):
                kind, expression = self.tells(one)
                if kind:
                    found[kind] = expression
        for kind in ("stream", "handle", "address", "device", "place", "function"):
            if kind in found:
                return found[kind]
        return "ath_several_here()"

    def tells(self, one):
        """How a parameter tells the server: (kind, expression), or (None, None)."""
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

    # ---- handles that each server has its own of ----

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
        marks = method.marks
        if "unplaced" in marks:
            return [f"    const struct ath_several_range range = ath_several_leave(server, {marks['unplaced']});", f"    outcome = {call};",
                    "    if (outcome)", "        ath_several_stay(&range);", "    return outcome;"]
        if "reports" in method.does:
            return [f"    return ath_several_waited(server, {call});"]
        if "pinned" in marks:
            return [f"    outcome = {call};", "    if (!outcome)", f"        ath_several_keep_host(server, {marks['pinned']}, bytes);",
                    "    return outcome;"]
        if "placed" not in marks:
            return [f"    return {call};"]
        where, bytes_, give_back, more = [*marks["placed"].split("; "), "", ""][:4]
        if not give_back:
            return [f"    outcome = {call};", "    if (!outcome)", f"        ath_several_keep(server, {where}, {bytes_});", "    return outcome;"]
        lines = ["    struct ath_several_rejected rejected = { 0 };", f"    outcome = {call};",
                 f"    while (!outcome && ath_several_is_taken(server, {where}, {bytes_}, &rejected)) {{"]
        if more:
            lines += ["        CUdeviceptr behind;", f"        if (server->calls.{more % '&behind, rejected.behind'})",
                      "            behind = 0;", "        ath_several_put_behind(server, &rejected, behind);"]
        return lines + [f"        outcome = {call};", "    }", "    for (size_t i = 0; i < rejected.count; i++)",
                        f"        server->calls.{give_back % 'rejected.addresses[i]'};",
                        "    return outcome ? outcome : ath_several_took(server, &rejected);"]
