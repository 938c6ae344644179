"""Writes the C that turns CUDA's structures into the wire's and back: cuda-structs.h and cuda-structs.c.

    void ath_cuda_put_NAME(struct ath_cuda_side *side, struct ath_cuda_wire_NAME_builder to, const C_TYPE *from)
    void ath_cuda_get_NAME(struct ath_cuda_side *side, C_TYPE *to, struct ath_cuda_wire_NAME from)
"""
from cuda_table import Group, NUMBER_HANDLES
from generate import snake

SUFFIXES = {"int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32",
            "uint64": "u64", "float32": "f32", "float64": "f64"}


def kind_name(ctype_name):
    """ATH_CUDA_KIND_GRAPH_NODE for CUgraphNode."""
    return "ATH_CUDA_KIND_" + snake(ctype_name[2:]).upper()


def to_wire(field, value, side="side"):
    """The expression that travels for a value of C's: the number itself, or the translation of a handle or an address."""
    name = field.ctype.name
    if "hostptr" in field.marks:
        return f"ath_cuda_to_wire({side}, ATH_CUDA_KIND_HOST, (uintptr_t){value})"
    if "deviceptr" in field.marks:
        is_pointer = name not in ("CUdeviceptr", "CUdeviceptr_v1")
        cast = "(uint32_t)" if name == "CUdeviceptr_v1" else ""
        inner = f"(uintptr_t){value}" if is_pointer else value
        return f"{cast}ath_cuda_to_wire({side}, ATH_CUDA_KIND_ADDRESS, {inner})"
    if "handle" in field.marks:
        cast = "(int32_t)" if NUMBER_HANDLES.get(name) == "int32" else ""
        inner = f"(uint64_t){value}" if name in NUMBER_HANDLES else f"(uintptr_t){value}"
        return f"{cast}ath_cuda_to_wire({side}, {kind_name(name)}, {inner})"
    return f"(uint32_t){value}" if field.item.kind == "uint32" else value


def from_wire(field, value, side="side"):
    """The expression of C's value for a value that travelled."""
    name = field.ctype.name
    if "hostptr" in field.marks:
        return f"({'const ' if field.ctype.is_const else ''}void *)(uintptr_t)ath_cuda_to_own({side}, ATH_CUDA_KIND_HOST, {value})"
    if "deviceptr" in field.marks:
        inner = f"ath_cuda_to_own({side}, ATH_CUDA_KIND_ADDRESS, {value})"
        if name == "CUdeviceptr":
            return inner
        return f"(CUdeviceptr_v1){inner}" if name == "CUdeviceptr_v1" else f"({'const ' if field.ctype.is_const else ''}void *)(uintptr_t){inner}"
    if "handle" in field.marks:
        if name in NUMBER_HANDLES:
            return f"({name})ath_cuda_to_own({side}, {kind_name(name)}, (uint64_t){value})"
        return f"({name})(uintptr_t)ath_cuda_to_own({side}, {kind_name(name)}, {value})"
    return f"({name}){value}"


def has_lists(struct):
    """The members that are lists of their own memory, [Field]."""
    return [member for member in struct.members if not isinstance(member, Group) and "count" in member.marks]


