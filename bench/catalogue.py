"""The measurements: groups of rows, each of one program here, and the ways by which a program reaches its GPU."""
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
NATIVE, SHM, TCP, TLS = "native", "shm", "tcp", "tcp, TLS"


class Way:
    """How a program reaches the GPU: `transport` None is natively; `round_trip_ms` is added; `disabled` is switched off; its devices are
    those of one server, or of two (`is_several`); its connections have TLS (`is_encrypted`)."""

    def __init__(self, name, transport=None, round_trip_ms=0, disabled=None, is_several=False, is_encrypted=False):
        self.name, self.transport, self.round_trip_ms = name, transport, round_trip_ms
        self.disabled, self.is_several, self.is_encrypted = disabled, is_several, is_encrypted


WAYS = [Way(NATIVE), Way(SHM, SHM), Way(TCP, TCP)]
# Half of it each way. Without the processor time that a real line's packets cost.
# The cost of the library for several servers, for a program that uses the first server's devices.
SEVERAL_WAYS = [way for one in WAYS[1:] for way in (one, Way(f"{one.name}, two servers", one.transport, is_several=True))]
ENCRYPTED_WAYS = [Way(NATIVE), Way(TCP, TCP), Way(TLS, TCP, is_encrypted=True)]
SLOW_WAYS = [Way(NATIVE), Way("tcp, 1 ms", TCP, 1), Way("tcp, 30 ms", TCP, 30)]


def lacks(modules):
    """The reason if one of Python's modules ("torch transformers") is missing, or None."""
    missing = [name for name in modules.split() if importlib.util.find_spec(name) is None]
    return f"no {missing[0]} for this Python" if missing else None


class Group:
    """Rows that one program measures; NAME.py in this folder, or a program of this folder's in the build.

    `weight` is its part of the time budget, `once` that a process measures once (a new one for each round), `apart` that the GPU has
    no room for all ways at once (each way has all its rounds before the next one), `needs` modules of Python's that the program
    imports, `arguments` its arguments on a way.
    """

    def __init__(self, name, title, program, weight, ways=None, once=False, apart=False, needs="", arguments=lambda way: []):
        self.name, self.title, self.program, self.weight = name, title, program, weight
        self.ways, self.once, self.apart, self.needs, self.arguments = ways or WAYS, once, apart, needs, arguments

    def command(self, build):
        if self.program.endswith(".py"):
            return [sys.executable, "-B", os.path.join(HERE, self.program)]
        return [os.path.join(build, "bench", self.program)]

    def lacks(self):
        """Why it cannot run here, or None."""
        return lacks(self.needs)


# Groups with a goal (goals.py) come first: for the last ones there may be no time.
GROUPS = [
    Group("issued", "PyTorch: single operations", "torch_issued.py", 3, needs="torch"),
    Group("models", "PyTorch: models", "torch_models.py", 12, needs="torch"),
    Group("compiled", "PyTorch: CUDA graphs", "torch_compiled.py", 7, needs="torch"),
    Group("loops", "PyTorch: many small calls", "torch_loops.py", 6, needs="torch"),
    Group("jax", "JAX", "jax_steps.py", 2, needs="jax"),
    Group("calls", "Calls of the driver API", "calls", 4),
    Group("threads", "Copies of eight threads", "threads", 2),
    Group("copies", "Copies by size", "copies", 10),
    Group("encrypted_copies", "Copies by size, with TLS beside without", "copies", 6, ENCRYPTED_WAYS),
    Group("encrypted_calls", "Calls of the driver API, with TLS beside without", "calls", 2, ENCRYPTED_WAYS),
    Group("encrypted_start", "Until the first kernel has run, with TLS beside without", "start", 2, ENCRYPTED_WAYS, once=True),
    Group("slow", "On a slow line", "steps", 4, SLOW_WAYS),
    Group("slow_models", "PyTorch on a slow line", "torch_models.py", 6, SLOW_WAYS, needs="torch"),
    Group("start", "Until the first kernel has run", "start", 3, once=True),
    Group("steps", "Loads in the shape of a framework's", "steps", 2),
    Group("slow_start", "Until the first kernel has run, on a slow line", "start", 2, SLOW_WAYS, once=True),
    Group("served", "A launch in the server's code", "served", 1, WAYS[:1]),
    Group("streams", "The transports by themselves", "streams", 2, WAYS[1:], arguments=lambda way: [way.transport]),
    Group("encrypted", "Connections by TLS beside plain ones", "streams", 2, WAYS[2:], arguments=lambda way: ["both"]),
    Group("several", "Two servers for one program: calls", "calls", 2, SEVERAL_WAYS),
    Group("several_copies", "Two servers for one program: copies", "copies", 4, SEVERAL_WAYS),
    Group("clients", "Many programs at once", "clients", 10, apart=True),
]
COUNTS = "counts"  # as a group's name: the calls of what follows

# Work whose calls are counted: its name in the program's arguments, the program's group, which two counts of it are run (their
# difference counts), what it needs.
COUNTED = [
    ("ResNet-50 training step", "models", (3, 7), "torch"),
    ("ResNet-50 inference", "models", (3, 7), "torch"),
    ("GPT-2 token", "models", (4, 12), "torch transformers"),
    ("training step of 328 calls", "steps", (4, 12), ""),
    ("token of 285 launches", "steps", (4, 12), ""),
]

# Groups that are also measured with each optimisation switched off.
SWITCHED = ["calls", "steps", "copies"]


def programs():
    """The programs of the build, once each; one of them is the slow line."""
    return sorted({"bench/party", "bench/relay", *(f"bench/{group.program}" for group in GROUPS if not group.program.endswith(".py"))})


def named(name):
    return next(group for group in GROUPS if group.name == name)
