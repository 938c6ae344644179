"""The list of all tests: programs of the driver API, nvcc's programs, Python tests."""
import ast
import copy
import os
import re
import shutil
import subprocess
import sys

import bed as beds

PROGRAMS = os.path.join(beds.SOURCE, "tests", "cuda_programs")
SEQUENCES_FOLDER = os.path.join(beds.HERE, "differential")
OWN_PROGRAMS = os.path.join(beds.HERE, "programs")
DRIVER_PROGRAMS = ["callbacks", "coherence", "contexts", "faults", "graph_memory", "graph_nodes", "graphs", "linker", "memory", "modules", "pinned",
                   "pools", "sharing", "streams", "threads", "training", "virtual", "wrong"]
OF_TWO_SERVERS = "several"  # the program about devices of two
# Run alone: they count memory, or take all of it, so that no other test gets a context.
COUNTING = {"a destroyed context frees its memory", "allocated memory is counted", "allocations are counted",
            "more than the device has is out of memory", "memory without holders is free again"}
CRASHING = {"memory of the device is not the host's"}  # which end with SIGSEGV when all is well
DRIVER_LIMIT_S, NVCC_LIMIT_S, BUILD_LIMIT_S = 30, 30, 300
LONG = {"coherence": 90}  # programs of the driver API whose tests go on for a while
# Programs that nvcc builds: name: (source, arguments). A library that is not there is a skip.
NVCC_PROGRAMS = {
    "runtime_api": (os.path.join(PROGRAMS, "runtime_api.cu"), []),
    "runtime_api-shared": (os.path.join(PROGRAMS, "runtime_api.cu"), ["-cudart", "shared"]),
    "runtime_api-per-thread": (os.path.join(PROGRAMS, "runtime_api.cu"), ["--default-stream", "per-thread"]),
    "runtime_api-relocatable": (os.path.join(PROGRAMS, "runtime_api.cu"), ["-rdc=true"]),
    "runtime_api-ptx": (os.path.join(PROGRAMS, "runtime_api.cu"), ["-gencode", "arch=compute_75,code=compute_75"]),
    "transfers": (os.path.join(OWN_PROGRAMS, "transfers.cu"), []),
    "kernels": (os.path.join(OWN_PROGRAMS, "kernels.cu"), ["-rdc=true"]),
    "sharing": (os.path.join(OWN_PROGRAMS, "sharing.cu"), []),
    "cublas": (os.path.join(OWN_PROGRAMS, "cublas.cu"), ["-lcublas", "-lcublasLt"]),
    "cufft": (os.path.join(OWN_PROGRAMS, "cufft.cu"), ["-lcufft"]),
    "cusolver": (os.path.join(OWN_PROGRAMS, "cusolver.cu"), ["-lcusolver"]),
    "curand": (os.path.join(OWN_PROGRAMS, "curand.cu"), ["-lcurand"]),
    "cusparse": (os.path.join(OWN_PROGRAMS, "cusparse.cu"), ["-lcusparse"]),
    "thrust": (os.path.join(OWN_PROGRAMS, "thrust.cu"), ["--extended-lambda"]),
    "jit": (os.path.join(OWN_PROGRAMS, "jit.cu"), ["-lnvrtc", "-lnvJitLink"]),
    "language": (os.path.join(OWN_PROGRAMS, "language.cu"), ["--extended-lambda"]),
    "graphs": (os.path.join(OWN_PROGRAMS, "graphs.cu"), ["-rdc=true"]),
    "memory": (os.path.join(OWN_PROGRAMS, "memory.cu"), []),
    "textures": (os.path.join(OWN_PROGRAMS, "textures.cu"), []),
    "devices": (os.path.join(OWN_PROGRAMS, "devices.cu"), []),
    "hopper": (os.path.join(OWN_PROGRAMS, "hopper.cu"), []),
}
# Sequences of random calls (differential.py) of the runtime API; those of the driver API need no nvcc.
RUNTIME_SEQUENCES = "differential-runtime"
SEQUENCES = {
    RUNTIME_SEQUENCES: (os.path.join(SEQUENCES_FOLDER, "runtime.cu"), [os.path.join(SEQUENCES_FOLDER, name) for name in ["engine.c", "objects.c"]]),
}
SEQUENCES_S, SEQUENCES_LIMIT_S = 20, 120
PYTHON_FILES = ["torch_training", "torch_use", "torch_more", "torch_processes", "frameworks", "libraries", "nvml", "faults", "two_servers"]


class Test:
    """One test: `command` is a list, or a function of the bed that gives one or raises Skipped. `disabled` is what AITHERION_DISABLE
    says at a server."""

    def __init__(self, group, name, command, limit_s, alone=False, native=True, gpus=1, servers=1, expected=0, env=None):
        self.group, self.name, self.command, self.limit_s, self.alone = group, name, command, limit_s, alone
        self.native, self.gpus, self.expected, self.env = native, gpus, expected, env or {}
        self.servers, self.disabled = servers, None

    def without(self, name):
        """The same test, with optimisations switched off."""
        other = copy.copy(self)
        other.disabled = name
        return other

    @property
    def title(self):
        """The group's, in the table."""
        return f"{self.group} without {self.disabled}" if self.disabled else self.group

    @property
    def full_name(self):
        return f"{self.title}: {self.name}"


class Skipped(Exception):
    """Why a test has no command here."""


# ---- programs of the driver API ----

