#!/usr/bin/env python3
"""Measures copies over several network links of limited speed: two network namespaces with pairs of virtual links between them, each
with a rate (tbf), the server in one and a program in the other, with the simulated driver. It needs root, ip and tc. Prints the median of
the copies' speeds for each set of data links, beside the sum of the links' rates. Choose rates that a processor of this machine reaches
easily. Several builds and transports take turns.

    bench/fabric.py [--build DIR]... [--transport tcp|udp]... [--rounds N] [--control MBIT] [MBIT,MBIT,...]...
"""
import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(SOURCE, "tests", "tools"), os.path.join(SOURCE, "tests", "runtime")]
SETS = ("40", "40,40,40,40", "20,40,80")
MIB = 1 << 20


def ip(*words):
    subprocess.run(["ip", *words], check=True)


@contextlib.contextmanager
def namespaces(rates):
    """A namespace for the client and one for the server. Link i has the network 10.77.i.0/24, .1 at the server and .2 at the client."""
    names = [f"ath-fabric-{os.getpid()}-{side}" for side in ("server", "client")]
    try:
        for name in names:
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        for i, rate in enumerate(rates):
            ip("link", "add", f"l{i}", "netns", names[0], "type", "veth", "peer", "name", f"l{i}", "netns", names[1])
            for side, name in enumerate(names):
                ip("-n", name, "address", "add", f"10.77.{i}.{1 + side}/24", "dev", f"l{i}")
                ip("-n", name, "link", "set", f"l{i}", "up")
                burst = max(70000, rate * 125)  # a millisecond of the rate, and a packet of segmentation offload: tbf cuts larger ones, which costs much
                subprocess.run(["tc", "-n", name, "qdisc", "add", "dev", f"l{i}", "root", "tbf", "rate", f"{rate}mbit", "burst",
                                str(burst), "latency", "50ms"], check=True)
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], stderr=subprocess.DEVNULL, check=False)


def measure(build, transport, sides, rates, control):
    """The speed of copies from and to the device, in Mbit/s."""
    server_side, client_side = sides
    with tempfile.TemporaryDirectory() as folder:
        runtime, cli = os.path.join(build, "aitherion-runtime"), os.path.join(build, "aitherion")
        key, steps = os.path.join(folder, "key"), os.path.join(build, "tests", "runtime", "cuda_steps")
        with open(key, "wb") as file:
            file.write(os.urandom(32))
        os.chmod(key, 0o600)
        data = [f"--data-listen=10.77.{1 + i}.1:5555" for i in range(len(rates))]
        variables = dict(os.environ, AITHERION_BUILD=build, AITHERION_SIM_MEMORY="1G", AITHERION_SIM_DEVICES="1", srcdir=SOURCE)
        with open(os.path.join(folder, "log"), "wb") as log, \
                subprocess.Popen(["ip", "netns", "exec", server_side, runtime, "serve", "--sim", "--listen", "10.77.0.1:50051", "--encrypt",
                                  "off", "--udp", "on", "--key", key, *data], stdout=subprocess.PIPE, stderr=log, text=True,
                                 env=variables) as server:
            try:
                server.stdout.readline()
                return copy(["ip", "netns", "exec", client_side, cli, "run", "--server", "10.77.0.1:50051", "--encrypt", "off", "--transport",
                             transport, "--key", key, "--", steps], variables, sum(rates or [control]))
            finally:
                server.terminate()


def copy(command, variables, rate):
    """Copies for some two seconds each way at the links' rate."""
    size = 16 * MIB
    times = max(1, round(rate * 1e6 / 8 * 2 / size))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env=variables) as program:
        def say(step):
            program.stdin.write(step + "\n")
            return program.stdout.readline().strip()
        program.stdout.readline()
        for step in ("fetch", "bring"):  # the speeds of the links become known
            say(f"{step} 1 {size}")
        speeds = {}
        for way, step in (("from", f"fetch {times} {size}"), ("to", f"bring {times} {size}")):
            begin = time.monotonic()
            result = say(step)
            if not result.endswith("right"):
                raise AssertionError(f"{step}: {result}")
            speeds[way] = (times + 1) * size * 8 / 1e6 / (time.monotonic() - begin)
        program.stdin.close()
        return speeds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", action="append")
    parser.add_argument("--transport", action="append", choices=("tcp", "udp"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--control", type=int, default=10, help="Mbit/s of the link of the calls")
    parser.add_argument("sets", nargs="*", default=SETS, metavar="MBIT,MBIT", help="rates of the data links; - for none")
    options = parser.parse_args()
    builds = [os.path.abspath(one) for one in options.build or [os.path.join(SOURCE, "build")]]
    print(f"{'data links':24} {'':4} {'sum':>8} {'from device':>12} {'to device':>12}   Mbit/s, control {options.control}")
    for text in options.sets:
        rates = [] if text == "-" else [int(word) for word in text.split(",")]
        whole = sum(rates or [options.control])
        seen = {(build, transport): [] for build in builds for transport in options.transport or ["tcp"]}
        with namespaces([options.control, *rates]) as sides:
            for _ in range(options.rounds):
                for (build, transport), speeds in seen.items():
                    speeds.append(measure(build, transport, sides, rates, options.control))
        for (build, transport), speeds in seen.items():
            medians = [statistics.median(one[way] for one in speeds) for way in ("from", "to")]
            print(f"{text:24} {transport:4} {whole:8} " + " ".join(f"{one:7.0f} {100 * one / whole:3.0f}%" for one in medians) + f"  {build}",
                  flush=True)


if __name__ == "__main__":
    main()
