#!/usr/bin/env python3
"""The generator of the CUDA table: the message of each refusal, the row of a new function, and the completeness of its output."""
import glob
import os
import re
import shutil
import subprocess
import sys
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "tools"))
PROTO = os.path.join(SOURCE, "proto")

import harness  # noqa: E402

with open(os.path.join(PROTO, "cuda.capnp"), encoding="ascii") as file:
    TABLE = file.read()

# A pattern in the table, its replacement, and the message. The pattern must be in the table, or the case tests nothing.
REFUSALS = (
    (r'\$c\("cuMemGetInfo_v2"\) \$class\(sync\)', '$c("cuMemGetInfo_v2") $class(async)', "an async method has no results"),
    (r'\$c\("cuMemGetInfo_v2"\) \$class\(sync\)', '$c("cuMemGetInfo_v2") $class(local)', "a local method has no parameters and no results"),
    (r'\$c\("cuMemGetInfo_v2"\) \$class\(sync\)', '$c("cuMemGetInfo_v2") $class(custom)', "$byHand belongs to a custom method"),
    (r'\$c\("cuMemGetInfo_v2"\) \$class\(sync\) \$does\(\[counts, noWork\]\) \$since\(\d+\)', '$c("cuMemGetInfo_v2") $class(sync) $does([counts, noWork])',
     "must be there"),
    (r'\$c\("cuMemGetInfo_v2"\)', '$c("cuMemGetInfos_v2")', "the header has no function 'cuMemGetInfos_v2'"),
    (r'\$c\("cuArrayDestroy"\)', '$c("cuArrayDestroy") $reason("none")', "a refused method has a reason"),
    (r'\$c\("cuCoredumpGetAttribute"\) \$class\(refused\) \$reason\(.coredump\)', '$c("cuCoredumpGetAttribute") $class(refused)',
     "a refused method has a reason"),
    (r'\$c\("cuArrayDestroy"\)', '$c("cuArrayDestroy") $forgets("arrayGetPlane")', "no cached method"),
    (r'\$c\("cuDevicePrimaryCtxRelease_v2"\)', '$c("cuDevicePrimaryCtxRelease")', "is in the table twice"),
    (r'arrayDestroy @6 \(array :UInt64 \$handle\)', "arrayDestroy @6 (array :UInt64)", "is a handle; mark it so"),
    (r'arrayDestroy @6 \(array :UInt64 \$handle\)', "arrayDestroy @6 (array :UInt32 $handle)", "travels as uint64, not as uint32"),
    (r'arrayDestroy @6 \(array :UInt64 \$handle\)', "arrayDestroy @6 (plane :UInt64 $handle)", "has no such parameter"),
    (r'arrayDestroy @6 \(array :UInt64 \$handle\)', "arrayDestroy @6 ()", "the parameter 'array' of cuArrayDestroy() does not travel"),
    (r'arrayGetPlane @10 \(array :UInt64 \$handle, planeIdx :UInt32\)', "arrayGetPlane @10 (array :UInt64 $handle, planeIdx :UInt64)",
     "travels as uint32, not as uint64"),
    (r'\(luid :Data \$bytesOf\("8"\)', "(luid :Data", "bytes say how many there are"),
    (r'struct ArrayDescriptor \$c\("CUDA_ARRAY_DESCRIPTOR"\) \{\n  width @0 :UInt64;\n  height @1 :UInt64;',
     'struct ArrayDescriptor $c("CUDA_ARRAY_DESCRIPTOR") {\n  width @0 :UInt64;\n  tall @1 :UInt64;', "C has no such member"),
    (r' \$omits\("win32HandleMetaData"\)', "", "the member 'win32HandleMetaData' of C does not travel"),
    (r'param :union \$by\("type"\)', "param :union", "$by must name the member that selects"),
    (r'(\$c\("cuArrayGetPlane"\) \$class\(sync\)) \$does\(\[gets\]\)', '$c("cuArrayGetPlane") $class(sync)',
     "arrayGetPlane: nothing is stated about what it does; add $does([...]) with the facts that hold for cuArrayGetPlane()"),
    (r'(\$c\("cuArrayGetPlane"\) \$class\(sync\)) \$does\(\[gets\]\)', '$c("cuArrayGetPlane") $class(sync) $does([plain])',
     "cuArrayGetPlane() returns 'planeArray'; add 'makes' to $does if it makes what it returns"),
    (r'(\$c\("cuArrayGetPlane"\) \$class\(sync\)) \$does\(\[gets\]\)', '$c("cuArrayGetPlane") $class(sync) $does([makes])',
     "cuArrayGetPlane() makes 'planeArray', which is memory or an address; add 'takes' to $does if that is GPU memory"),
    (r'(\$c\("cuArrayGetPlane"\) \$class\(sync\)) \$does\(\[gets\]\)', '$c("cuArrayGetPlane") $class(sync) $does([gets, plain])',
     "states a fact twice, or 'plain' beside another fact"),
    (r'(\$c\("cuArrayGetPlane"\) \$class\(sync\)) \$does\(\[gets\]\)', '$c("cuArrayGetPlane") $class(sync) $does([gets, maps])',
     "has no address that could be pinned memory's"),
    (r'(\$c\("cuArrayGetPlane"\) \$class\(sync\)) \$does\(\[gets\]\)', '$c("cuArrayGetPlane") $class(sync) $does([gets, endsCapture])',
     "states 'endsCapture', so its first parameter must be a CUstream"),
    (r'(\$c\("cuArrayGetPlane"\) \$class\(sync\)) \$does\(\[gets\]\)', '$c("cuArrayGetPlane") $class(sync) $does([gets, barred])',
     "states 'barred', which is about"),
    (r'(\$c\("cuArrayGetPlane"\) \$class\(sync\)) \$does\(\[gets\]\)', '$c("cuArrayGetPlane") $class(sync) $does([gets, ofSettings])',
     "is about cached answers, and is not cached"),
    (r'(\$c\("cuArrayGetPlane"\) \$class\(sync\)) \$does\(\[gets\]\)', '$c("cuArrayGetPlane") $class(sync) $does([gets]) $unplaced("0")',
     "has $unplaced, so $does must state ends"),
    (r'\$class\(refused\) \$reason\(.coredump\)', '$class(refused) $does([plain]) $reason(.coredump)', "a refused method does nothing"),
    (r'(\$c\("cuMemcpyPeerAsync"\).*?), occupies\]', '$c("cuMemcpyPeerAsync") $class(async) $does([mayWait, touches, maps]',
     "cuMemcpyPeerAsync() has a stream, or copies, sets or launches; add 'occupies'"),
    (r'(\$c\("cuLaunchGrid"\).*?), occupies\]', '$c("cuLaunchGrid") $class(sync) $does([inContext, launches, touches]',
     "cuLaunchGrid() has a stream, or copies, sets or launches; add 'occupies'"),
    (r', noTurn\]\) \$since\(8000\)', ']) $since(8000)', "if it gives the GPU work that others wait for, else 'noTurn'"),
    (r'\$when\("CU_EXEC_AFFINITY_TYPE_SM_COUNT"\)', '$when("CU_EXEC_NOTHING")', "which the header does not have"),
)


