#!/usr/bin/env python3
"""Writes all files that follow from the table of CUDA's driver functions (proto/cuda.capnp).

    capnp compile -o- cuda.capnp | cuda_generate.py HEADERS SYMBOLS FOLDER

HEADERS is src/cuda/api, SYMBOLS is cuda-symbols.txt. In FOLDER:

    cuda-wire.capnp            the messages, Call and Answer, which generate.py makes the codec of and `capnp decode` reads
    cuda-methods.h, .c         the methods' numbers, and the facts about each
    cuda-structs.h, .c         CUDA's structures to the wire and back
    cuda-client.h, .c          the client's functions; cuda-symbols.c: those that libcuda.so.1 exports
    cuda-server.h, .c          the server's
    cuda-wrong.h               for tests: a call of each function with any arguments
    cuda-quota.h               the functions of the driver that the server's count of GPU memory wraps
    cuda-part.c, .h            the functions of the driver that run on a part of the multiprocessors
    cuda-turns.c               the functions of the driver that wait for a turn on the GPU
    cuda-several.h, .c         the switch between several servers
    cuda-sim.c                 functions of the simulated driver
    cuda.map, cuda-several.map the linker's lists of what the two libcuda.so.1 export
    coverage.md                the page for people
"""
import os
import sys

import cuda_header
import cuda_table
import request
from cuda_client import NOTE, Client
from cuda_local import Local
from cuda_part import Part
from cuda_quota import Quota
from cuda_server import Server
from cuda_several import Several
from cuda_sim import Sim
from cuda_structs import Structs, kind_name
from cuda_turns import Turns
from cuda_wrong import Wrong
from generate import snake
from request import Fault

WIRE_ID = "@0x9d3f6b1e7a52c840"
CALL_FIELDS, ANSWER_FIELDS = 5, 5  # before their unions, which begin with 'none'
TYPES = {"int8": "Int8", "int16": "Int16", "int32": "Int32", "int64": "Int64", "uint8": "UInt8", "uint16": "UInt16",
         "uint32": "UInt32", "uint64": "UInt64", "float32": "Float32", "float64": "Float64", "bool": "Bool", "text": "Text",
         "data": "Data"}


def capital(name):
    return name[:1].upper() + name[1:]


class Wire:
    """cuda-wire.capnp."""

    def __init__(self, table):
        self.table = table

    def text(self):
        lines = [f"{WIRE_ID};", "# Written by proto/cuda_generate.py from cuda.capnp; a change there is a change here.",
                 'using Common = import "/common.capnp";', '$Common.prefix("cudaWire");', "$Common.outerMessages;", "",
                 "struct Call {", "  number @0 :UInt64;       # of the session's calls, from 1 on, in their order",
                 "  thread @1 :UInt32;       # of the client's, from 0 on",
                 "  captureMode @2 :UInt32;  # the thread's CUstreamCaptureMode",
                 "  context @3 :UInt64;      # current in the thread; 0: none",
                 "  isAsked @4 :Bool;        # an answer is waited for", *self.union(False, CALL_FIELDS), "}", "",
                 "struct Answer {", "  number @0 :UInt64;       # of the call; 0: of none, it brings what kernels printed or changed",
                 "  status @1 :Int32;        # a CUresult",
                 "  printed @2 :Data;        # for the program's standard output, before what comes next",
                 "  changes @3 :List(MemoryPart);  # what the GPU changed in mirrors",
                 "  isErrorText @4 :Bool;    # printed is for the program's standard error", *self.union(True, ANSWER_FIELDS), "}", ""]
        for struct in self.table.structs.values():
            lines += [f"struct {struct.name} {{", *self.members(struct.members, "  "), "}", ""]
        for method in self.table.methods:
            for fields, ending in ((method.given, ""), (method.results, "Result")):
                if fields:
                    lines += [f"struct {self.name(method)}{ending} {{",
                              *(f"  {field.name} @{i} :{self.type(field.type)};" for i, field in enumerate(fields)), "}", ""]
        return "\n".join(lines)

    def name(self, method):
        """The name of a method's message. A structure of the schema must not have the same name."""
        name = capital(method.name)
        if name in {struct.name for struct in self.table.structs.values()}:
            raise Fault(f"{method.name}: a structure has the name of its message")
        return name

    def union(self, is_answer, first):
        lines = ["  union {", f"    none @{first} :Void;"]
        for method in self.table.methods:
            fields = method.results if is_answer else method.given
            type_ = self.name(method) + ("Result" if is_answer else "") if fields else "Void"
            lines.append(f"    {method.name} @{first + 1 + method.ordinal} :{type_};")
        return lines + ["  }"]

    def type(self, type_):
        if type_.kind == "list":
            return f"List({self.type(type_.item)})"
        if type_.kind == "struct":
            return self.table.structs[type_.type_id].name
        if type_.kind not in TYPES:
            raise Fault(f"the type {type_.kind} does not travel")
        return TYPES[type_.kind]

    def members(self, members, indent):
        lines = []
        for member in members:
            if isinstance(member, cuda_table.Group):
                word = "union" if member.is_union else "group"
                lines += [f"{indent}{member.name} :{word} {{", *self.members(member.members, indent + "  "), indent + "}"]
            else:
                lines.append(f"{indent}{member.name} @{member.ordinal} :{self.type(member.type)};")
        return lines


