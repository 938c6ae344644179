#!/usr/bin/env python3
"""Writes what is made of the table of NVML's functions (proto/nvml.capnp).

    capnp compile -o- nvml.capnp | nvml_generate.py HEADERS SYMBOLS FOLDER

HEADERS is src/nvml/api, SYMBOLS is nvml-symbols.txt. In FOLDER:

    nvml-functions.h, .c    the functions' numbers and facts, with the form of each parameter (src/nvml/api/table.h)
    nvml-client.h, .c       what libnvidia-ml.so.1 exports; what is written by hand is declared in the header
    nvml-server.h, .c       for each function one that calls the real one with a list of arguments
    nvml-absent.c           each as one that says NVML_ERROR_NOT_SUPPORTED, for the simulated library
    nvml.map                the linker's list of what is exported
    nvml.md                 the page for people
"""
import dataclasses
import os
import sys

import cuda_header
import request
from cuda_generate import capital, read_symbols
from generate import snake
from request import Fault

NOTE = "/* Written by proto/nvml_generate.py from nvml.capnp; a change there is a change here. */"
FILES = ("nvml_types.h", "nvml_functions.h")
CLASSES = ("static", "live", "local", "refused", "forbidden")
SIDES = ("client", "server")
SEVERAL = ("count", "place", "index", "find", "least", "sets")
NUMBERS = {"int", "unsigned int", "unsigned long", "unsigned long long", "char", "unsigned char"}
HELD_MAX = 2  # ATH_NVML_HELD_MAX


class Header(cuda_header.Header):
    """Our own header of NVML, which is written as CUDA's is."""

    def __init__(self, folder):
        self.enums, self.structs, self.aliases, self.functions = {}, {}, {}, {}
        self.callbacks, self.values, self.tags = set(), {}, {}
        for name in FILES:
            with open(os.path.join(folder, name), encoding="ascii") as file:
                self._read(name, file.read().replace("nvmlReturn_t nvml", "CUresult nvml"))


@dataclasses.dataclass
class Parameter:
    name: str
    type: cuda_header.Type
    form: str = ""          # of enum ath_nvml_form, without its prefix
    count_at: int = -1
    size: str = "0"
    handle: str = None
    is_versioned: bool = False
    is_changed: bool = False
    is_filled: bool = False


@dataclasses.dataclass
class Function:
    name: str
    number: int
    kind: str
    by_hand: str
    marks: dict
    parameters: list  # None: the header has none

    @property
    def travels(self):
        return self.kind in ("static", "live")

    def signature(self, name):
        return f"nvmlReturn_t {name}({', '.join(one.type.c(one.name) for one in self.parameters or []) or 'void'})"


def handle_kind(name):
    """ATH_NVML_HANDLE_EVENT_SET for nvmlEventSet_t."""
    return "ATH_NVML_HANDLE_" + snake(name[4:-2]).upper()


def pairs(text):
    return dict(word.split("=") for word in (text or "").split())


