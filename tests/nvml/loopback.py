#!/usr/bin/env python3
"""Writes two programs that test each function of the NVML table that travels, by the header's prototypes:

    capnp compile -o- nvml.capnp | loopback.py HEADERS SYMBOLS fake > fake.c   a libnvidia-ml.so.1 that looks at what it is given
    ... loopback > loopback.c                                                 a program that calls it through the client

Both know what every parameter must be: a number, or bytes, made from the function's number and the parameter's index.
"""
import os
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "proto"))

import nvml_generate  # noqa: E402
import request  # noqa: E402
from cuda_generate import read_symbols  # noqa: E402

ITEMS, ROOM = 3, 5  # a list has three items, and room for five

SHARED = """#include "nvml/api/nvml_functions.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char byte_of(int function, int parameter, int is_result, size_t i)
{
    return (unsigned char)((size_t)(function * 31 + parameter * 7 + is_result * 101) + i * 3 + 1);
}

static inline void fill(void *to, size_t from, size_t size, int function, int parameter, int is_result)
{
    for (size_t i = from; i < size; i++)
        ((unsigned char *)to)[i] = byte_of(function, parameter, is_result, i);
}

static inline int is_filled(const void *at, size_t from, size_t size, int function, int parameter, int is_result)
{
    for (size_t i = from; i < size; i++)
        if (((const unsigned char *)at)[i] != byte_of(function, parameter, is_result, i))
            return 0;
    return 1;
}
"""

FAKE = """
struct nvmlDevice_st { int number; };
static struct nvmlDevice_st devices[2];
static char objects[8];
static int is_armed; /* what the client asks for by itself, at first, is of no interest */
static int is_first; /* of two servers: the program's device is the other's */

static void need(int condition, const char *function, const char *parameter)
{
    if (is_armed && !condition)
        fprintf(stderr, "%s: %s did not come\\n", function, parameter);
}
#pragma GCC visibility push(default)
"""

# The server's functions by hand call these.
BY_HAND = """
nvmlReturn_t nvmlDeviceGetHandleBySerial(const char *serial, nvmlDevice_t *device)
{
    if (is_first)
        return NVML_ERROR_NOT_FOUND;
    is_armed = !strcmp(serial, "arm");
    *device = &devices[1];
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
    *device = &devices[index];
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *pciBusId, nvmlDevice_t *device)
{
    *device = &devices[strstr(pciBusId, ":02:") != NULL];
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
    *device = &devices[uuid[strlen(uuid) - 1] == '1'];
    return NVML_SUCCESS;
}
"""

MAIN = """
static int failures, checks;
static void check(int condition, const char *function, const char *parameter)
{
    checks++;
    failures += !condition;
    if (!condition)
        printf("%s: %s is not what it should be\\n", function, parameter);
}
"""


def number_of(function, at):
    return 1 + (function.number * 13 + at * 5) % 90


def travelling(table):
    return [one for one in table.functions if one.travels and one.by_hand != "server" and one.name != "nvmlInit_v2"]


def held_of(table, function, at):
    return [(offset, kind) for place, offset, kind in table.held(function) if place == at]


def pointer_of(kind):
    """The fake's handle of a kind."""
    return "&devices[1]" if kind == "ATH_NVML_HANDLE_DEVICE" else f"&objects[{sum(map(ord, kind)) % 8}]"