class Structs:
    def __init__(self, table):
        self.table = table

    def files(self):
        note = "/* Written by proto/cuda_generate.py from cuda.capnp; a change there is a change here. */"
        header = [note, "#pragma once", '#include "proto/cuda-wire-types.h"', '#include "cuda/common/call_side.h"', ""]
        source = [note, '#include "config.h"', "", '#include "proto/cuda-structs.h"', '#include "proto/cuda-wire.h"', ""]
        for struct in self.table.structs.values():
            if struct.c is not None:
                header += [f"{line};" for line in self.declarations(struct)] + [""]
                source += self.put(struct) + self.get(struct)
        return "\n".join(header), "\n".join(source)

    def declarations(self, struct):
        wire = f"struct ath_cuda_wire_{struct.snake}"
        return (f"void ath_cuda_put_{struct.snake}(struct ath_cuda_side *side, {wire}_builder to, const {struct.c} *from)",
                f"void ath_cuda_get_{struct.snake}(struct ath_cuda_side *side, {struct.c} *to, {wire} from)")

    # ---- to the wire ----

    def put(self, struct):
        body = self.put_members(struct.members, "from->", "to", f"ath_cuda_wire_{struct.snake}")
        return [self.declarations(struct)[0], "{", "    (void)side;", *body, "}", ""]

    def put_members(self, members, c, to, wire):
        lines = []
        for member in members:
            if not isinstance(member, Group):
                lines += self.put_field(member, c + member.c, to, wire, c)
            elif member.is_union:
                lines += self.put_union(member, c, to, wire)
            else:
                inner = f"{wire}_{member.snake}"
                lines += [f"    struct {inner}_builder {member.snake}_{to} = {wire}_init_{member.snake}({to});"]
                lines += self.put_members(member.members, self.into(c, member), f"{member.snake}_{to}", inner)
        return lines

    def into(self, c, group):
        """The beginning of an expression for a member of a group."""
        return c if group.c == "" else f"{c}{group.c}."

    def put_union(self, union, c, to, wire):
        inner, name = f"{wire}_{union.snake}", f"{union.snake}_{to}"
        lines = [f"    struct {inner}_builder {name} = {wire}_init_{union.snake}({to});", f"    switch ({c}{union.marks['by']}) {{"]
        for member in union.members[:-1]:
            lines += [f"    case {value}:" for value in member.marks["when"].split()] + ["    {"]
            lines += self.put_members([member], self.into(c, union), name, inner)
            lines += ["        break;", "    }"]
        whole = self.whole(c, union)
        return lines + ["    default:", f"        {inner}_set_otherwise({name}, (struct ath_wire_bytes){{ (const uint8_t *)&{whole}, "
                        f"sizeof {whole} }});", "    }"]

    def whole(self, c, union):
        """The union as one object."""
        return (c + union.c) if union.c else f"(*{c[:-2]})"

    def put_field(self, field, value, to, wire, c):
        name = field.snake
        if field.type.kind == "list":
            return self.put_list(field, value, to, wire, c)
        if field.type.kind == "struct":
            inner = self.table.structs[field.type.type_id].snake
            return [f"    ath_cuda_put_{inner}(side, {wire}_init_{name}({to}), &{value});"]
        if "deviceIf" in field.marks:
            there = f"ath_cuda_to_wire(side, ATH_CUDA_KIND_DEVICE, (uint64_t){value})"
            return [f"    {wire}_set_{name}({to}, {self.is_device(field, c)} ? (int32_t){there} : {value});"]
        return [f"    {wire}_set_{name}({to}, {self.if_used(field, to_wire(field, value), c)});"]

    def if_used(self, field, there, c):
        """A member that the C function does not read may be anything, so 0 travels in its place."""
        if "onlyBack" in field.marks:
            return f"side->is_server ? {there} : 0"
        if "usedIf" in field.marks:
            return f"{c.split('->')[0]}->{field.marks['usedIf']} ? {there} : 0"
        return there

    def is_device(self, field, c):
        member, wanted = field.marks["deviceIf"].split()
        return f"{c}{member} == {wanted}"

    def put_list(self, field, value, to, wire, c):
        name, count = field.snake, field.ctype.counts[0] if field.ctype.counts else f"(uint32_t){c}{field.marks['count']}"
        lines = [] if field.ctype.counts else [f"    if ({value}) {{"]
        lines += [f"    struct ath_wire_array {name} = {wire}_init_{name}({to}, {count});",
                  f"    for (uint32_t i = 0; i < {name}.count; i++)"]
        if field.item.kind == "struct":
            inner = self.table.structs[field.item.type_id].snake
            lines += [f"        ath_cuda_put_{inner}(side, (struct ath_cuda_wire_{inner}_builder){{ ath_wire_array_struct({name}, i) }}, "
                      f"&{value}[i]);"]
        else:
            lines += [f"        ath_wire_array_set_bits({name}, i, {bits_of(field, value + '[i]')});"]
        return lines + ([] if field.ctype.counts else ["    }"])

    # ---- from the wire ----

    def get(self, struct):
        body = self.get_members(struct.members, "to->", "from", f"ath_cuda_wire_{struct.snake}")
        return [self.declarations(struct)[1], "{", "    (void)side;", "    memset(to, 0, sizeof *to);", *body, "}", ""]

    def get_members(self, members, c, source, wire):
        lines = []
        for member in members:
            if not isinstance(member, Group):
                lines += self.get_field(member, c + member.c, source, wire, c)
            elif member.is_union:
                lines += self.get_union(member, c, source, wire)
            else:
                inner, name = f"{wire}_{member.snake}", f"{member.snake}_{source}"
                lines += [f"    struct {inner} {name} = {wire}_{member.snake}({source});"]
                lines += self.get_members(member.members, self.into(c, member), name, inner)
        return lines

    def get_union(self, union, c, source, wire):
        inner, name = f"{wire}_{union.snake}", f"{union.snake}_{source}"
        lines = [f"    struct {inner} {name} = {wire}_{union.snake}({source});", f"    switch ({inner}_which({name})) {{"]
        for member in union.members[:-1]:
            lines += [f"    case {inner.upper()}_{member.snake.upper()}:", "    {"]
            lines += self.get_members([member], self.into(c, union), name, inner)
            lines += ["        break;", "    }"]
        return lines + ["    default:", f"        ath_cuda_copy_bytes(&{self.whole(c, union)}, sizeof {self.whole(c, union)}, "
                        f"{inner}_otherwise({name}));", "    }"]

    def get_field(self, field, value, source, wire, c):
        read = f"{wire}_{field.snake}({source})"
        if field.type.kind == "list":
            return self.get_list(field, value, read, c)
        if field.type.kind == "struct":
            return [f"    ath_cuda_get_{self.table.structs[field.type.type_id].snake}(side, &{value}, {read});"]
        if "deviceIf" in field.marks:
            return [f"    {value} = {read};", f"    if ({self.is_device(field, c)})",
                    f"        {value} = ({field.ctype.name})ath_cuda_to_own(side, ATH_CUDA_KIND_DEVICE, (uint64_t){value});"]
        return [f"    {value} = {from_wire(field, read)};"]

    def get_list(self, field, value, read, c):
        name = f"{field.snake}_list"
        lines = [f"    struct ath_wire_list {name} = {read};"]
        if field.ctype.counts:
            return lines + [f"    for (uint32_t i = 0; i < {field.ctype.counts[0]}; i++)",
                            f"        {value}[i] = {from_wire(field, item_of(field, name))};"]
        made = f"{field.ctype.name} *{field.snake} = {name}.items ? ath_cuda_room(side, {name}.count, sizeof *{field.snake}) : NULL;"
        inner = self.table.structs[field.item.type_id].snake
        return lines + [f"    {made}", f"    for (uint32_t i = 0; {field.snake} && i < {name}.count; i++)",
                        f"        ath_cuda_get_{inner}(side, &{field.snake}[i], (struct ath_cuda_wire_{inner}){{ ath_wire_list_struct({name}, i) }});",
                        f"    {value} = {field.snake};",
                        f"    {c}{field.marks['count']} = {field.snake} ? {name}.count : 0;"]


def bits_of(field, value, side="side"):
    """An item's bits, as ath_wire_array_set_bits() takes them."""
    if field.item.kind == "float32":
        return f"ath_cuda_float_bits({value})"
    cast = {"int32": "(uint32_t)", "int64": "(uint64_t)"}.get(field.item.kind, "")
    return f"{cast}{to_wire(field, value, side)}"


def item_of(field, name):
    """An item of a list of numbers."""
    return f"ath_wire_{SUFFIXES[field.item.kind]}(ath_wire_item({name}, i), 0, 0)"