class Methods:
    """cuda-methods.h and cuda-methods.c."""

    # Facts that follow from the rest of a method's row, and what they mean.
    DERIVED = (("is_cached", "sent once for the same parameters"), ("forgets_all", "all cached answers are stale after it"),
               ("forgets_settings", "and those that are of_settings"), ("ends_handle", "it ends a handle that the client knows (client/handles.h)"))

    def __init__(self, table):
        self.table = table

    def facts(self):
        return [fact for fact in self.table.facts if fact != "plain"]

    def derived(self, method):
        stale = self.table.forgets(method)
        holds = {"is_cached": method.is_cached, "forgets_all": stale == ["*"],
                 "forgets_settings": stale == ["*"] or any("ofSettings" in one.does for one in stale),
                 "ends_handle": "ends" in method.does and method.subject in cuda_table.TRACKED}
        return [name for name, _ in self.DERIVED if holds[name]]

    def header(self):
        lines = [NOTE, "#pragma once", "#include <stdbool.h>", "#include <stddef.h>", "",
                 "/* What a number that travels stands for. */", "enum ath_cuda_kind {", "    ATH_CUDA_KIND_ADDRESS,", "    ATH_CUDA_KIND_HOST,"]
        lines += [f"    {kind_name(name)}," for name in self.table.kinds()] + ["    ATH_CUDA_KIND_COUNT,", "};", ""]
        lines += ["/* In Call's and Answer's union each has its number and one more. */", "enum ath_cuda_method {"]
        lines += [f"    ATH_CUDA_METHOD_{method.c} = {method.ordinal}," for method in self.table.methods]
        lines += [f"    ATH_CUDA_METHOD_COUNT = {len(self.table.methods)},", "};", "", "enum ath_cuda_class {"]
        lines += [f"    ATH_CUDA_{word.upper()}," for word in cuda_table.CLASSES]
        lines += ["};", "", "/* The facts that the table states about a method; cuda.capnp says what each fact means. */", "struct ath_cuda_method_facts {",
                  "    const char *name; /* of the function */", "    const short *forgets; /* methods, up to -1; NULL: none */",
                  "    const char *reason; /* why it is refused */", "    enum ath_cuda_class class;",
                  "    enum ath_cuda_kind ends_subject; /* of the object that the only parameter names and the method ends; 0: none */",
                  *(f"    bool {snake(fact)} : 1;" for fact in self.facts()), *(f"    bool {name} : 1; /* {words} */" for name, words in self.DERIVED),
                  "};",
                  "extern const struct ath_cuda_method_facts ath_cuda_methods[ATH_CUDA_METHOD_COUNT];", "",
                  "/* Every CUresult; one without a name ends it. */", "struct ath_cuda_error {", "    int value;",
                  "    const char *name, *text;", "};", "extern const struct ath_cuda_error ath_cuda_errors[];", ""]
        return "\n".join(lines)

    def source(self):
        numbers = {method.name: f"ATH_CUDA_METHOD_{method.c}" for method in self.table.methods}
        lines = [NOTE, '#include "config.h"', "", '#include "proto/cuda-methods.h"', "",
                 "const struct ath_cuda_method_facts ath_cuda_methods[ATH_CUDA_METHOD_COUNT] = {"]
        for method in self.table.methods:
            facts = [f'"{method.c}"', f".class = ATH_CUDA_{method.kind.upper()}"]
            facts += [f".{snake(fact)} = true" for fact in method.does]
            facts += [f".{name} = true" for name in self.derived(method)]
            stale = self.table.forgets(method)
            if stale and stale != ["*"]:
                facts.append(f".forgets = (const short[]){{ {', '.join(numbers[one.name] for one in stale)}, -1 }}")
            if method.ends_subject:
                facts.append(f".ends_subject = {kind_name(method.subject)}")
            if method.kind == "refused":
                facts.append(f'.reason = "{method.marks["reason"]}"')
            lines.append(f"    [{numbers[method.name]}] = {{ {', '.join(facts)} }},")
        lines += ["};", "", "const struct ath_cuda_error ath_cuda_errors[] = {"]
        for name, value in self.table.header.enums["CUresult"].items():
            if name not in self.table.texts:
                raise Fault(f"cuda-errors.txt says nothing about {name}")
            lines.append(f'    {{ {value}, "{name}", "{self.table.texts[name]}" }},')
        return "\n".join(lines + ["    { 0 },", "};", ""])


