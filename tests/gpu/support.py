"""Helpers that the Python tests of this folder share. Each test is a function with @test; FILE NAME runs one in this process.

    @test(limit_s=90, alone=False, gpus=1, servers=1, native=True)

limit_s is its time, alone that nothing runs beside it, gpus how many it needs, servers that it is about two of them (run's
--two-servers), native that it also runs without aitherion and must then give the same: what same() prints is compared. The arguments are read from the source, so they are literals.
"""
import faulthandler
import hashlib
import importlib
import importlib.util
import os
import re
import sys
import traceback

SKIPPED = 77
IS_SIM = "AITHERION_SIM_DEVICES" in os.environ
MODE = os.environ.get("AITHERION_TEST_MODE", "native")
_tests = {}


class Skip(Exception):
    """Why a test cannot run here."""


def test(**_facts):
    def take(function):
        _tests[function.__name__] = function
        return function
    return take


def need(name):
    """A module that is installed, or the test is skipped; that it cannot be loaded is a failure."""
    if importlib.util.find_spec(name) is None:
        raise Skip(f"no {name} for this Python")
    return importlib.import_module(name)


def lacks(reason):
    """Skips the test in the native mode, and fails in the other modes: the feature is missing only there."""
    if MODE == "native":
        raise Skip(reason)
    raise AssertionError(reason)


def old_numpy(numpy):
    """Gives NumPy 2.5 back a name that Numba takes for given."""
    if not hasattr(numpy, "row_stack"):
        numpy.row_stack = numpy.vstack


def gpu_torch(is_deterministic=False):
    """PyTorch that sees a GPU."""
    torch = need("torch")
    if not torch.cuda.is_available():
        lacks("PyTorch sees no GPU")
    torch.manual_seed(0)
    if is_deterministic:
        torch.use_deterministic_algorithms(True)
        torch.backends.cudnn.benchmark = False
    return torch


def bits(tensor):
    """A tensor's digest, from its bytes as they are."""
    torch = importlib.import_module("torch")
    return digest(tensor.detach().contiguous().cpu().view(torch.uint8).numpy())


def raises(kind, function):
    """The exception of that kind that a function ends with."""
    try:
        function()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


def same(name, value):
    """A value that must be equal on all ways to the GPU, to the last bit."""
    if isinstance(value, float):
        value = value.hex()
    print(f"= {name}: {value}", flush=True)


def digest(array):
    """The first 24 hexadecimal digits of the SHA-256 of a NumPy array's bytes."""
    return hashlib.sha256(array.tobytes()).hexdigest()[:24]


def check(condition, *words):
    if not condition:
        raise AssertionError(" ".join(map(str, words)) or "not so")


def _check_library():
    """A test that had the GPU's own library in its process says nothing about ours."""
    ours = [os.path.realpath(path) for path in os.environ.get("AITHERION_TEST_LIBRARIES", "").split(os.pathsep) if path]
    if not ours:
        return
    with open("/proc/self/maps", encoding="ascii", errors="replace") as maps:
        found = set(re.findall(r"(/\S*/lib(?:cuda|nvidia-ml)\.so\S*)", maps.read()))
    strangers = [path for path in found if os.path.dirname(os.path.realpath(path)) not in ours]
    check(not strangers, "another driver library is in use:", *strangers)


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in _tests:
        sys.exit(f"usage: {sys.argv[0]} {'|'.join(_tests)}")
    limit_s = float(os.environ.get("AITHERION_TEST_LIMIT", "90"))
    faulthandler.enable()
    faulthandler.dump_traceback_later(max(1, limit_s - 2), exit=False)
    code = 0
    try:
        _tests[sys.argv[1]]()
        _check_library()
    except Skip as reason:
        print(f"skipped: {reason}", flush=True)
        code = SKIPPED
    except BaseException:  # pylint: disable=broad-except
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    # The end of the interpreter is part of the test: libraries free there what they hold on the GPU.
    sys.exit(code)