class Fake:
    def __init__(self, table):
        self.table = table

    def text(self):
        lines = [SHARED, FAKE, "nvmlReturn_t nvmlInit_v2(void)", "{", '    is_first = getenv("FAKE_IS_FIRST") != NULL;',
                 "    return NVML_SUCCESS;", "}", BY_HAND]
        for function in travelling(self.table):
            lines += [function.signature(function.name), "{"]
            for at, one in enumerate(function.parameters):
                lines += self.look(function, at, one)
            if function.name.startswith("nvmlEventSetWait"):
                lines += ["    if (is_first)", "        return NVML_ERROR_TIMEOUT;"]
            for at, one in enumerate(function.parameters):
                lines += self.answer(function, at, one)
            lines += ["    return NVML_SUCCESS;", "}", ""]
        return "\n".join(lines)

    def need(self, function, condition, name):
        return [f'    need({condition}, "{function.name}", "{name}");']

    def look(self, function, at, one):
        number, name = function.number, one.name
        if one.form == "GIVEN_NUMBER" and function.by_hand == "client":
            return self.need(function, f"{name} && {name} <= {number_of(function, at)}", name)  # the rest of a wait
        if one.form == "GIVEN_NUMBER":
            expected = ROOM if self.is_count(function, name) else number_of(function, at)
            text_room = any(other.form == "RESULT_TEXT" and other.count_at == at for other in function.parameters)
            return self.need(function, f"{name} == {64 if text_room else expected}", name)
        if one.form == "GIVEN_HANDLE":
            wanted = "&devices[1]" if one.handle == "nvmlDevice_t" else pointer_of(nvml_generate.handle_kind(one.handle))
            return self.need(function, f"(void *){name} == (void *){wanted}", name)
        if one.form == "GIVEN_TEXT":
            return self.need(function, f'!strcmp({name}, "text {number} {at}")', name)
        if one.form == "GIVEN_BYTES" or one.is_versioned:
            start = 4 if one.is_versioned else 0
            return self.need(function, f"is_filled({name}, {start}, sizeof *{name}, {number}, {at}, 0)", name)
        if one.form == "COUNT":
            return self.need(function, f"*{name} == {ROOM}", name)
        if one.is_changed:
            return self.need(function, f"is_filled({name}, 0, {ROOM} * sizeof *{name}, {number}, {at}, 0)", name)
        return []

    def is_count(self, function, name):
        at = [one.name for one in function.parameters].index(name)
        return any(one.count_at == at and one.form != "RESULT_TEXT" for one in function.parameters)

    def answer(self, function, at, one):
        number, name = function.number, one.name
        if one.form == "RESULT":
            lines = [f"    fill({name}, {4 if one.is_versioned else 0}, sizeof *{name}, {number}, {at}, 1);"]
            for offset, kind in held_of(self.table, function, at):
                lines.append(f"    memcpy((char *){name} + {offset}, &(void *){{ {pointer_of(kind)} }}, sizeof(void *));")
            return lines
        if one.form == "RESULT_HANDLE":
            return [f"    *{name} = (void *){pointer_of(nvml_generate.handle_kind(one.handle))};"]
        if one.form == "RESULT_TEXT":
            return [f'    strcpy({name}, "answer {number} {at}");']
        if one.form == "RESULT_ITEMS":
            items = ITEMS if function.parameters[one.count_at].form == "COUNT" else ROOM
            return [f"    fill({name}, 0, {items} * {one.size}, {number}, {at}, 1);"]
        if one.form == "RESULT_HANDLES":
            return [f"    for (int i = 0; i < {ITEMS}; i++)",
                    f"        {name}[i] = (void *){pointer_of(nvml_generate.handle_kind(one.handle))};"]
        if one.form == "COUNT":
            return [f"    *{name} = {ITEMS};"]
        return []


