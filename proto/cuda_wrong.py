"""Writes a call of each function of the driver interface with arguments of a test's choice: cuda-wrong.h.

    struct wrong_with          what a call's arguments are: one value for each sort of parameter
    wrong_calls[]              for each function its name and a function that calls it so
"""
from cuda_client import NOTE
from cuda_structs import kind_name
from cuda_table import ADDRESSES, NUMBER_HANDLES


class Wrong:
    def __init__(self, table):
        self.table, self.header = table, table.header

    def text(self):
        lines = [NOTE, "#pragma once", "#include <stdbool.h>", "#include <stdint.h>", "", '#include "cuda/api/cuda_api.h"',
                 '#include "proto/cuda-methods.h"', "", "struct wrong_with {",
                 "    void *pointer;             /* to results, structures, texts and host memory */",
                 "    void *room;                /* zeroed memory that is there: for structures that are passed by value */",
                 "    uint64_t number, address;  /* counts, flags and values; the GPU's memory */", "    int device;",
                 "    const uint64_t *handles;   /* by kind */", "};", "", "struct wrong_call {", "    const char *name;",
                 "    CUresult (*make)(const struct wrong_with *with);", "    bool has_handle, has_pointer;", "};", ""]
        for function in self.header.functions.values():
            values = ", ".join(self.value(one.type) for one in function.parameters)
            lines += [f"static CUresult wrong_{function.name}(const struct wrong_with *with)", "{", "    (void)with;",
                      f"    return {function.name}({values});", "}", ""]
        lines.append("static const struct wrong_call wrong_calls[] = {")
        for name, function in self.header.functions.items():
            kinds = [self.is_handle(one.type) for one in function.parameters]
            stars = [one.type.stars > 0 for one in function.parameters]
            lines.append(f'    {{ "{name}", wrong_{name}, {str(any(kinds)).lower()}, {str(any(stars)).lower()} }},')
        return "\n".join(lines + ["};", ""])

    def is_handle(self, ctype):
        """Whether a parameter names an object. A device is a number that the driver checks."""
        name = ctype.name
        return not ctype.stars and name != "CUdevice" and (self.header.is_handle(name) or name in NUMBER_HANDLES)

    def value(self, ctype):
        name = ctype.name
        if ctype.stars:
            return f"({ctype.c()})with->pointer"
        if name == "CUdevice":
            return "with->device"
        if self.is_handle(ctype):
            cast = f"({name})" if name in NUMBER_HANDLES else f"({name})(uintptr_t)"
            return f"{cast}with->handles[{kind_name(name)}]"
        if name in ADDRESSES:
            return f"({name})with->address"
        if name in self.header.callbacks:
            return "NULL"
        if name in self.header.structs:
            return f"*({name} *)with->room"
        return f"({name})with->number"
