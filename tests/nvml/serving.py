"""Shared by the tests of NVML: the folders of the libraries, and the environment of a program that uses them."""
import os
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "runtime"))

import harness  # noqa: E402
import runtime  # noqa: E402

BUILD = harness.build()
LIBRARIES = os.path.join(BUILD, "lib", "aitherion")


def sim_folder(nvml):
    """A folder for AITHERION_SIM_FOLDER: the simulated driver with another NVML."""
    folder = os.path.join(harness.scratch(), "sim-" + os.path.basename(os.path.dirname(nvml)))
    os.makedirs(folder, exist_ok=True)
    for path in (os.path.join(LIBRARIES, "sim", "libcuda.so.1"), nvml):
        link = os.path.join(folder, os.path.basename(path))
        if not os.path.lexists(link):
            os.symlink(path, link)
    return folder


def client_environment(server, *others, **changes):
    """The environment of a program that has the devices of a server, and then those of others with the same key."""
    key = runtime.key_file(server.key) if server.key is not None else ""
    values = {"AITHERION_SERVER": ",".join(one.address for one in (server, *others)), "AITHERION_KEY_FILE": key,
              "AITHERION_CONNECT_TIMEOUT": str(harness.PATIENCE_S),
              "LD_LIBRARY_PATH": os.pathsep.join([LIBRARIES, *filter(None, [os.environ.get("LD_LIBRARY_PATH")])])}
    return harness.environment(**{**values, **changes})
