#!/usr/bin/env python3
"""Writes a C program that sends every generated call from the client's function through the wire and the dispatch to a recording
driver: random arguments must arrive unchanged, random results and errors must come back.

    capnp compile -o- cuda.capnp | loopback.py HEADERS SYMBOLS > loopback.c
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "proto"))

import cuda_header  # noqa: E402
import cuda_table  # noqa: E402
import request  # noqa: E402
from cuda_generate import read_symbols  # noqa: E402
from cuda_structs import kind_name  # noqa: E402
from cuda_table import Group, in_c  # noqa: E402

# Values of types that expressions of the table are worked out with.
CHOSEN = {"CUmemPool_attribute": "CU_MEMPOOL_ATTR_RELEASE_THRESHOLD", "CUpointer_attribute": "CU_POINTER_ATTRIBUTE_MEMORY_TYPE"}
ROOM = 8         # of a list
BYTES = 2048     # of a buffer


def expressions(method):
    return " ".join(field.marks.get(word, "") for field in method.given + method.results
                    for word in ("count", "upTo", "bytesOf", "capacity") if field.marks.get(word))


def known(type_name, value):
    """The client refuses calls without an answer for handles that it has not seen made."""
    return [f"    ath_cuda_handle_add((uintptr_t){value}, {kind_name(type_name)}, NULL);"] if type_name in ("CUstream", "CUevent", "CUgraphExec") else []


class Structs:
    """fill_NAME() and same_NAME() of a structure's members that travel."""

    def __init__(self, table):
        self.table = table

    def text(self):
        lines = []
        for struct in self.table.structs.values():
            if struct.c is not None:
                lines += [f"static void fill_{struct.snake}(struct random *random, {struct.c} *it);",
                          f"static bool same_{struct.snake}(const {struct.c} *a, const {struct.c} *b);"]
        for struct in self.table.structs.values():
            if struct.c is not None:
                lines += [f"static void fill_{struct.snake}(struct random *random, {struct.c} *it)", "{", "    memset(it, 0, sizeof *it);",
                          *self.fill(struct.members, "it->"), *self.unused(struct.members, "it->"), "}", ""]
                lines += [f"static bool same_{struct.snake}(const {struct.c} *a, const {struct.c} *b)", "{", "    bool same = true;",
                          *self.same(struct.members, "->"), "    return same;", "}", ""]
        return lines

    def unused(self, members, c):
        """Handles that the C function does not read do not travel."""
        lines = []
        for member in members:
            if isinstance(member, Group):
                lines += self.unused(member.members, self.path(c, member))
            elif "usedIf" in member.marks:
                lines += [f"    if (!(it->{member.marks['usedIf']}))", f"        {c}{member.c} = 0;"]
            elif "onlyBack" in member.marks:
                lines.append(f"    {c}{member.c} = 0;")
        return lines

    def path(self, c, group):
        return c if group.c == "" else f"{c}{group.c}."

    def fill(self, members, c):
        lines = []
        for member in members:
            if isinstance(member, Group) and member.is_union:
                lines += self.fill_union(member, c)
            elif isinstance(member, Group):
                lines += self.fill(member.members, self.path(c, member))
            else:
                lines += self.fill_field(member, c + member.c, c)
        return lines

    def fill_union(self, union, c):
        """The member that says which one is there has one of the values that the table names, or another."""
        values = [value for member in union.members[:-1] for value in member.marks["when"].split()]
        lines = [f"    switch (below(random, {len(union.members)})) {{"]
        for i, member in enumerate(union.members[:-1]):
            lines += [f"    case {i}:", *("    " + line for line in self.fill([member], self.path(c, union))),
                      f"        {c}{union.marks['by']} = {member.marks['when'].split()[0]};", "        break;"]
        whole = c + union.c if union.c else f"(*{c[:-2]})"
        return lines + ["    default:", f"        fill_bytes(random, &{whole}, sizeof {whole});",
                        f"        {c}{union.marks['by']} = 77 + {len(values)};", "    }"]

    def fill_field(self, field, value, c):
        if field.type.kind == "struct":
            return [f"    fill_{self.table.structs[field.type.type_id].snake}(random, &{value});"]
        if field.type.kind == "list" and not field.ctype.counts:
            inner = self.table.structs[field.item.type_id]
            return [f"    {value} = kept_room(sizeof(*{value}) * {ROOM});", f"    {c}{field.marks['count']} = below(random, {ROOM});",
                    f"    for (uint32_t i = 0; i < {c}{field.marks['count']}; i++)",
                    f"        fill_{inner.snake}(random, (void *)(uintptr_t)&{value}[i]);"]
        if "hostptr" in field.marks:  # the server takes none that it does not know
            return [f"    {value} = NULL;"]
        return [f"    fill_bytes(random, &{value}, sizeof {value});", *known(field.ctype.name, value)]

    def same(self, members, c):
        lines = []
        for member in members:
            if isinstance(member, Group) and member.is_union:
                lines.append(f"    switch (a->{member.marks['by']}) {{")
                for one in member.members[:-1]:
                    lines += [f"    case {value}:" for value in one.marks["when"].split()]
                    lines += ["    " + line for line in self.same([one], self.path(c, member))] + ["        break;"]
                whole = (lambda side: f"{side}{c}{member.c}" if member.c else f"(*{side})")
                lines += ["    default:", f"        same = same && !memcmp(&{whole('a')}, &{whole('b')}, sizeof {whole('a')});", "    }"]
            elif isinstance(member, Group):
                lines += self.same(member.members, self.path(c, member))
            else:
                lines += self.same_field(member, c)
        return lines

    def same_field(self, field, c):
        a, b = f"a{c}{field.c}", f"b{c}{field.c}"
        if field.type.kind == "struct":
            return [f"    same = same && same_{self.table.structs[field.type.type_id].snake}(&{a}, &{b});"]
        if field.type.kind == "list" and not field.ctype.counts:
            count, inner = field.marks["count"], self.table.structs[field.item.type_id].snake
            return [f"    same = same && a{c}{count} == b{c}{count};", f"    for (uint32_t i = 0; same && i < a{c}{count}; i++)",
                    f"        same = same_{inner}(&{a}[i], &{b}[i]);"]
        return [f"    same = same && !memcmp(&{a}, &{b}, sizeof {a});"]