class MadeUp:
    """A function that no driver has: its row, its prototype, and what the generator writes because of the facts in the row."""

    def __init__(self, name, parameters, travels, class_, facts, written):
        self.name, self.c, self.facts, self.class_, self.travels, self.written = name, "cu" + name[:1].upper() + name[1:], facts, class_, travels, written
        self.prototype = f"CUresult {self.c}({parameters});"

    def row(self, ordinal, facts):
        return f'  {self.name} @{ordinal} {self.travels} $c("{self.c}") $class({self.class_}) {facts} $since(13000);\n'


def generate_with(functions, facts=None):
    """As generate(), from the table with the rows of these functions behind its own. facts: instead of those of the last function."""
    first = len(re.findall(r"(?m)^  \w+ @\d+ \(", TABLE[TABLE.index("interface Driver"):]))
    stated = [one.facts for one in functions]
    stated[-1] = stated[-1] if facts is None else facts
    rows = "".join(one.row(first + i, stated[i]) for i, one in enumerate(functions))
    return generate(TABLE.rstrip().removesuffix("}") + rows + "}\n", [*symbols_of_driver(), *(one.c for one in functions)],
                    "\n".join(one.prototype for one in functions))


# One function of each kind, and where the generated C shows it.
MADE_UP = (
    MadeUp("weigh", "CUcontext context, unsigned int *value", "(context :UInt64 $handle) -> (value :UInt32)", "sync", "$does([plain])",
           {"cuda-methods.c": r'\{ "cuWeigh", .class = ATH_CUDA_SYNC \}'}),
    MadeUp("rest", "CUstream stream", "(stream :UInt64 $handle) -> ()", "sync", "$does([waits, synchronizes])",
           {"cuda-methods.c": r'"cuRest", .class = ATH_CUDA_SYNC, .waits = true, .synchronizes = true'}),
    MadeUp("bellCreate", "CUevent *event, unsigned int flags", "(flags :UInt32) -> (event :UInt64 $handle)", "sync", "$does([makes, stocked])",
           {"cuda-methods.c": r'"cuBellCreate", .class = ATH_CUDA_SYNC, .makes = true, .stocked = true'}),
    MadeUp("bellDestroy", "CUevent event", "(event :UInt64 $handle) -> ()", "async", "$does([ends])",
           {"cuda-methods.c": r'"cuBellDestroy", .class = ATH_CUDA_ASYNC, .ends = true, .ends_handle = true'}),
    MadeUp("paintAsync", "CUdeviceptr address, size_t count, CUstream stream",
           "(address :UInt64 $deviceptr, count :UInt64, stream :UInt64 $handle) -> ()", "async", "$does([touches, maps, occupies])",
           {"cuda-methods.c": r'"cuPaintAsync", .class = ATH_CUDA_ASYNC, .touches = true, .maps = true',
            "cuda-turns.c": r"turns_cuPaintAsync\([^}]*own = ath_turn_gate_enter\(stream\);[^}]*raw.cuPaintAsync\([^}]*ath_turn_gate_leave\(own\);",
            "cuda-client.c": r"ath_cuda_do_cuPaintAsync\([^}]*ath_cuda_host_map\(\(const void \*\)\(uintptr_t\)address\)"}),
    MadeUp("memTake", "CUdeviceptr *address, size_t bytes", "(bytes :UInt64) -> (address :UInt64 $deviceptr)", "sync", "$does([makes, takes])",
           {"cuda-quota.h": r"driver->cuMemTake = ath_quota_cuMemTake;"}),
    MadeUp("startKernel", "CUfunction function, CUstream stream", "(function :UInt64 $handle, stream :UInt64 $handle) -> ()", "async",
           "$does([inContext, launches, touches, occupies])",
           {"cuda-methods.c": r'"cuStartKernel", .class = ATH_CUDA_ASYNC, .in_context = true, .launches = true, .touches = true',
            "cuda-several.c": r"ath_cuda_do_cuStartKernel\([^}]*ath_several_enter\(ath_several_here\(\)"}),
)