def names_of(program, env):
    """The names of the tests of a program that has --list. Empty if the program does not run."""
    result = subprocess.run([program, "--list"], env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return result.stdout.splitlines() if not result.returncode else []


def missing(reason):
    def command(_bed):
        raise Skipped(reason)
    return command


def driver_tests(bed):
    env = bed.environment(beds.NATIVE)
    for program in [*DRIVER_PROGRAMS, OF_TWO_SERVERS]:
        servers = 2 if program == OF_TWO_SERVERS else 1
        path = os.path.join(bed.build, "tests", "cuda_programs", program)
        names = names_of(path, env) if os.access(path, os.X_OK) else []
        if not names:
            yield Test(f"driver/{program}", "all", missing(f"'{path}' is not there, or finds no libcuda.so.1"), DRIVER_LIMIT_S,
                       servers=servers)
        for name in names:
            yield Test(f"driver/{program}", name, [path, name], LONG.get(program, DRIVER_LIMIT_S), alone=name in COUNTING,
                       native=servers == 1, servers=servers, expected=-11 if name in CRASHING else 0)


# ---- programs of nvcc ----

def nvcc():
    return shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")


def toolkit_libraries():
    """Folders with the toolkit's shared libraries: nvcc's own, else those of Python's packages."""
    folders = []
    if nvcc():
        folders.append(os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(nvcc()))), "lib64"))
    for root in sys.path:
        packages = os.path.join(root, "nvidia")
        if os.path.isdir(packages):
            folders += [os.path.join(packages, name, "lib") for name in sorted(os.listdir(packages))]
    return [folder for folder in folders if os.path.isdir(folder)]


def build(name, folder, is_for_here=False):
    """One program, for the GPU here or for Hopper and what comes after it; returns its path and what nvcc said."""
    source, arguments = {**NVCC_PROGRAMS, **SEQUENCES}[name]
    path = os.path.join(folder, name)
    target = ["-arch=native"] if is_for_here else ["-gencode", "arch=compute_90,code=[sm_90,compute_90]"]
    target = [] if "-gencode" in arguments else target
    result = subprocess.run([nvcc(), "-std=c++17", "-O1", "-w", *target, "-I", OWN_PROGRAMS, "-o", path, source, *arguments],
                            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=BUILD_LIMIT_S, check=False)
    return path if not result.returncode else None, result.stdout


def nvcc_program(name):
    """Carried with the build, else built here once."""
    def command(bed):
        carried = os.path.join(bed.build, "tests", "gpu", "programs", name)
        path = carried if os.access(carried, os.X_OK) else os.path.join(bed.scratch, "programs", name)
        if not os.access(path, os.X_OK):
            if not nvcc():
                raise Skipped("neither carried nor is there nvcc (CUDA toolkit)")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            path, said = build(name, os.path.dirname(path), not bed.is_sim)
            if not path:
                raise RuntimeError(said)
        lacking = beds.missing_libraries(path, bed.environment(beds.NATIVE, LD_LIBRARY_PATH=library_path(bed)))
        if lacking:
            raise Skipped(f"no {' '.join(lacking)}")
        return [path]
    return command


def library_path(bed):
    """For ldd; programs themselves get the folders behind those of their mode."""
    return os.pathsep.join([bed.extra, *toolkit_libraries(), os.environ.get("LD_LIBRARY_PATH", "")])


def nvcc_tests(_bed):
    for name, (source, _) in NVCC_PROGRAMS.items():
        for one in names_in(source):
            yield Test(f"nvcc/{name}", one, NamedCommand(nvcc_program(name), one), NVCC_LIMIT_S, alone="alone" in one,
                       env={"toolkit": True})


# ---- sequences of random calls ----

def sequences(plan):
    """Compares with native itself, so it is not run natively."""
    def command(bed):
        if plan == "runtime":
            nvcc_program(RUNTIME_SEQUENCES)(bed)
        return [sys.executable, "-B", os.path.join(beds.HERE, "differential.py"), plan, "--budget", str(SEQUENCES_S), "--jobs", "1"]
    return command


def sequence_tests(_bed):
    import differential  # pylint: disable=import-outside-toplevel; it needs this module
    for plan in [*differential.PLANS, *differential.RUNTIME_PLANS]:
        yield Test("differential", plan, sequences(plan), SEQUENCES_LIMIT_S, native=False, env={"toolkit": True} if plan == "runtime" else None)


class NamedCommand:
    def __init__(self, program, name):
        self.program, self.name = program, name

    def __call__(self, bed):
        return [*self.program(bed), self.name]


def names_in(source):
    """The names of the tests in a .cu file, from its rows { "name", function }."""
    if not os.path.exists(source):
        return []
    with open(source, encoding="utf-8") as file:
        return re.findall(r'^ {4}\{ "([^"]+)",', file.read(), re.M)


# ---- Python ----

def python_tests(_bed):
    for name in PYTHON_FILES:
        path = os.path.join(beds.HERE, name + ".py")
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
        for node in tree.body:
            facts = decorated(node)
            if facts is not None:
                limit_s = facts.pop("limit_s", 90)
                yield Test(name, node.name, [sys.executable, "-B", path, node.name], limit_s, **facts)


def decorated(node):
    """The facts of a function with @test(...), or None."""
    for call in getattr(node, "decorator_list", []):
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "test":
            return {word.arg: ast.literal_eval(word.value) for word in call.keywords}
    return None


def all_tests(bed):
    return [*python_tests(bed), *nvcc_tests(bed), *driver_tests(bed), *sequence_tests(bed)]