class Calls:
    def __init__(self, table):
        self.table = table

    def text(self):
        lines, rows = [], []
        for method in self.table.methods:
            if method.parameters is not None:
                lines += self.arguments(method) + self.producer(method) + self.fake(method) + self.test(method)
                rows.append(f'    {{ "{method.c}", test_{method.c} }},')
        lines += ["static const struct test tests[] = {", *rows, "};", "",
                  "static void fake_driver(struct ath_cuda_driver *driver)", "{"]
        lines += [f"    driver->{method.c} = fake_{method.c};" for method in self.table.methods if method.parameters is not None]
        return lines + ["}"]

    def inner(self, field):
        return self.table.structs[field.item.type_id].snake

    def is_scalar(self, field):
        return field.type.kind not in ("list", "data", "text", "struct")

    def wanted(self, method):
        return {field.marks["wants"] for field in method.given if "wants" in field.marks}

    def length(self, method, field):
        """How many items or bytes a parameter has, as a C expression of the parameters."""
        mark = field.marks.get("count") or field.marks.get("bytesOf") or field.marks.get("capacity")
        return in_c(method, mark)

    def arguments(self, method):
        if not method.parameters:
            return []
        members = [f"    {parameter.ctype.c(parameter.name)};" for parameter in method.parameters]
        return [f"static struct {{", *members, f"}} want_{method.c};", ""]

    # ---- the driver ----

    def fake(self, method):
        declared = ", ".join(parameter.ctype.c(parameter.name) for parameter in method.parameters) or "void"
        lines = [f"static CUresult fake_{method.c}({declared})", "{", "    calls++;"]
        for parameter in method.parameters:
            lines += self.check(method, parameter, f"want_{method.c}.{parameter.name}")
        if method.results:
            lines += [f"    if (!planned || {int('evenFailed' in method.marks)})",
                      f"        produce_{method.c}({', '.join(parameter.name for parameter in method.parameters)});"]
        return lines + ["    return planned;", "}", ""]

    def producer(self, method):
        """A function that makes results from the plan: for the driver, and again for the test."""
        if not method.results:
            return []
        declared = ", ".join(parameter.ctype.c(parameter.name) for parameter in method.parameters)
        lines = [f"static void produce_{method.c}({declared})", "{", "    struct random out = { planned_seed };", "    (void)out;"]
        lines += [f"    (void){parameter.name};" for parameter in method.parameters]
        for field in method.results:
            lines += self.produce(method, field)
        return lines + ["}", ""]

    def check(self, method, parameter, want):
        field, name = parameter.given, parameter.name
        if parameter.length_of:
            return [f"    check({name} == {want}, \"{method.c} {name}\");"]
        if not field:
            return [f"    check(!{name} == !{want}, \"{method.c} {name} asked for\");"] if parameter.result.name in self.wanted(method) else []
        where = f"\"{method.c} {name}\""
        if field.type.kind == "text":
            return [f"    check(same_text({name}, {want}), {where});"]
        if field.type.kind == "data":
            place = name if parameter.ctype.stars else f"&{name}"
            other = want if parameter.ctype.stars else f"&{want}"
            return [f"    check(!memcmp({place}, {other}, (size_t)({self.length(method, field)})), {where});"]
        if field.type.kind == "list":
            return self.check_list(method, field, name, want, where)
        if field.type.kind == "struct":
            if not parameter.ctype.stars:
                return [f"    check(same_{self.inner(field)}(&{name}, &{want}), {where});"]
            return [f"    check(!{name} == !{want} && (!{name} || same_{self.inner(field)}({name}, {want})), {where});"]
        if parameter.ctype.stars and not self.is_pointer_value(field):
            return [f"    check(*{name} == *{want}, {where});"]
        if parameter.ctype.name == "float":
            return [f"    check(!memcmp(&{name}, &{want}, sizeof {name}), {where});"]
        return [f"    check({name} == {want}, {where});"]

    def is_pointer_value(self, field):
        return "deviceptr" in field.marks and not field.ctype.name.startswith("CUdeviceptr")

    def check_list(self, method, field, name, want, where):
        same = f"same_{self.inner(field)}(&{name}[i], &{want}[i])" if field.item.kind == "struct" else f"{name}[i] == {want}[i]"
        return [f"    check(!{name} == !{want}, {where});",
                f"    for (uint64_t i = 0; {name} && {want} && i < (uint64_t)({self.length(method, field)}); i++)",
                f"        check({same}, {where});"]

    def produce(self, method, field):
        """Fills a result from the plan; the same lines make what the test expects. A count comes before its list."""
        name = field.c
        if field.type.kind == "list":
            return self.produce_list(method, field)
        guard = f"    if ({name})\n    "
        if field.type.kind == "text":
            if "kept" in field.marks:
                return [f"    *{name} = planned_text(&out);"]
            return [f"    snprintf({name}, (size_t)({self.length(method, field)}), \"%s\", planned_text(&out));"]
        if field.type.kind == "data":
            return [f"    fill_planned(&out, {name}, {name} ? (size_t)({self.length_before(method, field)}) : 0);"]
        if field.type.kind == "struct":
            return [f"{guard}    fill_{self.inner(field)}(&out, {name});"]
        if self.is_count(method, field):
            return [f"    if ({name})", f"        *{name} = ({field.ctype.name})planned_actual;"]
        return [f"    fill_planned(&out, {name}, sizeof *{name});"]

    def is_count(self, method, field):
        return any(in_c(method, one.marks["upTo"]) == field.c for one in method.results if "upTo" in one.marks)

    def length_before(self, method, field):
        """A count that changes itself is taken before it changes."""
        text = self.length(method, field)
        for other in method.results:
            if any(one.c == other.c for one in method.given):
                text = text.replace(f"*{other.c}", "planned_before")
        return text

    def produce_list(self, method, field):
        name = field.c
        if "kept" in field.marks:
            lines = [f"    {field.ctype.name} *{name}_made = kept_room(sizeof({field.ctype.name}) * {ROOM});",
                     "    for (uint64_t i = 0; i < planned_actual; i++)", self.item(field, f"{name}_made"), f"    *{name} = {name}_made;"]
            return lines
        count = f"(uint64_t)({self.length(method, field)})" if "count" in field.marks else \
            "ath_cuda_least(planned_before, planned_actual)"
        return [f"    for (uint64_t i = 0; {name} && i < {count}; i++)", self.item(field, name)]

    def item(self, field, name):
        if field.item.kind == "struct":
            return f"        fill_{self.inner(field)}(&out, &{name}[i]);"
        return f"        fill_planned(&out, &{name}[i], sizeof {name}[i]);"

    # ---- the test ----

    def test(self, method):
        lines = [f"static void test_{method.c}(struct random *random)", "{"]
        lines += self.declare(method)
        for parameter in method.parameters:
            if not parameter.ctype.stars and not parameter.length_of:
                lines += known(parameter.ctype.name, parameter.name)
        values = ", ".join(parameter.name for parameter in method.parameters)
        for parameter in method.parameters:
            lines.append(f"    memcpy(&want_{method.c}.{parameter.name}, &{parameter.name}, sizeof {parameter.name});")
        counts = [in_c(method, field.marks["upTo"]) for field in method.results if "upTo" in field.marks and "kept" not in field.marks]
        inout = [field.c for field in method.results if any(one.c == field.c for one in method.given) and self.is_scalar(field)]
        said = in_c(method, expressions(method))
        before = (counts + [name for name in inout if cuda_table.re.search(rf"\b{name}\b", said)] + [None])[0]
        lines.append(f"    planned_before = {'(uint64_t)*' + before if before else '0'};")
        lines.append(f"    long before = calls;")
        lines.append(f"    CUresult outcome = ath_cuda_do_{method.c}({values});")
        lines.append(f"    check(calls == before + 1, \"{method.c} called once\");")
        if method.kind == "async":
            asked = method.marks.get("askedIf")
            lines.append(f"    if ({asked})\n        check(outcome == expected_status(false), \"{method.c} status\");\n    else" if asked else "")
            lines.append(f"    check_deferred(outcome, \"{method.c}\");")
        else:
            lines.append(f"    check(outcome == expected_status({int('waits' in method.does)}), \"{method.c} status\");")
        if method.results:
            lines.append(f"    if (planned && !{int('evenFailed' in method.marks)})")
            lines.append("        return;")
            lines += self.expect(method)
        if method.kind == "cached":
            lines += [f"    check(!ath_cuda_do_{method.c}({values}) && calls == before + 1, \"{method.c} cached\");"]
        for field in method.given:
            if "atMost" in field.marks:
                lines += self.refused(method, field)
        return lines + ["}", ""]

    def refused(self, method, field):
        """Numbers beyond their bounds never reach the driver."""
        most = f"(int64_t)({in_c(method, field.marks['atMost'])})"
        lines = []
        for beyond in (f"{most} + 1", "INT32_MAX", "-1"):
            values = ", ".join(f"({field.ctype.name})({beyond})" if parameter.given is field else parameter.name for parameter in method.parameters)
            lines += [f"    check(ath_cuda_do_{method.c}({values}) == CUDA_ERROR_INVALID_VALUE && calls == before + 1,",
                      f"          \"{method.c} refuses {field.c} {beyond}\");"]
        return lines

    def declare(self, method):
        first, rest = [], []
        for parameter in method.parameters:
            (first if self.is_early(method, parameter) else rest).append(parameter)
        lines = ["    (void)random;"]
        for parameter in first + rest:
            lines += self.declare_one(method, parameter)
        return lines

    def is_early(self, method, parameter):
        """Numbers that lengths are worked out from."""
        field = parameter.given
        return bool(parameter.length_of) or bool(field and self.is_scalar(field))

    def declare_one(self, method, parameter):
        name, ctype, field = parameter.name, parameter.ctype, parameter.given
        if parameter.length_of:
            return [f"    {ctype.name} {name} = ({ctype.name})below(random, {ROOM});"]
        if field and self.is_scalar(field):
            return self.declare_number(method, parameter)
        if field and field.type.kind == "text":
            return [f"    char {name}_value[32];", f"    const char *{name} = random_text(random, {name}_value, sizeof {name}_value);"]
        if field and field.type.kind == "data" and not ctype.stars:
            return [f"    {ctype.name} {name};", f"    fill_bytes(random, &{name}, sizeof {name});"]
        if field and field.type.kind == "struct":
            value = name if not ctype.stars else f"{name}_value"
            lines = [f"    {ctype.name} {value};", f"    fill_{self.inner(field)}(random, &{value});"]
            there = f"below(random, 2) ? &{value} : NULL" if "nullable" in field.marks else f"&{value}"
            return lines + ([f"    {ctype.c(name)} = {there};"] if ctype.stars else [])
        return self.declare_buffer(method, parameter)

    def declare_number(self, method, parameter):
        name, ctype, field = parameter.name, parameter.ctype, parameter.given
        if ctype.name in CHOSEN:
            value = CHOSEN[ctype.name]
        elif "atMost" in field.marks or cuda_table.re.search(rf"\b{name}\b", in_c(method, expressions(method))):
            value = f"({ctype.name})(3 + below(random, 3))"
        elif ctype.stars and self.is_pointer_value(field):
            value = "random_pointer(random)"
        else:
            value = None
        if ctype.stars and not self.is_pointer_value(field):
            lines = [f"    {ctype.name} {name}_value = {value or '0'};", f"    {ctype.name} *{name} = &{name}_value;"]
            return lines if value else lines + [f"    fill_bytes(random, {name}, sizeof *{name});"]
        if value:
            return [f"    {ctype.c(name)} = {value};"]
        return [f"    {ctype.name} {name};", f"    fill_bytes(random, &{name}, sizeof {name});"]

    def declare_buffer(self, method, parameter):
        """Lists and bytes that go, and all that comes back."""
        name, ctype, field, result = parameter.name, parameter.ctype, parameter.given, parameter.result
        if result and "kept" in result.marks and result.type.kind in ("list", "text"):
            const = "const "
            return [f"    {const}{ctype.name} *{name}_value = NULL;", f"    {const}{ctype.name} **{name} = &{name}_value;"]
        item = "unsigned char" if ctype.name == "void" else ctype.name
        count = 1 if result and not field and (self.is_scalar(result) or result.type.kind == "struct") else ROOM
        if (field or result).type.kind in ("data", "text"):
            count = f"{BYTES} / sizeof({item})"
        lines = [f"    _Alignas(64) {item} {name}_value[{count}];", f"    memset({name}_value, 0xa5, sizeof {name}_value);"]
        if field and field.type.kind == "list" and field.item.kind == "struct":
            lines += [f"    for (size_t i = 0; i < {ROOM}; i++)", f"        fill_{self.inner(field)}(random, &{name}_value[i]);"]
        elif field and "bytes_of_image" in field.marks.get("bytesOf", ""):
            lines += [f"    random_text(random, (char *){name}_value + 1, 40);", f"    {name}_value[0] = '.';"]
        elif field:
            lines += [f"    fill_bytes(random, {name}_value, sizeof {name}_value);"]
        marks = (field or result).marks
        may_be_null = "nullable" in marks or (result and result.name in self.wanted(method))
        alone = may_be_null and not (field and self.lengths_elsewhere(method, field))
        there = f"below(random, 4) ? {name}_value : NULL" if alone else f"{name}_value"
        return lines + [f"    {ctype.c(name)} = {there};"]

    def lengths_elsewhere(self, method, field):
        """Whether this list alone gives the length: then the list must be there for the length to travel."""
        return any(parameter.length_of is field for parameter in method.parameters)

    def expect(self, method):
        """Makes the results from the plan again and compares them with the results that came."""
        lines, compared = [], []
        for field in method.results:
            lines += self.declare_made(method, field)
            compared += self.compare(method, field, f"made_{field.c}", f"\"{method.c} {field.c} comes back\"")
        values = [f"made_{parameter.name}" if parameter.result else parameter.name for parameter in method.parameters]
        return lines + [f"    produce_{method.c}({', '.join(values)});"] + compared

    def declare_made(self, method, field):
        made, ctype = f"made_{field.c}", field.ctype
        if "kept" in field.marks and field.type.kind in ("list", "text"):
            return [f"    const {ctype.name} *{made}_value = NULL;", f"    const {ctype.name} **{made} = &{made}_value;"]
        item = "unsigned char" if ctype.name == "void" else ctype.name
        count = ROOM if field.type.kind == "list" else f"{BYTES} / sizeof({item})" if field.type.kind in ("data", "text") else 1
        there = f"{field.c} ? {made}_value : NULL" if field.name in self.wanted(method) else f"{made}_value"
        return [f"    _Alignas(64) {item} {made}_value[{count}];", f"    {ctype.name} *{made} = {there};"]

    def compare(self, method, field, made, where):
        name = field.c
        if field.type.kind == "list":
            if "kept" in field.marks:
                count = "planned_actual"
                got, want = f"(*{name})[i]", f"(*{made})[i]"
            else:
                count = f"(uint64_t)({self.length(method, field)})" if "count" in field.marks else \
                    "ath_cuda_least(planned_before, planned_actual)"
                got, want = f"{name}[i]", f"{made}[i]"
            same = f"same_{self.inner(field)}(&{got}, &{want})" if field.item.kind == "struct" else f"{got} == {want}"
            return [f"    for (uint64_t i = 0; {name} && i < {count}; i++)", f"        check({same}, {where});"]
        if field.type.kind == "text":
            return [f"    check(same_text(*{name}, *{made}), {where});"] if "kept" in field.marks else \
                [f"    check(!{name} || same_text({name}, {made}), {where});"]
        if field.type.kind == "data":
            return [f"    check(!{name} || !memcmp({name}, {made}, (size_t)({self.length_before(method, field)})), {where});"]
        if field.type.kind == "struct":
            return self.compare_struct(method, field, made, where)
        return [f"    check(!{name} || !memcmp({name}, {made}, sizeof *{name}), {where});"]

    def compare_struct(self, method, field, made, where):
        """Lists in a structure that goes both ways stay the program's own."""
        lines = []
        if any(one.c == field.c for one in method.given):
            for member in self.table.structs[field.type.type_id].members:
                if "count" in member.marks:
                    lines += [f"    {made}->{member.c} = {field.c}->{member.c};",
                              f"    {made}->{member.marks['count']} = {field.c}->{member.marks['count']};"]
        return lines + [f"    check(!{field.c} || same_{self.inner(field)}({field.c}, {made}), {where});"]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    asked = request.read(sys.stdin.buffer.read())
    table = cuda_table.Table(asked, cuda_header.Header(sys.argv[1]), read_symbols(sys.argv[2]))
    print("\n".join(["/* Written by tests/cuda/loopback.py from cuda.capnp. */", '#include "loopback.h"', "", *Structs(table).text(),
                     *Calls(table).text()]))


if __name__ == "__main__":
    main()