def symbols_of_driver():
    return [line for line in read(PROTO, "cuda-symbols.txt").splitlines() if line and not line.startswith("#")]


def generate(table, symbols=None, prototypes=""):
    """(the message or None, the folder of the files)."""
    folder = os.path.join(harness.scratch(), "generated", "proto")
    shutil.rmtree(os.path.dirname(folder), ignore_errors=True)
    os.makedirs(folder)
    headers = os.path.join(SOURCE, "src", "cuda", "api")
    if prototypes:
        headers = shutil.copytree(headers, os.path.join(os.path.dirname(folder), "cuda", "api"))
        with open(os.path.join(headers, "cuda_functions.h"), "a", encoding="ascii") as out:
            out.write(prototypes + "\n")
    schema = os.path.join(folder, "cuda.capnp")
    with open(schema, "w", encoding="ascii") as out:
        out.write(table)
    shutil.copy(os.path.join(PROTO, "common.capnp"), folder)
    request = subprocess.run(["capnp", "compile", "-o-", schema], stdout=subprocess.PIPE, check=True).stdout
    list_ = os.path.join(PROTO, "cuda-symbols.txt")
    if symbols is not None:
        list_ = os.path.join(folder, "symbols.txt")
        with open(list_, "w", encoding="ascii") as out:
            out.write("\n".join(symbols))
    ran = subprocess.run([sys.executable, "-B", os.path.join(PROTO, "cuda_generate.py"),
                          headers, list_, folder], input=request, stderr=subprocess.PIPE)
    return ran.stderr.decode() if ran.returncode else None, folder


