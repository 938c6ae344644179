"""Writes the server's side of CUDA's functions: cuda-server.h and cuda-server.c.

    struct ath_cuda_driver                 a pointer for each function of the loaded driver, NULL for what it does not have
    ath_cuda_dispatch[]                    for each method the function that takes a call's parameters, calls the driver and answers
    void ath_cuda_serve_NAME(served)       declared for the methods whose server side is written by hand
"""
import re

from cuda_client import NOTE
from cuda_structs import bits_of, from_wire, item_of, to_wire
from cuda_table import in_c


class Server:
    def __init__(self, table):
        self.table = table

    def header(self):
        lines = [NOTE, "#pragma once", '#include "proto/cuda-methods.h"', '#include "proto/cuda-wire-types.h"',
                 '#include "cuda/api/cuda_api.h"', "", "struct ath_cuda_served;", "", "struct ath_cuda_driver {"]
        for name, function in self.table.header.functions.items():
            types = ", ".join(one.type.c() for one in function.parameters) or "void"
            lines.append(f"    CUresult (*{name})({types});")
        lines += ["};", "", "/* Their names, in the order of the structure. */", "extern const char *const ath_cuda_driver_names[];",
                  f"enum {{ ATH_CUDA_DRIVER_COUNT = {len(self.table.header.functions)} }};", "",
                  "struct ath_cuda_dispatch {", "    void (*serve)(struct ath_cuda_served *served); /* NULL: not from the wire */",
                  "    size_t needs; /* where the pointer that must be there lies in struct ath_cuda_driver */", "};",
                  "#define ATH_CUDA_NEEDS_NOTHING ((size_t)-1) /* who is written by hand looks for himself */",
                  "extern const struct ath_cuda_dispatch ath_cuda_dispatch[];", "",
                  "/* The object that the first parameter of a call names, for methods that capture or end a capture, an object or a device's",
                  " * contexts; 0 for others. */",
                  "uint64_t ath_cuda_subject(struct ath_cuda_wire_call call, enum ath_cuda_method method);", "", "/* Written by hand. */"]
        lines += [f"void ath_cuda_serve_{method.c}(struct ath_cuda_served *served);" for method in self.table.methods
                  if method.server_by_hand]
        return "\n".join(lines) + "\n"

    def source(self):
        lines = [NOTE, '#include "config.h"', "", '#include "proto/cuda-server.h"', "", '#include "proto/cuda-structs.h"',
                 '#include "proto/cuda-wire.h"', '#include "cuda/common/bytes.h"', '#include "cuda/server/server.h"', ""]
        for method in self.table.methods:
            if method.travels and not method.server_by_hand:
                lines += self.function(method)
        lines += self.subjects()
        lines.append("const struct ath_cuda_dispatch ath_cuda_dispatch[] = {")
        for method in self.table.methods:
            if method.travels:
                serve = f"ath_cuda_serve_{method.c}" if method.server_by_hand else f"serve_{method.c}"
                needs = "ATH_CUDA_NEEDS_NOTHING" if method.server_by_hand else f"offsetof(struct ath_cuda_driver, {method.c})"
                lines.append(f"    [ATH_CUDA_METHOD_{method.c}] = {{ {serve}, {needs} }},")
        lines += [f"    [ATH_CUDA_METHOD_COUNT] = {{ 0 }},", "};", "", "const char *const ath_cuda_driver_names[] = {"]
        lines += [f'    "{name}",' for name in self.table.header.functions]
        return "\n".join(lines + ["};", ""])

    def subjects(self):
        lines = ["uint64_t ath_cuda_subject(struct ath_cuda_wire_call call, enum ath_cuda_method method)", "{", "    switch (method) {"]
        for method in self.table.methods:
            if method.travels and (self.table.subjects.keys() & set(method.does) or method.ends_subject):
                wire = f"ath_cuda_wire_{method.snake}_{method.given[0].snake}(ath_cuda_wire_call_{method.snake}(call))"
                lines += [f"    case ATH_CUDA_METHOD_{method.c}:", f"        return (uint64_t){wire};"]
        return lines + ["    default:", "        return 0;", "    }", "}", ""]

    # ---- one function ----

    def function(self, method):
        wire = f"ath_cuda_wire_{method.snake}"
        lines = [f"static void serve_{method.c}(struct ath_cuda_served *served)", "{",
                 "    struct ath_cuda_side *side = &served->side;"]
        if method.given:
            lines.append(f"    struct {wire} call = ath_cuda_wire_call_{method.snake}(served->call);")
        for parameter in method.parameters:
            lines += self.declare(method, parameter, wire)
        for parameter in method.parameters:
            if parameter.length_of:
                source = parameter.length_of
                length = f"{source.snake}_list.count" if source.type.kind == "list" else f"{source.snake}_bytes.length"
                lines.append(f"    {parameter.ctype.name} {parameter.name} = ({parameter.ctype.name}){length};")
        lines += self.agree(method)
        for parameter in method.parameters:
            lines += self.room(method, parameter, wire)
        lines += ["    if (ath_cuda_refused(served))", "        return;"]
        values = ", ".join(parameter.name for parameter in method.parameters)
        lines.append(f"    served->status = served->driver->{method.c}({values});")
        if method.results:
            if "evenFailed" not in method.marks:
                lines += ["    if (served->status)", "        return;"]
            lines.append(f"    struct {wire}_result_builder answer = ath_cuda_wire_answer_init_{method.snake}(served->answer);")
            for parameter in method.parameters:
                if parameter.result:
                    lines += self.result(method, parameter.result, f"{wire}_result")
        lines.append("    (void)side;")
        return lines + ["}", ""]

    def declare(self, method, parameter, wire):
        """Lines that declare a parameter of C and fill it from the call, except the room for results."""
        field, ctype, name = parameter.given, parameter.ctype, parameter.name
        if not field:
            return self.declare_result(parameter)
        read = f"{wire}_{field.snake}(call)"
        if field.type.kind == "list":
            return self.declare_list(field, name, read)
        if field.type.kind == "text":
            return [f"    const char *{name} = {wire}_has_{field.snake}(call) ? {read} : NULL;"]
        if field.type.kind == "data":
            return self.declare_bytes(parameter, read)
        if field.type.kind == "struct":
            inner = self.table.structs[field.type.type_id].snake
            lines = [f"    {ctype.name} {name}_value;", f"    ath_cuda_get_{inner}(side, &{name}_value, {read});"]
            if any("hostptr" in member.marks for member in self.table.structs[field.type.type_id].members):
                lines.append(f"    ath_cuda_check_{inner}(served, &{name}_value);")
            if not ctype.stars:
                return [lines[0].replace("_value", ""), lines[1].replace("_value", "")]
            present = f"{wire}_has_{field.snake}(call)"
            if "nullable" in field.marks:
                return lines + [f"    {ctype.name} *{name} = {present} ? &{name}_value : NULL;"]
            return lines + [f"    {ctype.name} *{name} = &{name}_value;", f"    if (!{present})",
                            "        side->status = CUDA_ERROR_INVALID_VALUE;"]
        value = from_wire(field, read)
        if ctype.stars and not ("deviceptr" in field.marks and not ctype.name.startswith("CUdeviceptr")):
            return [f"    {ctype.name} {name}_value = {value};", f"    {ctype.name} *{name} = &{name}_value;"]
        return [f"    {ctype.c(name)} = {value};"]

    def declare_result(self, parameter):
        field, ctype, name = parameter.result, parameter.ctype, parameter.name
        if not field or field.type.kind == "data" or (field.type.kind in ("list", "text") and "kept" not in field.marks):
            return []
        if "kept" in field.marks and field.type.kind in ("list", "text"):
            return [f"    const {ctype.name} *{name}_value = NULL;", f"    const {ctype.name} **{name} = &{name}_value;"]
        start = f"    {ctype.name} {name}_value"
        if field.type.kind == "struct":
            return [start + ";", f"    memset(&{name}_value, 0, sizeof {name}_value);", f"    {ctype.name} *{name} = &{name}_value;"]
        return [start + f" = ({ctype.name})0;", f"    {ctype.name} *{name} = &{name}_value;"]

    def declare_list(self, field, name, read):
        ctype = field.ctype.name
        lines = [f"    struct ath_wire_list {field.snake}_list = {read};",
                 f"    {ctype} *{name} = {field.snake}_list.items ? ath_cuda_room(side, {field.snake}_list.count, sizeof *{name}) : NULL;",
                 f"    for (uint32_t i = 0; {name} && i < {field.snake}_list.count; i++)"]
        if field.item.kind == "struct":
            inner = self.table.structs[field.item.type_id].snake
            return lines + [f"        ath_cuda_get_{inner}(side, &{name}[i], (struct ath_cuda_wire_{inner}){{ "
                            f"ath_wire_list_struct({field.snake}_list, i) }});"]
        return lines + [f"        {name}[i] = {from_wire(field, item_of(field, field.snake + '_list'))};"]

    def declare_bytes(self, parameter, read):
        field, ctype, name = parameter.given, parameter.ctype, parameter.name
        lines = [f"    struct ath_wire_bytes {field.snake}_bytes = {read};"]
        if not ctype.stars:
            return lines + [f"    {ctype.name} {name};", f"    ath_cuda_copy_bytes(&{name}, sizeof {name}, {field.snake}_bytes);"]
        if parameter.result:  # it is changed in place
            return lines + [f"    {ctype.name} *{name} = ath_cuda_room(side, {field.snake}_bytes.length, 1);", f"    if ({name})",
                            f"        ath_cuda_copy_bytes({name}, {field.snake}_bytes.length, {field.snake}_bytes);"]
        return lines + [f"    {ctype.c(name)} = ({'const ' if ctype.is_const else ''}{ctype.name} *)(uintptr_t){field.snake}_bytes.data;"]

    def agree(self, method):
        """Lists and bytes must be as long as the parameters say, and numbers in their bounds, or the driver would reach beyond memory."""
        sources = {id(parameter.length_of) for parameter in method.parameters if parameter.length_of}
        lines = []
        for field in method.given:
            if "atMost" in field.marks:
                lines += [f"    if (!ath_cuda_is_within({field.c}, {in_c(method, field.marks['atMost'])}))",
                          "        side->status = CUDA_ERROR_INVALID_VALUE;"]
            mark = field.marks.get("count") or field.marks.get("bytesOf")
            if mark and "ath_cuda_bytes_of_image" in mark:
                lines += [f"    if (!ath_cuda_is_whole_image({field.snake}_bytes.data, {field.snake}_bytes.length))",
                          "        side->status = CUDA_ERROR_INVALID_IMAGE;"]
            if not mark or id(field) in sources or re.search(rf"\b{field.c}\b", in_c(method, mark)):
                continue
            length, there = (f"{field.snake}_list.count", f"{field.snake}_list.items") if field.type.kind == "list" else \
                (f"{field.snake}_bytes.length", f"{field.snake}_bytes.data")
            guard = f"{there} && " if "nullable" in field.marks else ""
            known = f"!({in_c(method, mark)}) || " if "ath_cuda_bytes_of" in mark else ""  # the size of an unknown attribute
            lines += [f"    if ({known}{guard}{length} != (uint64_t)({in_c(method, mark)}))",
                      "        side->status = CUDA_ERROR_INVALID_VALUE;"]
        return lines

    def room(self, method, parameter, wire):
        field, ctype, name = parameter.result, parameter.ctype, parameter.name
        if not field or parameter.given or ("kept" in field.marks and field.type.kind in ("list", "text")):
            return []
        if field.type.kind == "data":
            count, size = in_c(method, field.marks["bytesOf"]), "1"
        elif field.type.kind == "text":
            count, size = in_c(method, field.marks["capacity"]), "1"
        elif field.type.kind == "list":
            mark = field.marks.get("count") or "*" + field.marks["upTo"]
            count, size = in_c(method, mark), f"sizeof({ctype.name})"
        else:
            return []
        lines = [f"    uint64_t {field.snake}_room = (uint64_t)({count});"]
        if "ath_cuda_bytes_of" in count:  # the driver may know an attribute whose size we do not know, and write it
            lines += [f"    if (!{field.snake}_room)", "        side->status = CUDA_ERROR_INVALID_VALUE;"]
        made = f"ath_cuda_room(side, {field.snake}_room, {size})"
        for wants in method.given:
            if wants.marks.get("wants") == field.name:
                made = f"{wire}_{wants.snake}(call) ? {made} : NULL"
        return lines + [f"    {ctype.name} *{name} = {made};"]

    # ---- results ----

    def result(self, method, field, wire):
        name, value = field.snake, field.c
        if field.type.kind == "list":
            return self.result_list(method, field, wire)
        if field.type.kind == "data":
            length = f"{name}_room" if not any(one.c == field.c for one in method.given) else f"{name}_bytes.length"
            return [f"    if ({value})",
                    f"        {wire}_set_{name}(answer, (struct ath_wire_bytes){{ (const uint8_t *){value}, (size_t){length} }});"]
        if field.type.kind == "text":
            if "kept" in field.marks:
                return [f"    {wire}_set_{name}(answer, *{value});"]
            return [f"    if ({name}_room) {{", f"        {value}[{name}_room - 1] = '\\0';", f"        {wire}_set_{name}(answer, {value});", "    }"]
        if field.type.kind == "struct":
            inner = self.table.structs[field.type.type_id].snake
            return [f"    ath_cuda_put_{inner}(side, {wire}_init_{name}(answer), {value});"]
        return [f"    {wire}_set_{name}(answer, {to_wire(field, '*' + value)});"]

    def result_list(self, method, field, wire):
        name, value = field.snake, field.c
        if "kept" in field.marks:
            there, items = f"*{value}", f"(*{value})[i]"
            count = f"(uint64_t)*{in_c(method, field.marks['upTo'])}"
        else:
            there, items = value, f"{value}[i]"
            count = f"{name}_room" if "count" in field.marks else \
                f"ath_cuda_least({name}_room, *{in_c(method, field.marks['upTo'])})"
        lines = [f"    if ({there}) {{", f"        struct ath_wire_array items = {wire}_init_{name}(answer, ath_cuda_items({count}));",
                 "        for (uint32_t i = 0; i < items.count; i++)"]
        if field.item.kind == "struct":
            inner = self.table.structs[field.item.type_id].snake
            lines.append(f"            ath_cuda_put_{inner}(side, (struct ath_cuda_wire_{inner}_builder){{ "
                         f"ath_wire_array_struct(items, i) }}, &{items});")
        else:
            lines.append(f"            ath_wire_array_set_bits(items, i, {bits_of(field, items)});")
        return lines + ["    }"]
