#!/usr/bin/env python3
"""Writes the C of Cap'n Proto schemas: readers and builders on src/remote/wire/message.h.

    capnp compile -o- A.capnp B.capnp | generate.py FOLDER     writes FOLDER/A-types.h, FOLDER/A.h, FOLDER/A.c, FOLDER/B-types.h, ...

The types have a header of their own, because a compiler needs long for the functions of a large schema, and headers need only types.

For a struct Hello of a file with the prefix "control" (an annotation of proto/common.capnp; else the file's name):

    struct ath_control_hello            a reader: struct ath_wire_struct `at`; ath_control_hello_NAME(reader) gives a field,
                                        ath_control_hello_has_NAME(reader) whether one that is a pointer is there
    struct ath_control_hello_builder    ath_control_hello_set_NAME(builder, value), ath_control_hello_init_NAME(builder...)
    ath_control_hello_open()            checks a whole message; after it no reader can fail
    ath_control_hello_start()           the root of a message to build
    ath_control_hello_item()            a reader, and ath_control_hello_place() a builder, of an item of a list
    enum ath_control_hello_which        of an unnamed union, and ath_control_hello_which(reader)

Only a struct of which a list exists gets item() and place(). With the annotation outerMessages only a struct that no other struct
contains gets open() and start(). These were a third of the functions of cuda-wire.h, which 60 files include.
"""
import os
import re
import struct
import sys

import request
from request import Fault

C_TYPES = {"int8": "int8_t", "int16": "int16_t", "int32": "int32_t", "int64": "int64_t", "uint8": "uint8_t",
           "uint16": "uint16_t", "uint32": "uint32_t", "uint64": "uint64_t", "float32": "float", "float64": "double",
           "bool": "bool", "enum": None, "text": "const char *", "data": "struct ath_wire_bytes"}
# Suffixes of the functions in message.h, and the size of an item in a list (capnproto.org/encoding.html).
SUFFIXES = {"int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32",
            "uint64": "u64", "float32": "f32", "float64": "f64", "bool": "bool", "enum": "u16"}
ITEM_SIZES = {"void": 0, "bool": 1, "int8": 2, "uint8": 2, "int16": 3, "uint16": 3, "enum": 3, "int32": 4, "uint32": 4,
              "float32": 4, "int64": 5, "uint64": 5, "float64": 5, "text": 6, "data": 6, "list": 6, "struct": 7}
PREFIX_ANNOTATION = 0xD3CC615668AF0A49
OUTER_MESSAGES_ANNOTATION = 0xC1A9D27BE0354F68
POINTERS = ("text", "data", "list", "struct")


def snake(name):
    """memoryTotalBytes, DeviceList, SMCount: words parted by underscores."""
    name = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).replace("-", "_").lower()


def bits(kind, value):
    """A default as the unsigned number that it is XORed with."""
    size = {"int8": "b", "int16": "h", "int32": "i", "int64": "q", "float32": "f", "float64": "d"}.get(kind)
    if size:
        value = int.from_bytes(struct.pack("<" + size, value), "little")
    return f"{int(value):#x}u" if kind not in ("int64", "uint64", "float64") else f"UINT64_C({int(value):#x})"


def c_string(data):
    """Bytes as a C string literal; octal escapes, which end after three digits."""
    return '"' + "".join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else f"\\{byte:03o}" for byte in data) + '"'


class Names:
    """C names of nodes."""

    def __init__(self, asked):
        self.asked = asked
        self.files = {file.id: file for file in asked.files}
        self._parents = {}
        for node in asked.nodes.values():
            for _, nested_id in node.nested:
                self._parents[nested_id] = node.id
            for method in node.methods:
                for struct_id in (method.parameters_id, method.results_id):
                    if not asked.nodes[struct_id].scope_id:
                        self._parents[struct_id] = node.id

        inner = [field.type for node in asked.nodes.values() for field in node.fields if field.type]
        items = [type_.item for type_ in inner if type_.kind == "list"]
        for type_ in items:  # grows: lists of lists
            if type_.kind == "list":
                items.append(type_.item)
        self.listed = {type_.type_id for type_ in items if type_.kind == "struct"}
        self.inner = {type_.type_id for type_ in inner if type_.kind == "struct"} | self.listed

    def file_of(self, node):
        while node.kind != "file":
            node = self.asked.nodes[self.parent_id(node)]
        return node

    def parent_id(self, node):
        return node.scope_id or self._parents[node.id]

    def stem(self, file_node):
        return os.path.basename(file_node.display_name)[:-len(".capnp")]

    def c(self, node):
        """ath_control_hello, ath_cuda_driver_mem_alloc_params."""
        if node.kind == "file":
            prefix = node.annotations.get(PREFIX_ANNOTATION)
            return "ath_" + snake(prefix.value if prefix else self.stem(node))
        parent = self.asked.nodes[self.parent_id(node)]
        short = node.short_name.rsplit(".", 1)[-1].replace("$", "_")
        return self.c(parent) + "_" + snake(short)


