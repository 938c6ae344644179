#!/usr/bin/env python3
"""Writes what src/runtime/quota must wrap, and refuses a wrapper that is missing.

cuda_generate.py writes cuda-quota.h:

    CUresult ath_quota_NAME(...)          declared for each function that $does says takes, gives or counts GPU memory
    void ath_quota_wrap_driver(driver)    puts them into the driver's table, and takes the barred functions out of it

    cuda_quota.py HEADER SOURCE...        fails if the sources do not define all functions that the header declares
"""
import re
import sys

NOTE = "/* Written by proto/cuda_generate.py from cuda.capnp; a change there is a change here. */"
COUNTED = ("takes", "gives", "counts")
DECLARED = r"(?m)^CUresult ath_quota_(cu\w+)\(.*\); /\* \$does\(\[(.*)\]\) \*/$"


class Quota:
    def __init__(self, table):
        self.methods = [method for method in table.functions if set(COUNTED) & set(method.does)]

    def header(self):
        wrapped = [method for method in self.methods if "barred" not in method.does]
        lines = [NOTE, "#pragma once", '#include "proto/cuda-server.h"', "",
                 "/* In the driver's table in place of the driver's own functions, with their signature and meaning. */"]
        for method in wrapped:
            parameters = ", ".join(one.type.c(one.name) for one in method.function.parameters) or "void"
            stated = ", ".join(word for word in COUNTED if word in method.does)
            lines.append(f"CUresult ath_quota_{method.c}({parameters}); /* $does([{stated}]) */")
        lines += ["", "/* A function that the driver lacks stays missing. The functions that end in _ptsz need no wrapper: the server names",
                  " * the thread's stream itself and calls the plain functions. */",
                  "static inline void ath_quota_wrap_driver(struct ath_cuda_driver *driver)", "{"]
        for method in wrapped:
            lines += [f"    if (driver->{method.c})", f"        driver->{method.c} = ath_quota_{method.c};"]
        lines += [f"    driver->{method.c} = NULL;" for method in self.methods if "barred" in method.does]
        return "\n".join(lines + ["}", ""])


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    texts = []
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            texts.append(file.read())
    defined = set(re.findall(r"(?m)^CUresult ath_quota_(cu\w+)\(", "\n".join(texts[1:])))
    missing = [f"cuda_quota.py: {name}() states '{facts}' in proto/cuda.capnp, so src/runtime/quota must define ath_quota_{name}(); "
               "write it, or correct $does" for name, facts in re.findall(DECLARED, texts[0]) if name not in defined]
    sys.exit("\n".join(missing) or None)


if __name__ == "__main__":
    main()
