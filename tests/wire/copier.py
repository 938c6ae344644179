#!/usr/bin/env python3
"""Writes C that prints and copies each struct of the schemas, by the functions of proto/generate.py, for tests.

    capnp compile -o- A.capnp B.capnp | copier.py > copies.c

What a copy's second reader (capnp itself) then finds says whether readers and builders are right.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "proto"))

import generate  # noqa: E402
import request  # noqa: E402

PRINTS = {"int8": "%d", "int16": "%d", "int32": "%d", "uint8": "%u", "uint16": "%u", "uint32": "%u",
          "int64": '\\"%" PRId64 "\\"', "uint64": '\\"%" PRIu64 "\\"', "float32": "%.9g", "float64": "%.17g"}


class Copier(generate.Writer):
    def scalar_item(self, kind, at, index):
        if kind == "bool":
            return f"ath_wire_list_bool({at}, {index})"
        return f"ath_wire_{generate.SUFFIXES[kind]}(ath_wire_item({at}, {index}), 0, 0)"

    def print_value(self, type_, value, depth):
        kind = type_.kind
        if kind == "void":
            return ['fputs("null", out);']
        if kind == "bool":
            return [f'fputs({value} ? "true" : "false", out);']
        if kind == "enum":
            return [f"print_word(out, {self.c(type_.type_id)}_word({value}), {value});"]
        if kind == "text":
            return [f"print_text(out, {value});"]
        if kind == "data":
            return [f"print_data(out, {value});"]
        if kind == "struct":
            return [f"print_{self.c(type_.type_id)}(out, {value});"]
        if kind == "list":
            at, i = f"list{depth}", f"i{depth}"
            return ["{", f"struct ath_wire_list {at} = {value};", "fputc('[', out);",
                    f"for (uint32_t {i} = 0; {i} < {at}.count; {i}++) {{", f"if ({i}) fputc(',', out);",
                    *self.print_value(type_.item, self.item(type_.item, at, i), depth + 1), "}", "fputc(']', out);", "}"]
        return [f'fprintf(out, "{PRINTS[kind]}", {value});']

    def item(self, type_, at, i):
        kind = type_.kind
        if kind == "struct":
            return f"{self.c(type_.type_id)}_item({at}, {i})"
        if kind in ("text", "data", "list"):
            return f"ath_wire_list_{kind}({at}, {i})"
        return "0" if kind == "void" else self.scalar_item(kind, at, i)

    def copy_items(self, type_, source, target, depth):
        i, kind = f"i{depth}", type_.kind
        lines = [f"for (uint32_t {i} = 0; {i} < {source}.count; {i}++) {{"]
        value = self.item(type_, source, i)
        if kind == "void":
            return []
        if kind == "struct":
            name = self.c(type_.type_id)
            lines.append(f"copy_{name}({value}, {name}_place({target}, {i}));")
        elif kind == "list":
            inner, made = f"list{depth + 1}", f"array{depth + 1}"
            lines += [f"struct ath_wire_list {inner} = {value};",
                      f"struct ath_wire_array {made} = ath_wire_array_list({target}, {i}, {self.type_literal(type_.item)}, {inner}.count);",
                      f"(void){made};", *self.copy_items(type_.item, inner, made, depth + 1)]
        elif kind in ("text", "data", "bool"):
            lines.append(f"ath_wire_array_set_{kind}({target}, {i}, {value});")
        elif kind in ("float32", "float64"):
            lines.append(f"ath_wire_array_set_bits({target}, {i}, {self.scalar_item('uint' + kind[5:], source, i)});")
        else:
            lines.append(f"ath_wire_array_set_bits({target}, {i}, (uint64_t){value});")
        return lines + ["}"]

    def copy_field(self, name, field):
        get, put = f"{name}_{generate.snake(field.name)}(from)", f"{name}_set_{generate.snake(field.name)}"
        init = f"{name}_init_{generate.snake(field.name)}"
        if field.group_id:
            return [f"copy_{self.c(field.group_id)}({get}, {init}(to));"]
        kind = field.type.kind
        if kind == "void":
            return [f"{put}(to);"] if field.tag is not None else []
        if kind == "struct":
            return [f"copy_{self.c(field.type.type_id)}({get}, {init}(to));"]
        if kind == "list":
            return ["{", f"struct ath_wire_list list0 = {get};", f"struct ath_wire_array array0 = {init}(to, list0.count);",
                    "(void)array0;", *self.copy_items(field.type.item, "list0", "array0", 0), "}"]
        return [f"{put}(to, {get});"]

    def struct(self, node):
        name = self.names.c(node)
        prints, copies = [], []
        for field in node.fields:
            when = f"if (ath_wire_u16(from.at, {node.tag_offset * 2}, 0) == {field.tag}) " if field.tag is not None else ""
            get = f"{name}_{generate.snake(field.name)}(from)"
            value = [f"print_{self.c(field.group_id)}(out, {get});"] if field.group_id else \
                self.print_value(field.type, get, 0)
            prints += [when + "{", f'print_key(out, &is_first, "{field.name}");', *value, "}"]
            copies += [when + "{", *self.copy_field(name, field), "}"]
        return [f"static void print_{name}(FILE *out, struct {name} from) {{", "bool is_first = true;", "(void)from; (void)is_first;",
                "fputc('{', out);", *prints, "fputc('}', out);", "}",
                f"static void copy_{name}(struct {name} from, struct {name}_builder to) {{", "(void)from; (void)to;", *copies, "}"]


def main():
    asked = request.read(sys.stdin.buffer.read())
    names = generate.Names(asked)
    writers = [Copier(asked, names, file) for file in asked.files]
    out = ['#include "config.h"', '#include "copies.h"', "#include <inttypes.h>"]
    out += [f'#include "proto/{names.stem(asked.nodes[file.id])}.h"' for file in asked.files]
    rows, bodies = [], []
    for writer in writers:
        for node in writer.mine("struct"):
            name = names.c(node)
            out += [f"static void print_{name}(FILE *out, struct {name} from);",
                    f"static void copy_{name}(struct {name} from, struct {name}_builder to);"]
            bodies += writer.struct(node)
            if not node.is_group:
                label = node.display_name.split(":")[1]
                rows.append(f'{{ "{label}", &{name}_shape, run_{name} }},')
                bodies += [f"static void run_{name}(struct ath_wire_struct from, struct ath_wire_builder *to, FILE *out) {{",
                           f"struct {name} root = {{ from }};", f"print_{name}(out, root);", f"copy_{name}(root, {name}_start(to));", "}"]
    print("\n".join(out + bodies + ["const struct copied copied_types[] = {", *rows, "};",
                                    f"const size_t copied_count = {len(rows)};"]))


if __name__ == "__main__":
    main()