class Writer:
    """The C of one file."""

    def __init__(self, asked, names, file):
        self.asked, self.names, self.file = asked, names, asked.nodes[file.id]
        self.imports = [asked.nodes[file_id] for file_id, _ in file.imports if file_id in asked.nodes]
        self.types_header, self.header, self.source, self.seen = [], [], [], set()

    def h(self, *lines):
        """Adds to the header of the types."""
        self.types_header.extend(lines)

    def function(self, declaration, *body):
        name = re.search(r"(\w+)\(", declaration).group(1)
        if name in self.seen:
            raise Fault(f"{self.file.display_name}: two things would be called '{name}' in C; rename one")
        self.seen.add(name)
        self.header += [f"static inline {declaration}", "{", *("    " + line for line in body), "}", ""]

    def node(self, node_id):
        return self.asked.nodes[node_id]

    def c(self, node_id):
        return self.names.c(self.node(node_id))

    def mine(self, kind):
        return [node for node in self.asked.nodes.values()
                if node.kind == kind and (node.scope_id or node.id in self.names._parents)
                and self.names.file_of(node) is self.file]

    # ---- the file ----

    def write(self):
        """The lines of each file that is written, by the ending of its name."""
        structs = self.mine("struct")
        for node in structs:
            if node.is_generic:
                raise Fault(f"{node.display_name}: generic structs are not written")
        for node in self.mine("const"):
            self.constant(node)
        for node in self.mine("enum"):
            self.enum(node)
        for node in structs:
            self.types(node)
        for node in structs:
            self.shape(node)
        for node in structs:
            self.accessors(node)
        stem = self.names.stem(self.file)
        note = f"/* Written by proto/generate.py from {stem}.capnp; a change there is a change here. */"
        stems = [self.names.stem(node) for node in self.imports]
        types = [note, "#pragma once", '#include "remote/wire/builder.h"', *(f'#include "proto/{name}-types.h"' for name in stems),
                 "", *self.types_header]
        header = [note, "#pragma once", f'#include "proto/{stem}-types.h"', *(f'#include "proto/{name}.h"' for name in stems),
                  "", *self.header]
        source = [note, '#include "config.h"', "", f'#include "proto/{stem}.h"', "", *self.source]
        return {"-types.h": types, ".h": header, ".c": source}

    def constant(self, node):
        name = self.names.c(node).upper()
        if node.value.kind in SUFFIXES and not node.value.kind.startswith("float"):
            self.h(f"#define {name} {int(node.value.value)}")
        elif node.value.kind == "text":
            self.h(f"#define {name} {c_string(node.value.value.encode())}")
        else:
            raise Fault(f"{node.display_name}: a constant of type {node.value.kind} is not written")

    def enum(self, node):
        name = self.names.c(node)
        self.h("", f"enum {name} {{")
        self.h(*(f"    {name.upper()}_{snake(word).upper()} = {i}," for i, word in enumerate(node.enumerants)), "};")
        self.h(f"const char *{name}_word(unsigned int value); /* as in the schema; NULL for one that it does not have */", "")
        self.source += [f"const char *{name}_word(unsigned int value)", "{", "    static const char *const words[] = {",
                        *(f'        "{word}",' for word in node.enumerants), "    };",
                        f"    return value < {len(node.enumerants)} ? words[value] : NULL;", "}", ""]

    def types(self, node):
        name = self.names.c(node)
        self.h(f"struct {name} {{", "    struct ath_wire_struct at;", "};",
               f"struct {name}_builder {{", "    struct ath_wire_place at;", "};",
               f"extern const struct ath_wire_shape {name}_shape;")
        members = [field for field in node.fields if field.tag is not None]
        if members:
            self.h(f"enum {name}_which {{")
            self.h(*(f"    {name.upper()}_{snake(field.name).upper()} = {field.tag},"
                     for field in sorted(members, key=lambda field: field.tag)), "};")
        self.h("")

    # ---- what the check walks ----

    def type_literal(self, type_):
        """An expression for `const struct ath_wire_type *`."""
        if type_.kind == "struct":
            inner = f".kind = ATH_WIRE_STRUCT, .shape = &{self.c(type_.type_id)}_shape"
        elif type_.kind == "list":
            inner = f".kind = ATH_WIRE_LIST, .item = {self.type_literal(type_.item)}"
        elif type_.kind in ("text", "data"):
            inner = f".kind = ATH_WIRE_{type_.kind.upper()}"
        elif type_.kind in ITEM_SIZES:
            inner = ".kind = ATH_WIRE_SCALAR"
        else:
            raise Fault(f"{self.file.display_name}: the type {type_.kind} is not written")
        return f"&(const struct ath_wire_type){{ {inner}, .size = {ITEM_SIZES[type_.kind]} }}"

    def shape(self, node):
        name = self.names.c(node)
        rows, fixed = [], 0
        for field in sorted(node.fields, key=lambda field: -1 if field.tag is None else field.tag):
            tag = -1 if field.tag is None else field.tag
            if field.group_id:
                inner = f"&(const struct ath_wire_type){{ .kind = ATH_WIRE_GROUP, .shape = &{self.c(field.group_id)}_shape }}"
                rows.append(f"    {{ .tag = {tag}, .type = {inner} }},")
            elif field.type.kind in POINTERS:
                rows.append(f"    {{ .tag = {tag}, .index = {field.offset}, .type = {self.type_literal(field.type)} }},")
            elif field.type.kind not in ITEM_SIZES:
                raise Fault(f"{node.display_name}.{field.name}: the type {field.type.kind} is not written")
            fixed = len(rows) if field.tag is None else fixed
        if rows:
            self.source += [f"static const struct ath_wire_pointer {name}_pointers[] = {{", *rows, "};"]
        pointers = f".pointers = {name}_pointers, .count = {len(rows)}, .fixed = {fixed}, " if rows else ""
        self.source += [f"const struct ath_wire_shape {name}_shape = {{",
                        f"    .data_words = {node.data_words}, .pointer_count = {node.pointer_count}, "
                        f"{pointers}.tag_offset = {node.tag_offset * 2},", "};", ""]

    # ---- readers and builders ----

    def accessors(self, node):
        name = self.names.c(node)
        is_message = node.id not in self.names.inner or OUTER_MESSAGES_ANNOTATION not in self.file.annotations
        if is_message and not node.is_group:
            self.function(f"int {name}_open(const uint8_t *words, size_t length, struct {name} *out)",
                          f"return ath_wire_open(words, length, &{name}_shape, &out->at);")
            self.function(f"struct {name}_builder {name}_start(struct ath_wire_builder *builder)",
                          f"return (struct {name}_builder){{ ath_wire_start(builder, &{name}_shape) }};")
        if node.id in self.names.listed:
            self.function(f"struct {name} {name}_item(struct ath_wire_list list, uint32_t index)",
                          f"return (struct {name}){{ ath_wire_list_struct(list, index) }};")
            self.function(f"struct {name}_builder {name}_place(struct ath_wire_array array, uint32_t index)",
                          f"return (struct {name}_builder){{ ath_wire_array_struct(array, index) }};")
        if node.tag_count:
            self.function(f"enum {name}_which {name}_which(struct {name} from)",
                          f"return (enum {name}_which)ath_wire_u16(from.at, {node.tag_offset * 2}, 0);")
        for field in node.fields:
            if field.group_id:
                self.group(node, field)
            elif field.type.kind == "void":
                self.void(node, field)
            elif field.type.kind in SUFFIXES:
                self.scalar(node, field)
            else:
                self.pointer(node, field)

    def reader(self, node, field, missing, value):
        """The line of a reader: the value, or what is missing where this is not the member of the union that is there. No `if`: gcc needs
        half a second to see that the indentation of a thousand is right."""
        if field.tag is None:
            return f"return {value};"
        return f"return ath_wire_u16(from.at, {node.tag_offset * 2}, 0) != {field.tag} ? {missing} : {value};"

    def mark(self, node, field):
        """The line of a builder that says which member of the union is there."""
        return [] if field.tag is None else [f"ath_wire_set_u16(to.at, {node.tag_offset * 2}, {field.tag}, 0);"]

    def names_of(self, node, field):
        name = self.names.c(node)
        return name, f"{name}_{snake(field.name)}", f"{name}_set_{snake(field.name)}", f"{name}_init_{snake(field.name)}"

    def group(self, node, field):
        name, get, _, init = self.names_of(node, field)
        inner = self.c(field.group_id)
        self.function(f"struct {inner} {get}(struct {name} from)",
                      self.reader(node, field, f"(struct {inner}){{ {{ 0 }} }}", f"(struct {inner}){{ from.at }}"))
        self.function(f"struct {inner}_builder {init}(struct {name}_builder to)",
                      *self.mark(node, field), f"return (struct {inner}_builder){{ to.at }};")

    def void(self, node, field):
        name, _, put, _ = self.names_of(node, field)
        if field.tag is not None:
            self.function(f"void {put}(struct {name}_builder to)", *self.mark(node, field))

    def scalar(self, node, field):
        name, get, put, _ = self.names_of(node, field)
        kind = field.type.kind
        suffix, c_type, cast = SUFFIXES[kind], C_TYPES[kind], ""
        if kind == "enum":  # a newer peer's value may be none of those listed
            c_type, cast = f"enum {self.c(field.type.type_id)}", "(uint16_t)"
        back = f"({c_type})" if cast else ""
        size = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8}[ITEM_SIZES[kind]]
        offset, default = field.offset * size, bits(kind, field.default.value)
        missing = {"bool": str(field.default.value).lower()}.get(kind) or f"ath_wire_{suffix}((struct ath_wire_struct){{ 0 }}, 0, {default})"
        self.function(f"{c_type} {get}(struct {name} from)", self.reader(node, field, back + missing, f"{back}ath_wire_{suffix}(from.at, {offset}, {default})"))
        self.function(f"void {put}(struct {name}_builder to, {c_type} value)", *self.mark(node, field),
                      f"ath_wire_set_{suffix}(to.at, {offset}, {cast}value, {default});")

    def pointer(self, node, field):
        name, get, put, init = self.names_of(node, field)
        kind, index = field.type.kind, field.offset
        self.function(f"bool {name}_has_{snake(field.name)}(struct {name} from)", self.reader(node, field, "false", f"ath_wire_has(from.at, {index})"))
        if kind in ("list", "struct") and not field.default.is_null:
            raise Fault(f"{node.display_name}.{field.name}: the default of a {kind} is not written")
        if kind in ("text", "data"):
            c_type = C_TYPES[kind]
            data = field.default.value or b""
            data = data.encode() if isinstance(data, str) else data
            missing = c_string(data) if kind == "text" else \
                f"(struct ath_wire_bytes){{ (const uint8_t *){c_string(data)}, {len(data)} }}"
            space = "" if c_type.endswith("*") else " "
            self.function(f"{c_type}{space}{get}(struct {name} from)", self.reader(node, field, missing, f"ath_wire_{kind}(from.at, {index}, {missing})"))
            self.function(f"void {put}(struct {name}_builder to, {c_type}{space}value)", *self.mark(node, field),
                          f"ath_wire_set_{kind}(to.at, {index}, value);")
        elif kind == "struct":
            inner = self.c(field.type.type_id)
            self.function(f"struct {inner} {get}(struct {name} from)",
                          self.reader(node, field, f"(struct {inner}){{ {{ 0 }} }}", f"(struct {inner}){{ ath_wire_inner(from.at, {index}) }}"))
            self.function(f"struct {inner}_builder {init}(struct {name}_builder to)", *self.mark(node, field),
                          f"return (struct {inner}_builder){{ ath_wire_init(to.at, {index}, &{inner}_shape) }};")
        elif kind == "list":
            self.function(f"struct ath_wire_list {get}(struct {name} from)",
                          self.reader(node, field, "(struct ath_wire_list){ 0 }", f"ath_wire_list(from.at, {index})"))
            self.function(f"struct ath_wire_array {init}(struct {name}_builder to, uint32_t count)", *self.mark(node, field),
                          f"return ath_wire_init_list(to.at, {index}, {self.type_literal(field.type.item)}, count);")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        asked = request.read(sys.stdin.buffer.read())
        names = Names(asked)
        for file in asked.files:
            stem = names.stem(asked.nodes[file.id])
            for ending, lines in Writer(asked, names, file).write().items():
                with open(os.path.join(sys.argv[1], stem + ending), "w", encoding="ascii") as out:
                    out.write("\n".join(lines).rstrip() + "\n")
    except Fault as fault:
        sys.exit(f"generate.py: {fault}")


if __name__ == "__main__":
    main()