class Table:
    def __init__(self, asked, header, symbols):
        self.header = header
        marks = {node.id: node.short_name for node in asked.nodes.values() if node.kind == "annotation"}
        methods = [method for node in asked.nodes.values() if node.kind == "interface" for method in node.methods]
        self.functions = sorted((self.function(method, {marks[key]: one.value for key, one in method.annotations.items()})
                                 for method in methods), key=lambda function: function.number)
        names = [function.name for function in self.functions]
        for name in set(names) ^ set(symbols):
            raise Fault(f"'{name}' is {'not exported by the library' if name in names else 'exported and not in the table'}")
        if len(names) != len(set(names)):
            raise Fault("a function is in the table twice")

    def handles(self):
        return sorted(name for name in self.header.aliases if self.header.is_handle(name))

    def function(self, method, marks):
        if "c" not in marks or "class" not in marks:
            raise Fault(f"{method.name}: $c and $class must be there")
        function = Function(marks["c"], method.ordinal, CLASSES[marks["class"]],
                            SIDES[marks["byHand"]] if "byHand" in marks else None, marks, None)
        if (function.kind in ("refused", "forbidden")) != ("reason" in marks):
            raise Fault(f"{method.name}: a function that is refused has a reason, and no other has")
        if function.by_hand and not function.travels:
            raise Fault(f"{method.name}: $byHand belongs to a function that travels")
        if ("several" in marks or "apart" in marks) and not function.travels:
            raise Fault(f"{method.name}: $several and $apart belong to a function that travels")
        known = self.header.functions.get(function.name)
        if function.travels and not known:
            raise Fault(f"{method.name}: the header has no function '{function.name}'")
        if known and function.kind in ("refused", "forbidden"):
            raise Fault(f"{method.name}: the header has it, and it is refused")
        if known:
            function.parameters = [Parameter(one.name, one.type) for one in known.parameters]
            if function.travels:
                self.forms(function)
                self.check_handles(function)
        return function

    def check_handles(self, function):
        """A function of two devices knows what is between those of two servers."""
        handles = [one.handle for one in function.parameters if one.form == "GIVEN_HANDLE"]
        is_of_two = handles[:2] == ["nvmlDevice_t"] * 2
        if is_of_two != ("apart" in function.marks) or len(handles) > 1 and not is_of_two and "several" not in function.marks:
            raise Fault(f"{function.name}: $apart or $several says what handles of two servers are")

    # ---- the forms of parameters ----

    def forms(self, function):
        names = [parameter.name for parameter in function.parameters]
        items, in_bytes = pairs(function.marks.get("items")), pairs(function.marks.get("bytes"))
        rooms, changed = pairs(function.marks.get("room")), (function.marks.get("changed") or "").split()
        for name in [*items, *items.values(), *in_bytes, *in_bytes.values(), *rooms, *changed]:
            if name not in names:
                raise Fault(f"{function.name}: it has no parameter '{name}'")
        counts = {**items, **in_bytes}
        for at, one in enumerate(function.parameters):
            if one.name in counts:
                self.list(function, one, names.index(counts[one.name]), one.name in in_bytes)
                one.is_changed = one.name in changed
            elif one.name in rooms:
                one.form, one.size = "RESULT_TEXT", rooms[one.name]
            elif one.type.stars and one.name in counts.values():
                one.form = "COUNT"
            else:
                self.single(function, one, at)

    def list(self, function, one, count_at, is_in_bytes):
        one.count_at, one.is_filled = count_at, "fills" in function.marks
        if self.header.is_handle(one.type.name):
            one.form, one.handle, one.size = "RESULT_HANDLES", one.type.name, f"sizeof({one.type.name})"
        else:
            one.form, one.size = "RESULT_ITEMS", "1" if is_in_bytes else f"sizeof({one.type.name})"

    def single(self, function, one, at):
        name = one.type.name
        is_struct = name in self.header.structs
        if self.header.is_handle(name):
            one.form, one.handle = "RESULT_HANDLE" if one.type.stars else "GIVEN_HANDLE", name
        elif not one.type.stars:
            if is_struct or not self.is_number(name):
                raise Fault(f"{function.name}: '{one.type.c()}' does not travel")
            one.form = "GIVEN_NUMBER"
        elif name == "char" and one.type.is_const:
            one.form = "GIVEN_TEXT"
        elif name == "char":
            one.form, one.count_at = "RESULT_TEXT", at + 1
            following = function.parameters[at + 1:at + 2]
            if not following or following[0].type.c() != "unsigned int":
                raise Fault(f"{function.name}: nothing says how much room '{one.name}' has; $room")
        elif is_struct or self.is_number(name):
            one.form, one.size = "GIVEN_BYTES" if one.type.is_const else "RESULT", f"sizeof({name})"
            one.is_versioned = is_struct and self.header.structs[name][0].name == "version"
        else:
            raise Fault(f"{function.name}: '{one.type.c()}' does not travel")

    def is_number(self, name):
        while name in self.header.aliases:
            name = self.header.aliases[name].name
        return name in NUMBERS or name in self.header.enums

    def held(self, function):
        """Handles within structures: (the parameter's place, offset, kind)."""
        found, names = [], [parameter.name for parameter in function.parameters]
        for word in (function.marks.get("holds") or "").split():
            name, member = word.split(".")
            if name not in names or len(found) == HELD_MAX:
                raise Fault(f"{function.name}: $holds says '{word}'")
            type_ = function.parameters[names.index(name)].type.name
            kinds = [one.type.name for one in self.header.structs[type_] if one.name == member]
            if not kinds or not self.header.is_handle(kinds[0]):
                raise Fault(f"{function.name}: '{word}' is no handle")
            found.append((names.index(name), f"offsetof({type_}, {member})", handle_kind(kinds[0])))
        return found


