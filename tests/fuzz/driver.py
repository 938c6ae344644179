#!/usr/bin/env python3
"""Writes a CUDA driver that does nothing, for fuzzing the server: driver.py CUDA-SERVER.H > DRIVER.H. Each function of struct
ath_cuda_driver succeeds (or fails, as `driver_status` says) and leaves its results as they are."""
import re
import sys

MEMBER = re.compile(r"^    CUresult \(\*(\w+)\)\((.*)\);$", re.MULTILINE)


def parameters(text):
    """The types between the commas outside of parentheses."""
    found, depth, begin = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            found.append(text[begin:i].strip())
            begin = i + 1
    found.append(text[begin:].strip())
    return [] if found == ["void"] else found


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        header = file.read()
    members = MEMBER.findall(header[header.index("struct ath_cuda_driver {"):])
    if len(members) < 400:
        sys.exit("driver: struct ath_cuda_driver is not where it was")
    print("static CUresult driver_status;\n")
    for name, text in members:
        types = parameters(text)
        names = [f"a{i}" for i in range(len(types))]
        named = ", ".join(f"{kind} {name}" for kind, name in zip(types, names)) or "void"
        print(f"static CUresult nothing_{name}({named})\n{{")
        print("".join(f"    (void){one};\n" for one in names) + "    return driver_status;\n}\n")
    print("static const struct ath_cuda_driver driver_of_nothing = {")
    print("".join(f"    .{name} = nothing_{name},\n" for name, _ in members) + "};")


if __name__ == "__main__":
    main()