class Main:
    """The program: handles of kinds other than a device come from the functions that give them out."""

    def __init__(self, table):
        self.table = table
        self.kinds = [kind for kind in table.handles() if kind != "nvmlDevice_t"]

    def text(self):
        lines = ["#define _GNU_SOURCE", SHARED, MAIN, "static nvmlDevice_t device;"]
        lines += [f"static {kind} of_{kind};" for kind in self.kinds]
        functions = [one for one in travelling(self.table) if "frees" not in one.marks]
        functions.sort(key=lambda one: not any(parameter.form == "RESULT_HANDLE" for parameter in one.parameters))
        for function in functions:
            lines += self.tester(function)
        lines += ["int main(void)", "{", "    nvmlInit_v2();", '    check(!nvmlDeviceGetHandleBySerial("arm", &device), "main", "device");']
        for _ in range(2):  # handles that were not there at first are at the second time; static answers are the same again
            lines += [f"    test_{function.name}();" for function in functions]
            lines += ["    if (!pass_two)", "        failures = checks = 0;", "    pass_two = 1;"]
        lines += ['    check(!nvmlEventSetFree(of_nvmlEventSet_t), "nvmlEventSetFree", "set");',
                  '    check(nvmlEventSetFree(of_nvmlEventSet_t) == NVML_ERROR_INVALID_ARGUMENT, "nvmlEventSetFree", "freed set");',
                  f'    printf("{len(functions)} functions, %d checks, %d failures\\n", checks, failures);', "    nvmlShutdown();",
                  "    return failures != 0;", "}"]
        at = next(i for i, line in enumerate(lines) if line.startswith("static nvmlDevice_t"))
        lines.insert(at, "static int pass_two;")
        return "\n".join(lines)

    def tester(self, function):
        lines = [f"static void test_{function.name}(void)", "{"]
        values = []
        for at, one in enumerate(function.parameters):
            prepared, value = self.prepare(function, at, one)
            lines += prepared
            values.append(value)
        lines.append(f'    check(!{function.name}({", ".join(values)}), "{function.name}", "the status");')
        for at, one in enumerate(function.parameters):
            lines += self.compare(function, at, one)
        return lines + ["}"]

    def prepare(self, function, at, one):
        number, name, kind = function.number, f"p{at}", one.type.name
        counts = {other.count_at: other for other in function.parameters if other.count_at >= 0}
        if one.form == "GIVEN_NUMBER":
            if at in counts:
                return [], "64" if counts[at].form == "RESULT_TEXT" else str(ROOM)
            return [], str(number_of(function, at))
        if one.form == "GIVEN_HANDLE":
            return [], "device" if kind == "nvmlDevice_t" else f"of_{kind}"
        if one.form == "GIVEN_TEXT":
            return [], f'"text {number} {at}"'
        if one.form in ("GIVEN_BYTES", "RESULT") and (one.is_versioned or one.form == "GIVEN_BYTES"):
            start = 4 if one.is_versioned else 0
            lines = [f"    static {kind} {name};", f"    fill(&{name}, {start}, sizeof {name}, {number}, {at}, 0);"]
            if one.is_versioned:
                lines.append(f"    {name}.version = sizeof {name} | 1u << 24;")
            return lines, f"&{name}"
        if one.form == "RESULT_TEXT":
            return [f"    char {name}[64];"], name
        if one.form in ("RESULT_ITEMS", "RESULT_HANDLES"):
            return [f"    static {kind} {name}[128];", f"    fill({name}, 0, {ROOM} * sizeof *{name}, {number}, {at}, 0);"], name
        if one.form == "COUNT":
            return [f"    {kind} {name} = {ROOM};"], f"&{name}"
        return [f"    static {kind} {name};"], f"&{name}"

    def compare(self, function, at, one):
        number, name = function.number, f"p{at}"
        said = f'"{function.name}", "{one.name}");'
        if one.form == "RESULT":
            held = held_of(self.table, function, at)
            start = 4 if one.is_versioned else 8 * len(held)
            lines = [f"    check(is_filled(&{name}, {start}, sizeof {name}, {number}, {at}, 1), {said}"]
            if held:
                lines.append(f"    check({name}.device == device, {said}")
            return lines
        if one.form == "RESULT_HANDLE":
            if one.type.name == "nvmlDevice_t":
                return [f"    check({name} == device, {said}"]
            is_another = "" if one.type.name == "nvmlEventSet_t" else f" && (!of_{one.type.name} || of_{one.type.name} == {name})"
            return [f"    check({name} != NULL{is_another}, {said}",
                    f"    of_{one.type.name} = {name};"]
        if one.form == "RESULT_TEXT":
            return [f'    check(!strcmp({name}, "answer {number} {at}"), {said}']
        if one.form == "RESULT_ITEMS":
            counted = function.parameters[one.count_at].form == "COUNT"
            items = ITEMS if counted else ROOM
            lines = [f"    check(is_filled({name}, 0, {items} * {one.size}, {number}, {at}, 1), {said}"]
            if counted:
                lines.append(f"    check(is_filled({name}, {items} * sizeof *{name}, {ROOM} * sizeof *{name}, {number}, {at}, 0), "
                             f'"{function.name}", "what lies behind {one.name}");')
            return lines
        if one.form == "RESULT_HANDLES":
            return [f"    check({name}[0] && {name}[0] == {name}[{ITEMS - 1}], {said}"]
        if one.form == "COUNT":
            return [f"    check({name} == {ITEMS}, {said}"]
        return []


def main():
    table = nvml_generate.Table(request.read(sys.stdin.buffer.read()), nvml_generate.Header(sys.argv[1]), read_symbols(sys.argv[2]))
    print((Fake if sys.argv[3] == "fake" else Main)(table).text())


if __name__ == "__main__":
    main()
