#!/usr/bin/env python3
"""Writes what is made of the table of CUDA's driver functions (proto/cuda.capnp).

    capnp compile -o- cuda.capnp | cuda_generate.py HEADERS SYMBOLS FOLDER

HEADERS is src/runtime/cuda, SYMBOLS is cuda-symbols.txt. In FOLDER:

    cuda-wire.capnp            the messages, Call and Answer, which generate.py makes the codec of and `capnp decode` reads
    cuda-methods.h, .c         the methods' numbers, and what is said of each
    cuda-structs.h, .c         CUDA's structures to the wire and back
    cuda-client.h, .c          the client's functions; cuda-symbols.c: those that libcuda.so.1 exports
    cuda-server.h, .c          the server's
    cuda-several.h, .c         the switch between several servers
    cuda.map, cuda-several.map the linker's lists of what the two libcuda.so.1 export
    coverage.md                the page for people
"""
import os
import sys

import cuda_header
import cuda_table
import request
from cuda_client import NOTE, Client
from cuda_server import Server
from cuda_several import Several
from cuda_structs import Structs, kind_name
from request import Fault

WIRE_ID = "@0x9d3f6b1e7a52c840"
CALL_FIELDS, ANSWER_FIELDS = 5, 4  # before their unions, which begin with 'none'
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
                 'using Common = import "/common.capnp";', '$Common.prefix("cudaWire");', "",
                 "struct Call {", "  number @0 :UInt64;       # of the session's calls, from 1 on, in their order",
                 "  thread @1 :UInt32;       # of the client's, from 0 on",
                 "  captureMode @2 :UInt32;  # the thread's CUstreamCaptureMode",
                 "  context @3 :UInt64;      # current in the thread; 0: none",
                 "  isAsked @4 :Bool;        # an answer is waited for", *self.union(False, CALL_FIELDS), "}", "",
                 "struct Answer {", "  number @0 :UInt64;       # of the call; 0: of none, it brings what kernels printed or changed",
                 "  status @1 :Int32;        # a CUresult",
                 "  printed @2 :Data;        # for the program's standard output, before what comes next",
                 "  changes @3 :List(MemoryPart);  # what the GPU changed in mirrors", *self.union(True, ANSWER_FIELDS), "}", ""]
        for struct in self.table.structs.values():
            lines += [f"struct {struct.name} {{", *self.members(struct.members, "  "), "}", ""]
        for method in self.table.methods:
            for fields, ending in ((method.given, ""), (method.results, "Result")):
                if fields:
                    lines += [f"struct {self.name(method)}{ending} {{",
                              *(f"  {field.name} @{i} :{self.type(field.type)};" for i, field in enumerate(fields)), "}", ""]
        return "\n".join(lines)

    def name(self, method):
        """A structure of the schema may have the name that a method's would have."""
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

    def __init__(self, table):
        self.table = table

    def header(self):
        lines = [NOTE, "#pragma once", "#include <stdbool.h>", "#include <stddef.h>", "",
                 "/* What a number that travels stands for. */", "enum ath_cuda_kind {", "    ATH_CUDA_KIND_ADDRESS,", "    ATH_CUDA_KIND_HOST,"]
        lines += [f"    {kind_name(name)}," for name in self.table.kinds()] + ["    ATH_CUDA_KIND_COUNT,", "};", ""]
        lines += ["/* In Call's and Answer's union each has its number and one more. */", "enum ath_cuda_method {"]
        lines += [f"    ATH_CUDA_METHOD_{method.c} = {method.ordinal}," for method in self.table.methods]
        lines += [f"    ATH_CUDA_METHOD_COUNT = {len(self.table.methods)},", "};", "", "enum ath_cuda_class {"]
        lines += [f"    ATH_CUDA_{word.upper()}," for word in cuda_table.CLASSES]
        lines += ["};", "", "struct ath_cuda_method_facts {", "    const char *name; /* of the function */",
                  "    enum ath_cuda_class class;", "    bool is_cached;",
                  "    bool is_of_device; /* cached, and the same in every context */", "    bool is_blocking;", "    bool forgets_all;",
                  "    const short *forgets; /* methods, up to -1; NULL: none */", "    const char *reason;   /* of a refused one */", "};",
                  "extern const struct ath_cuda_method_facts ath_cuda_methods[ATH_CUDA_METHOD_COUNT];", "",
                  "/* Every CUresult; one without a name ends it. */", "struct ath_cuda_error {", "    int value;",
                  "    const char *name, *text;", "};", "extern const struct ath_cuda_error ath_cuda_errors[];", ""]
        return "\n".join(lines)

    def source(self):
        numbers = {method.name: f"ATH_CUDA_METHOD_{method.c}" for method in self.table.methods}
        lines = [NOTE, '#include "config.h"', "", '#include "proto/cuda-methods.h"', "",
                 "const struct ath_cuda_method_facts ath_cuda_methods[ATH_CUDA_METHOD_COUNT] = {"]
        for method in self.table.methods:
            words = (method.marks.get("forgets") or "").split()
            facts = [f'"{method.c}"', f".class = ATH_CUDA_{method.kind.upper()}"]
            if method.kind == "cached" or "isCached" in method.marks:
                facts.append(".is_cached = true")
                if method.c.startswith("cuDevice"):
                    facts.append(".is_of_device = true")
            if "blocks" in method.marks:
                facts.append(".is_blocking = true")
            if words == ["*"]:
                facts.append(".forgets_all = true")
            elif words:
                facts.append(f".forgets = (const short[]){{ {', '.join(numbers[word] for word in words)}, -1 }}")
            if method.kind == "refused":
                facts.append(f'.reason = "{method.marks["reason"]}"')
            lines.append(f"    [{numbers[method.name]}] = {{ {', '.join(facts)} }},")
        lines += ["};", "", "const struct ath_cuda_error ath_cuda_errors[] = {"]
        for name, value in self.table.header.enums["CUresult"].items():
            text = name.removeprefix("CUDA_ERROR_").replace("_", " ").lower() if value else "no error"
            lines.append(f'    {{ {value}, "{name}", "{text}" }},')
        return "\n".join(lines + ["    { 0 },", "};", ""])


