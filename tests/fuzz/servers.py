#!/usr/bin/env python3
"""Writes the libraries of hostile servers, for fuzzing the switch between servers: servers.py CUDA-SEVERAL.H TARGET.C > SERVERS.H. Each
function of struct ath_several_calls fails or succeeds, and writes its results, as the input says. TARGET.C has those that do more:
server_NAME() gets the server's number before the function's own parameters."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from driver import MEMBER, parameters  # noqa: E402

SERVERS = 2
BY_HAND = re.compile(r"^static CUresult server_(\w+)\(", re.MULTILINE)
HANDLES = {"CUarray", "CUcontext", "CUevent", "CUfunction", "CUgraph", "CUgraphExec", "CUgraphNode", "CUgreenCtx", "CUkernel", "CUlibrary", "CUlinkState",
           "CUmemoryPool", "CUmipmappedArray", "CUmodule", "CUstream", "CUuserObject"}  # they have their server's number
POINTER = re.compile(r"(?P<type>\w[\w ]*?) ?(?P<stars>\*+)(?P<name>\w+)$")
GIVEN = re.compile(r"void|char|.*(?:Params?|PARAMS|Options?|_option)(?:_st)?(?:_v\d+)?$")  # arrays, and what the program gives


def result(parameter):
    """The statement that writes a result; None: the parameter is none."""
    pointer = POINTER.match(parameter)
    if not pointer:
        return None
    kind, name, depth = pointer["type"], pointer["name"], len(pointer["stars"])
    if (kind, depth) == ("const char", 2):
        return f"put_name({name});"
    if (kind, depth) == ("void", 2):
        return f"put_memory({name});"
    if depth == 1 and kind in HANDLES:
        return f"put_handle(index, {name});"
    if depth == 1 and not kind.startswith("const ") and not GIVEN.match(kind):
        return f"put({name}, {name} ? sizeof *{name} : 0);"
    return None


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        members = MEMBER.findall(file.read())
    with open(sys.argv[2], encoding="utf-8") as file:
        by_hand = set(BY_HAND.findall(file.read()))
    if len(members) < 400 or not by_hand <= {name for name, _ in members}:
        sys.exit("servers: struct ath_several_calls is not as it was")
    for name, text in members:
        given = [re.sub(r"(\w+)((?:\[\w*\])?)$", r"\1_\2", one) for one in parameters(text)]  # so that no name hides one of the target's
        names = [re.search(r"(\w+)(?:\[\w*\])?$", one)[1] for one in given]
        if name not in by_hand:
            print(f"static CUresult server_{name}({', '.join(['unsigned int index'] + given)})\n{{")
            print("    CUresult status = answer(index);")
            for one in filter(None, map(result, given)):
                print(f"    if (!status)\n        {one}")
            print("".join(f"    (void){one};\n" for one in names) + "    return status;\n}\n")
        for index in range(SERVERS):
            print(f"static CUresult at{index}_{name}({', '.join(given) or 'void'})\n{{")
            print(f"    return server_{name}({', '.join([f'{index}u'] + names)});\n}}\n")
    for index in range(SERVERS):
        print(f"static const struct ath_several_calls calls_of_{index} = {{")
        print("".join(f"    .{name} = at{index}_{name},\n" for name, _ in members) + "};")


if __name__ == "__main__":
    main()