class Writer:
    def __init__(self, table):
        self.table = table

    def functions_header(self):
        lines = [NOTE, "#pragma once", '#include "nvml/api/table.h"', "", "/* The kinds of handles. */", "enum ath_nvml_handle {",
                 "    ATH_NVML_HANDLE_NONE,", *(f"    {handle_kind(name)}," for name in self.table.handles()), "};", "",
                 "enum ath_nvml_function {"]
        lines += [f"    ATH_NVML_{function.name} = {function.number}," for function in self.table.functions]
        lines += [f"    ATH_NVML_FUNCTION_COUNT = {len(self.table.functions)},", "};", "",
                  "extern const struct ath_nvml_facts ath_nvml_functions[ATH_NVML_FUNCTION_COUNT];"]
        return "\n".join(lines)

    def functions_source(self):
        lines = [NOTE, '#include "config.h"', "", '#include "proto/nvml-functions.h"', "", "#include <stddef.h>", "",
                 '#include "nvml/api/nvml_functions.h"', ""]
        for function in self.table.functions:
            if function.travels and function.parameters:
                lines += [f"static const struct ath_nvml_parameter of_{function.name}[] = {{",
                          *(f"    {{ {self.parameter(one)} }}," for one in function.parameters), "};"]
        lines += ["", "const struct ath_nvml_facts ath_nvml_functions[ATH_NVML_FUNCTION_COUNT] = {"]
        for function in self.table.functions:
            facts = [f'"{function.name}"', f".class = ATH_NVML_{function.kind.upper()}"]
            if function.travels and function.parameters:
                facts += [f".parameters = of_{function.name}", f".parameter_count = {len(function.parameters)}"]
            if "several" in function.marks:
                facts.append(f".several = ATH_NVML_SEVERAL_{SEVERAL[function.marks['several']].upper()}")
            if "apart" in function.marks:
                facts.append(f".several = ATH_NVML_SEVERAL_APART, .apart = {function.marks['apart']}")
            if "frees" in function.marks:
                facts.append(".frees = true")
            held = self.table.held(function) if function.travels else []
            if held:
                facts.append(".held = { " + ", ".join(f"{{ {at}, {kind}, {offset} }}" for at, offset, kind in held) + " }")
                facts.append(f".held_count = {len(held)}")
            if "reason" in function.marks:
                facts.append(f'.reason = "{function.marks["reason"]}"')
            lines.append(f"    [ATH_NVML_{function.name}] = {{ {', '.join(facts)} }},")
        return "\n".join(lines + ["};"])

    def parameter(self, one):
        facts = [f"ATH_NVML_{one.form}", f".count_at = {one.count_at}", f".size = {one.size}"]
        if one.handle:
            facts.append(f".handle = {handle_kind(one.handle)}")
        facts += [f".{word} = true" for word in ("is_versioned", "is_changed", "is_filled") if getattr(one, word)]
        return ", ".join(facts)

    # ---- the client ----

    def client_header(self):
        lines = [NOTE, "#pragma once", '#include "nvml/api/nvml_functions.h"', "", "/* Written by hand. */"]
        lines += [function.signature(f"ath_nvml_by_hand_{function.name}") + ";" for function in self.table.functions
                  if self.is_by_hand(function)]
        return "\n".join(lines)

    def is_by_hand(self, function):
        return function.by_hand == "client" or function.kind == "local" and function.parameters is not None

    def client_source(self):
        lines = [NOTE, '#include "config.h"', "", '#include "proto/nvml-client.h"', "", '#include "nvml/client/client.h"', "",
                 "#pragma GCC visibility push(default)", ""]
        for function in self.table.functions:
            lines += self.exported(function)
        return "\n".join(lines + ["#pragma GCC visibility pop"])

    def exported(self, function):
        if function.kind in ("refused", "forbidden"):
            return [f"nvmlReturn_t {function.name}(void);", f"nvmlReturn_t {function.name}(void)", "{",
                    f"    return ath_nvml_refuse(ATH_NVML_{function.name});", "}", ""]
        if function.parameters is None:
            return []  # hands export it
        values = ", ".join(one.name for one in function.parameters)
        if self.is_by_hand(function):
            return [function.signature(function.name), "{", f"    return ath_nvml_by_hand_{function.name}({values});", "}", ""]
        return [function.signature(function.name), "{", *self.arguments(function),
                f"    return ath_nvml_ask(ATH_NVML_{function.name}, {'arguments' if function.parameters else 'NULL'});", "}", ""]

    def arguments(self, function):
        if not function.parameters:
            return []
        values = []
        for one in function.parameters:
            if one.type.stars or one.handle:
                values.append(f"{{ .pointer = {'(void *)' if one.type.is_const else ''}{one.name} }}")
            else:
                values.append(f"{{ .number = {self.widened(one)} }}")
        return [f"    union ath_nvml_argument arguments[] = {{ {', '.join(values)} }};"]

    def widened(self, one):
        return f"(uint64_t)(int64_t){one.name}" if one.type.name == "int" else one.name

    # ---- the server ----

    def server_header(self):
        lines = [NOTE, "#pragma once", '#include "proto/nvml-functions.h"', '#include "nvml/api/nvml_functions.h"', "",
                 "struct ath_nvml_server;", "", "/* Calls the library's function; NULL for what does not travel. */",
                 "typedef nvmlReturn_t (*ath_nvml_caller)(void (*function)(void), const union ath_nvml_argument *arguments);",
                 "extern const ath_nvml_caller ath_nvml_callers[ATH_NVML_FUNCTION_COUNT];", "",
                 "/* And those that are written by hand, with what that returned or, where they come first, themselves. */",
                 "typedef nvmlReturn_t (*ath_nvml_own)(struct ath_nvml_server *server, union ath_nvml_argument *arguments);",
                 "extern const ath_nvml_own ath_nvml_owns[ATH_NVML_FUNCTION_COUNT];", ""]
        lines += [f"nvmlReturn_t ath_nvml_serve_{function.name}(struct ath_nvml_server *server, union ath_nvml_argument *arguments);"
                  for function in self.table.functions if function.by_hand == "server"]
        return "\n".join(lines)

    def server_source(self):
        lines = [NOTE, '#include "config.h"', "", '#include "proto/nvml-server.h"', ""]
        shapes = {}
        for function in self.table.functions:
            if function.travels:
                shapes.setdefault(tuple(self.shape(one) for one in function.parameters), []).append(function)
        for number, shape in enumerate(shapes):
            types = ", ".join(shape) or "void"
            values = ", ".join(f"arguments[{at}].pointer" if word == "void *" else f"({word})arguments[{at}].number"
                               for at, word in enumerate(shape))
            lines += [f"static nvmlReturn_t call_{number}(void (*function)(void), const union ath_nvml_argument *arguments)", "{",
                      *([] if shape else ["    (void)arguments;"]),
                      f"    return ((nvmlReturn_t (*)({types}))function)({values});", "}", ""]
        lines.append("const ath_nvml_caller ath_nvml_callers[ATH_NVML_FUNCTION_COUNT] = {")
        for number, functions in enumerate(shapes.values()):
            lines += [f"    [ATH_NVML_{function.name}] = call_{number}," for function in functions]
        lines += ["};", "", "const ath_nvml_own ath_nvml_owns[ATH_NVML_FUNCTION_COUNT] = {"]
        lines += [f"    [ATH_NVML_{function.name}] = ath_nvml_serve_{function.name}," for function in self.table.functions
                  if function.by_hand == "server"]
        return "\n".join(lines + ["};"])

    def shape(self, one):
        """The C type of a parameter as the calling convention sees it."""
        if one.type.stars or one.handle:
            return "void *"
        name = one.type.name
        while name in self.table.header.aliases:
            name = self.table.header.aliases[name].name
        return "unsigned int" if name in self.table.header.enums else name


    # ---- the simulator ----

    def absent_source(self):
        """Weak ones, which give way to what the simulator has."""
        lines = [NOTE, '#include "config.h"', "", '#include "nvml/api/nvml_types.h"', ""]
        for function in self.table.functions:
            if function.kind == "local" and function.parameters is None:
                continue  # of another form
            declaration = f"nvmlReturn_t {function.name}(void)"
            lines += [f'__attribute__((weak, visibility("default"))) {declaration};', declaration, "{",
                      "    return NVML_ERROR_NOT_SUPPORTED;", "}", ""]
        return "\n".join(lines)