def read(*path):
    with open(os.path.join(*path), encoding="ascii") as text:
        return text.read()


@unittest.skipUnless(shutil.which("capnp"), "no capnp (package capnproto)")
class Generator(unittest.TestCase):
    maxDiff = 4000

    def test_refusals(self):
        for pattern, other, said in REFUSALS:
            with self.subTest(said=said):
                changed, count = re.subn(pattern, lambda _, other=other: other, TABLE, count=1)
                self.assertEqual(count, 1, "the pattern is no longer in the table")
                self.assertIn(said, generate(changed)[0] or "nothing was refused")

    def test_a_symbol_that_is_missing(self):
        symbols = symbols_of_driver()
        self.assertIn("'cuNewFunction' is exported by the driver and not in the table", generate(TABLE, [*symbols, "cuNewFunction"])[0])
        self.assertIn("the driver does not export 'cuMemAlloc_v2'",
                      generate(TABLE, [name for name in symbols if name != "cuMemAlloc_v2"])[0])

    def test_all_symbols_are_exported(self):
        said, folder = generate(TABLE)
        self.assertIsNone(said)
        symbols = symbols_of_driver()
        self.assertEqual(re.findall(r"^    (cu\w+);", read(folder, "cuda.map"), flags=re.M), symbols)
        defined = set(re.findall(r"^CUresult (cu\w+)\(", read(folder, "cuda-symbols.c"), flags=re.M))
        self.assertEqual(defined, set(symbols))

    def test_a_new_function_is_one_row(self):
        said, folder = generate_with(MADE_UP)
        self.assertIsNone(said)
        for one in MADE_UP:
            with self.subTest(function=one.c):
                self.assertIn(f"\nCUresult {one.c}(", read(folder, "cuda-symbols.c"))
                for name, pattern in one.written.items():
                    self.assertRegex(read(folder, name), pattern)

    def test_a_row_without_facts_is_refused(self):
        for one, nothing in [*((one, "") for one in MADE_UP), (MADE_UP[0], "$does([])")]:
            with self.subTest(function=one.c, nothing=nothing):
                self.assertIn(f"{one.name}: nothing is stated about what it does; add $does([...]) with the facts that hold for {one.c}()",
                              generate_with([one], nothing)[0] or "nothing was refused")

    def test_a_row_without_one_of_its_facts_is_refused(self):
        known = {one.name: one for one in MADE_UP}
        for name, facts, said in (
                ("bellCreate", "$does([stocked])", "cuBellCreate() returns 'event'; add 'makes' to $does if it makes what it returns"),
                ("paintAsync", "$does([touches, maps])", "cuPaintAsync() has a stream, or copies, sets or launches; add 'occupies'"),
                ("memTake", "$does([makes])", "add 'takes' to $does if that is GPU memory"),
                ("startKernel", "$does([inContext, launches, touches])", "cuStartKernel() has a stream, or copies, sets or launches; add 'occupies'")):
            with self.subTest(function=name):
                self.assertIn(said, generate_with([known[name]], facts)[0] or "nothing was refused")

    def test_gpu_memory_needs_a_wrapper(self):
        sources = glob.glob(os.path.join(SOURCE, "src", "runtime", "quota", "*.c"))
        takes = [one for one in MADE_UP if one.c == "cuMemTake"]
        wanted = "cuMemTake() states 'takes' in proto/cuda.capnp, so src/runtime/quota must define ath_quota_cuMemTake()"
        for functions, missing in (([], None), (takes, wanted)):
            said, folder = generate_with(functions) if functions else generate(TABLE)
            self.assertIsNone(said)
            ran = subprocess.run([sys.executable, "-B", os.path.join(PROTO, "cuda_quota.py"), os.path.join(folder, "cuda-quota.h"), *sources],
                                 stderr=subprocess.PIPE, text=True)
            self.assertEqual(ran.returncode != 0, bool(missing), ran.stderr)
            self.assertIn(missing or "", ran.stderr)

    def test_the_page_is_up_to_date(self):
        said, folder = generate(TABLE)
        self.assertIsNone(said)
        self.assertEqual(read(folder, "coverage.md"), read(SOURCE, "docs", "coverage.md"),
                         "docs/coverage.md is old: copy proto/coverage.md of a build there")


if __name__ == "__main__":
    harness.main()