class Coverage:
    """docs/coverage.md."""

    ROWS = (("sync", "sent, the answer waited for"), ("async", "sent without an answer, in order"),
            ("cached", "sent once, then answered on the client"), ("custom", "written by hand on one side or both"),
            ("local", "answered on the client"), ("refused", "not supported, for the reasons below"))

    ATTRIBUTES = (
        "## Attributes of devices that are 0", "",
        "The GPU has these properties towards its own host, and not towards the program's. `src/cuda/client/remote_limits.c` has the list.", "",
        "| CU_DEVICE_ATTRIBUTE_ | number | why |", "| --- | ---: | --- |",
        "| HOST_NATIVE_ATOMIC_SUPPORTED | 86 | the GPU and the program's processor share no memory |",
        "| PAGEABLE_MEMORY_ACCESS, and by the host's page tables | 88, 100 | kernels do not reach the program's pageable memory |",
        "| CONCURRENT_MANAGED_ACCESS, DIRECT_MANAGED_MEM_ACCESS_FROM_HOST | 89, 101 | changes of managed memory travel at launches and "
        "synchronizations |",
        "| DMA_BUF_SUPPORTED, HOST_ALLOC_DMA_BUF_SUPPORTED | 124, 146 | a dma-buf is for devices of the GPU's machine |",
        "| UNIFIED_FUNCTION_POINTERS | 129 | a function's address would be one of the server's |",
        "| HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED | 141, 145 | `cuMemCreate()` of host "
        "memory would give the server's |",
        "| HOST_NUMA_MEMORY_POOLS_SUPPORTED, HOST_MEMORY_POOLS_SUPPORTED | 142, 144 | a pool of host memory would be the server's |")

    def __init__(self, table):
        self.table = table

    def symbols(self, method):
        return [method.c, *(f"{method.c}_{word}" for word, _ in method.variants)]

    def text(self):
        counts = {kind: sum(len(self.symbols(method)) for method in self.table.functions if method.kind == kind)
                  for kind, _ in self.ROWS}
        lines = ["# Functions of the CUDA driver interface that work remotely", "",
                 "Written by `proto/cuda_generate.py` from `proto/cuda.capnp`; a change there is a change here.", "",
                 f"All {sum(counts.values())} functions that libcuda.so.1 of CUDA 13.0 exports are there: "
                 f"{sum(counts.values()) - counts['refused']} work, {counts['refused']} are refused: they answer",
                 "CUDA_ERROR_NOT_SUPPORTED. `_ptsz` and `_ptds` are counted with the function that they are a variant of.", "", "| how | functions | |", "| --- | ---: | --- |"]
        lines += [f"| {kind} | {counts[kind]} | {words} |" for kind, words in self.ROWS]
        lines += ["", *self.ATTRIBUTES, "", "## Refused", ""] + self.grouped("reason")
        lines += ["", "## Other than natively", ""] + self.grouped("differs")
        for kind, heading in (("custom", "Written by hand"), ("local", "Answered on the client"), ("cached", "Answered once"),
                              ("async", "Sent without an answer"), ("sync", "Sent, and the answer waited for")):
            lines += ["", f"## {heading}", "", *self.wrapped([method for method in self.table.functions if method.kind == kind])]
        return "\n".join(lines) + "\n"

    def grouped(self, mark):
        lines, grouped = [], {}
        for method in self.table.functions:
            if mark in method.marks:
                grouped.setdefault(method.marks[mark], []).append(method)
        for words, methods in grouped.items():
            lines += [f"- {capital(words)}:"] + self.wrapped(methods, "  ")
        return lines

    def wrapped(self, methods, indent=""):
        lines, line = [], indent
        for name in [name for method in methods for name in self.symbols(method)]:
            if len(line) + len(name) > 125:
                lines.append(line.rstrip())
                line = indent
            line += name + " "
        return lines + [line.rstrip()]