class Page:
    """docs/nvml.md."""

    ROWS = (("live", "asked of the server each time"), ("static", "asked once, then answered on the client"),
            ("local", "answered on the client"), ("refused", "NVML_ERROR_NOT_SUPPORTED"), ("forbidden", "NVML_ERROR_NO_PERMISSION"))

    def __init__(self, table):
        self.table = table

    def text(self):
        count = {kind: sum(function.kind == kind for function in self.table.functions) for kind, _ in self.ROWS}
        works = count["live"] + count["static"] + count["local"]
        lines = ["# Functions of NVML that work remotely", "", "Written by `proto/nvml_generate.py` from `proto/nvml.capnp`; a change there is a "
                 "change here.", "",
                 f"All {len(self.table.functions)} functions that libnvidia-ml.so.1 of NVIDIA's driver 580.159 exports are there: {works} "
                 f"work, {count['refused']} are refused, and", f"{count['forbidden']} that would change the GPU for everybody are forbidden. "
                 "One that the server's driver does not have answers NVML_ERROR_FUNCTION_NOT_FOUND.", "",
                 "| how | functions | |", "| --- | ---: | --- |"]
        lines += [f"| {kind} | {count[kind]} | {words} |" for kind, words in self.ROWS]
        lines += ["", "NVML reports as a GPU's memory what the program may have: the smallest of its session's limit (without a session, the limit that",
                  "`AITHERION_MEMORY` asks for), its key's limit and the server's share. With `AITHERION_CUDA_LOG=1` each refused",
                  "function is named once on standard error.", "",
                  "The devices of several servers (`AITHERION_SERVER=a:50051,b:50051`) are one list, in this order, whatever",
                  "CUDA_VISIBLE_DEVICES says. A function asks the server of its device, and a function without a device asks the first server, except:", "",
                  "| with several servers | |", "| --- | --- |", *self.several()]
        for kind in ("refused", "forbidden"):
            lines += ["", f"## {capital(kind)}", "", *self.reasons(kind)]
        for kind, heading in (("live", "Asked each time"), ("static", "Asked once"), ("local", "Answered on the client")):
            lines += ["", f"## {heading}", "", *self.wrapped([one for one in self.table.functions if one.kind == kind], "")]
        return "\n".join(lines)

    SEVERAL_WORDS = {"count": "the sum", "place": "the place in the whole list", "index": "the place in the whole list",
                     "find": "the first server that knows it", "least": "the least of all", "sets": "the events of all"}
    APART_WORDS = {0: "no", 5: "NVML_P2P_STATUS_NOT_SUPPORTED", 50: "NVML_TOPOLOGY_SYSTEM"}

    def several(self):
        lines = []
        for function in self.table.functions:
            if "several" in function.marks:
                lines.append(f"| {function.name} | {self.SEVERAL_WORDS[SEVERAL[function.marks['several']]]} |")
            elif "apart" in function.marks:
                lines.append(f"| {function.name} | devices of two servers: {self.APART_WORDS[function.marks['apart']]} |")
        return lines

    def reasons(self, kind):
        grouped = {}
        for function in self.table.functions:
            if function.kind == kind:
                grouped.setdefault(function.marks["reason"], []).append(function)
        return [line for reason, functions in grouped.items() for line in [f"- {capital(reason)}:", *self.wrapped(functions, "  ")]]

    def wrapped(self, functions, indent):
        lines = [indent]
        for function in functions:
            if len(lines[-1]) + len(function.name) > 125:
                lines.append(indent)
            lines[-1] += function.name + " "
        return [line.rstrip() for line in lines]


def outputs(table):
    writer = Writer(table)
    exported = "".join(f"    {function.name};\n" for function in table.functions)
    return {"nvml-functions.h": writer.functions_header(), "nvml-functions.c": writer.functions_source(),
            "nvml-client.h": writer.client_header(), "nvml-client.c": writer.client_source(),
            "nvml-server.h": writer.server_header(), "nvml-server.c": writer.server_source(),
            "nvml-absent.c": writer.absent_source(), "nvml.map": "{\nglobal:\n" + exported + "local:\n    *;\n};", "nvml.md": Page(table).text()}


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    try:
        table = Table(request.read(sys.stdin.buffer.read()), Header(sys.argv[1]), read_symbols(sys.argv[2]))
        for name, text in outputs(table).items():
            with open(os.path.join(sys.argv[3], name), "w", encoding="ascii") as out:
                out.write(text.rstrip("\n") + "\n")
    except Fault as fault:
        sys.exit(f"nvml_generate.py: {fault}")


if __name__ == "__main__":
    main()
