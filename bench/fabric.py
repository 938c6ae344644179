#!/usr/bin/env python3
"""Measures copies over several network links of limited speed: two network namespaces with pairs of virtual links between them, each
with a rate (tbf), the server in one and a program in the other, with the simulated driver. It needs root, ip and tc. Prints the median of
the copies' speeds for each set of data links, beside the sum of the links' rates. Choose rates that a processor of this machine reaches
easily. Several builds and transports take turns. With --loss or --delay the data
links are those of bench/line.c, which lose packets on one way, or both, and need their time. How often a path changed between TCP and UDP
stands behind the speeds.

    bench/fabric.py [--build DIR]... [--transport tcp|udp|auto]... [--rounds N] [--seconds N] [--control MBIT] [--delay MS] [--loss PERCENT --way from|to] [--congestion NAME] [MBIT,MBIT,...]...
"""
import argparse
import contextlib
import os
import re
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


def remove(names):
    for name in names:
        subprocess.run(["ip", "netns", "delete", name], stderr=subprocess.DEVNULL, check=False)


def line_of(options):
    """The command of bench/line.c without its operands: from the server's side there."""
    if not options.loss and not options.delay:
        return ()
    losses = [f"--loss-{there}={options.loss}" for way, there in (("from", "there"), ("to", "back")) if options.way in (way, "both")]
    return (os.path.join(options.build[-1], "bench", "line"), f"--delay-us={options.delay * 500:.0f}", *losses)


@contextlib.contextmanager
def namespaces(rates, line=(), congestion=None):
    """A namespace for the client and one for the server. Link i has the network 10.77.i.0/24, .1 at the server and .2 at the client. line:
    the command of bench/line.c, with options, for all links except the first. congestion: how TCP avoids it (the default is the machine's)."""
    names = [f"ath-fabric-{os.getpid()}-{side}" for side in ("server", "client")]
    with contextlib.ExitStack() as lines:
        lines.callback(remove, names)
        for name in names:
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        for i, rate in enumerate(rates):
            if i and line:
                one = lines.enter_context(subprocess.Popen([*line, *names, f"l{i}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
                if one.stdout.readline() != "ready\n":
                    sys.exit(f"bench/fabric.py: {line[0]} makes no link")
            else:
                ip("link", "add", f"l{i}", "netns", names[0], "type", "veth", "peer", "name", f"l{i}", "netns", names[1])
            for side, name in enumerate(names):
                ip("-n", name, "address", "add", f"10.77.{i}.{1 + side}/24", "dev", f"l{i}")
                ip("-n", name, "link", "set", f"l{i}", "up")
                if congestion:
                    ip("-n", name, "route", "replace", f"10.77.{i}.0/24", "dev", f"l{i}", "src", f"10.77.{i}.{1 + side}", "congctl", congestion)
                burst = max(70000, rate * 125)  # a millisecond of the rate, and a packet of segmentation offload: tbf cuts larger ones, which costs much
                subprocess.run(["tc", "-n", name, "qdisc", "add", "dev", f"l{i}", "root", "tbf", "rate", f"{rate}mbit", "burst",
                                str(burst), "latency", "50ms"], check=True)
        yield names


def measure(build, transport, sides, rates, control, seconds):
    """The speed of copies from and to the device, in Mbit/s, and how often a path changed ("changes")."""
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
                return copy(seconds, ["ip", "netns", "exec", client_side, cli, "run", "-v", "--server", "10.77.0.1:50051", "--encrypt", "off", "--transport",
                             transport, "--key", key, "--", steps], variables, sum(rates or [control]), os.path.join(folder, "told"))
            finally:
                server.terminate()


def copy(seconds, command, variables, rate, told):
    """Copies for so long each way, if that is at the links' rate. One copy more goes the other way. told: a file for the program's messages."""
    size = 16 * MIB
    times = max(1, round(rate * 1e6 / 8 * seconds / size))
    with open(told, "w+", encoding="utf-8") as messages, \
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=messages, text=True, bufsize=1,
                             env=variables) as program:
        def say(step):
            program.stdin.write(step + "\n")
            return program.stdout.readline().strip()
        program.stdout.readline()
        for step in ("fetch", "bring"):  # the speeds of the links become known, and whether they lose
            say(f"{step} 2 {size}")
        speeds = {}
        for way, step in (("from", f"fetch {times} {size}"), ("to", f"bring {times} {size}")):
            begin = time.monotonic()
            result = say(step)
            if not result.endswith("right"):
                raise AssertionError(f"{step}: {result}")
            speeds[way] = (times + 1) * size * 8 / 1e6 / (time.monotonic() - begin)
        program.stdin.close()
        program.wait()
        messages.seek(0)
        return dict(speeds, changes=len(re.findall("its channels change to UDP|back to TCP", messages.read())))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", action="append")
    parser.add_argument("--transport", action="append", choices=("tcp", "udp", "auto"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--control", type=int, default=10, help="Mbit/s of the link of the calls")
    parser.add_argument("--seconds", type=float, default=2, help="of copies in each direction (default: 2); one copy goes the other way")
    parser.add_argument("--delay", type=float, default=0, help="milliseconds of a round trip by the data links")
    parser.add_argument("--loss", type=float, default=0, help="percent of the packets with data on the data links")
    parser.add_argument("--way", choices=("from", "to", "both"), default="from", help="where they are lost, from the server or to it (default: from)")
    parser.add_argument("--congestion", help="how TCP avoids congestion, such as cubic or bbr (default: the machine's)")
    parser.add_argument("sets", nargs="*", default=SETS, metavar="MBIT,MBIT", help="rates of the data links; - for none")
    options = parser.parse_args()
    builds = options.build = [os.path.abspath(one) for one in options.build or [os.path.join(SOURCE, "build")]]
    print(f"{'data links':24} {'':4} {'sum':>8} {'from device':>12} {'to device':>12}   Mbit/s, control {options.control}")
    for text in options.sets:
        rates = [] if text == "-" else [int(word) for word in text.split(",")]
        whole = sum(rates or [options.control])
        seen = {(build, transport): [] for build in builds for transport in options.transport or ["tcp"]}
        with namespaces([options.control, *rates], line_of(options), options.congestion) as sides:
            for _ in range(options.rounds):
                for (build, transport), speeds in seen.items():
                    speeds.append(measure(build, transport, sides, rates, options.control, options.seconds))
        for (build, transport), speeds in seen.items():
            medians = [statistics.median(one[way] for one in speeds) for way in ("from", "to")]
            print(f"{text:24} {transport:4} {whole:8} " + " ".join(f"{one:7.0f} {100 * one / whole:3.0f}%" for one in medians) +
                  f"  {sum(one['changes'] for one in speeds)}  {build}",
                  flush=True)


if __name__ == "__main__":
    main()