def outputs(table):
    """The text of each file by its name."""
    client, server, structs, methods = Client(table), Server(table), Structs(table).files(), Methods(table)
    exported = "".join(f"    {name};\n" for name in table.header.functions)
    several = Several(table)
    return {"cuda-wire.capnp": Wire(table).text(), "cuda-methods.h": methods.header(), "cuda-methods.c": methods.source(),
            "cuda-structs.h": structs[0], "cuda-structs.c": structs[1], "cuda-client.h": client.header(),
            "cuda-client.c": client.source(), "cuda-symbols.c": client.symbols(), "cuda-server.h": server.header(),
            "cuda-server.c": server.source(), "cuda.map": "{\nglobal:\n    aitherion_instance;\n" + exported + "local:\n    *;\n};\n",
            "cuda-several.map": "{\nglobal:\n" + exported + "local:\n    *;\n};\n",
            "cuda-wrong.h": Wrong(table).text(), "cuda-quota.h": Quota(table).header(), "cuda-sim.c": Sim(table).source(),
            "cuda-part.c": Part(table).source(), "cuda-part.h": Part(table).header(),
            "cuda-turns.c": Turns(table).source(), "cuda-several.h": several.header(), "cuda-several.c": several.source(),
            "cuda-local.c": Local(table).source(),
            "coverage.md": Coverage(table).text()}


def read_symbols(path):
    with open(path, encoding="ascii") as file:
        return [line.strip() for line in file if line.strip() and not line.startswith("#")]


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    try:
        asked = request.read(sys.stdin.buffer.read())
        texts = dict(line.split(" ", 1) for line in read_symbols(os.path.join(os.path.dirname(os.path.abspath(__file__)), "cuda-errors.txt")))
        table = cuda_table.Table(asked, cuda_header.Header(sys.argv[1]), read_symbols(sys.argv[2]), texts)
        for name, text in outputs(table).items():
            with open(os.path.join(sys.argv[3], name), "w", encoding="ascii") as out:
                out.write(text.rstrip("\n") + "\n")
    except Fault as fault:
        sys.exit(f"cuda_generate.py: {fault}")


if __name__ == "__main__":
    main()