class Coverage:
    """docs/coverage.md."""

    ROWS = (("sync", "sent, the answer waited for"), ("async", "sent without an answer, in order"),
            ("cached", "sent once, then answered on the client"), ("custom", "written by hand on one side or both"),
            ("local", "answered on the client"), ("refused", "not supported, for the reasons below"))

    def __init__(self, table):
        self.table = table

    def symbols(self, method):
        return [method.c, *(f"{method.c}_{word}" for word, _ in method.variants)]

    def text(self):
        counts = {kind: sum(len(self.symbols(method)) for method in self.table.functions if method.kind == kind)
                  for kind, _ in self.ROWS}
        lines = ["# What of the CUDA driver interface works remotely", "",
                 "Written by `proto/cuda_generate.py` from `proto/cuda.capnp`; a change there is a change here.", "",
                 f"All {sum(counts.values())} functions that libcuda.so.1 of CUDA 13.0 exports are there: "
                 f"{sum(counts.values()) - counts['refused']} work, {counts['refused']} are refused: they answer",
                 "CUDA_ERROR_NOT_SUPPORTED. `_ptsz` and `_ptds` are counted with the function that they are a variant of.", "", "| how | functions | |", "| --- | ---: | --- |"]
        lines += [f"| {kind} | {counts[kind]} | {words} |" for kind, words in self.ROWS]
        lines += ["", "## Refused", ""] + self.reasons()
        for kind, heading in (("custom", "Written by hand"), ("local", "Answered on the client"), ("cached", "Answered once"),
                              ("async", "Sent without an answer"), ("sync", "Sent, and the answer waited for")):
            lines += ["", f"## {heading}", "", *self.wrapped([method for method in self.table.functions if method.kind == kind])]
        return "\n".join(lines) + "\n"

    def reasons(self):
        lines, grouped = [], {}
        for method in self.table.functions:
            if method.kind == "refused":
                grouped.setdefault(method.marks["reason"], []).append(method)
        for reason, methods in grouped.items():
            lines += [f"- {capital(reason)}:"] + self.wrapped(methods, "  ")
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
            "cuda-several.h": several.header(), "cuda-several.c": several.source(),
            "coverage.md": Coverage(table).text()}


def read_symbols(path):
    with open(path, encoding="ascii") as file:
        return [line.strip() for line in file if line.strip() and not line.startswith("#")]


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    try:
        asked = request.read(sys.stdin.buffer.read())
        table = cuda_table.Table(asked, cuda_header.Header(sys.argv[1]), read_symbols(sys.argv[2]))
        for name, text in outputs(table).items():
            with open(os.path.join(sys.argv[3], name), "w", encoding="ascii") as out:
                out.write(text.rstrip("\n") + "\n")
    except Fault as fault:
        sys.exit(f"cuda_generate.py: {fault}")


if __name__ == "__main__":
    main()
