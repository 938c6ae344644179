#!/usr/bin/env python3
"""Compares `aitherion net test` with iperf3 (if it is installed): two network namespaces with pairs of virtual links between them, each
with a rate (tbf), as bench/fabric.py makes them, the server in one and the client in the other. It needs root, ip and tc. Prints for each
path what both say, in Mbit/s; iperf3 has as many connections as the path has.

    bench/net_test.py [--build DIR] [--time SECONDS] [--control MBIT] [--transport tcp|udp] [--encrypt on|off] [MBIT,MBIT,...]...
    bench/net_test.py --rounds N [--build DIR]... [--transport tcp|udp]... [--time SECONDS] [--control MBIT] [--encrypt on|off] [MBIT,MBIT,...]...

The second form measures all builds with all transports in turn, N times, and prints medians: what the paths carry alone, in sum, and what
they carry together. Before and after a change stand beside each other that way, however busy the machine is.
"""
import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from fabric import SETS, SOURCE, namespaces


@contextlib.contextmanager
def serving(build, folder, namespace, count, options):
    """A server in a namespace, with a data address on each link but the first. Its key is in the folder."""
    key = os.path.join(folder, "key")
    with open(key, "wb") as file:
        file.write(os.urandom(32))
    os.chmod(key, 0o600)
    words = ["serve", "--sim", "--listen", "10.77.0.1:50051", "--encrypt", options.encrypt, "--key", key, "--udp", "on",
             *(f"--data-listen=10.77.{1 + i}.1:5555" for i in range(count))]
    with open(os.path.join(folder, "log"), "wb") as log, \
            subprocess.Popen(["ip", "netns", "exec", namespace, os.path.join(build, "aitherion-runtime"), *words], stdout=subprocess.PIPE,
                             stderr=log, text=True) as server:
        try:
            server.stdout.readline()
            yield key
        finally:
            server.terminate()


def test(build, namespace, key, transport, options):
    command = ["ip", "netns", "exec", namespace, os.path.join(build, "aitherion"), "net", "test", "--server", "10.77.0.1:50051", "--key", key,
               "--encrypt", options.encrypt, "--transport", transport, "--time", str(options.time), "-q", "--json"]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def iperf(namespaces_of, host, connections, seconds, is_reverse):
    """Mbit/s that arrive, by iperf3."""
    server_side, client_side = (["ip", "netns", "exec", name, "iperf3"] for name in namespaces_of)
    with subprocess.Popen([*server_side, "-s", "-1", "-B", host], stdout=subprocess.DEVNULL) as server:
        try:
            for _ in range(50):  # until it listens
                result = subprocess.run([*client_side, "-c", host, "-J", "-t", str(seconds), "-P", str(connections), *(["-R"] if is_reverse else [])],
                                        stdout=subprocess.PIPE, check=False)
                told = json.loads(result.stdout)
                if "error" not in told:
                    return told["end"]["sum_received"]["bits_per_second"] / 1e6
                time.sleep(0.1)
            raise AssertionError(told["error"])
        finally:
            server.terminate()


def show(name, rate, path, both):
    trips = path.get("round_trip")
    figures = [f"{path[way]['bytes_per_s'] * 8 / 1e6:8.1f} {both.get(way, float('nan')):8.1f}" for way in ("to_server", "from_server")]
    again = "/".join(str(path[way]["sent_again"]) for way in ("to_server", "from_server"))
    print(f"{name:28} {rate:6} " + " ".join(figures) + f"  {again:10} " + (f"{trips['median_ns'] / 1e6:.3f} ms" if trips else ""), flush=True)


def compare(text, rates, options):
    """Prints a row for each build and transport."""
    seen = {}
    with namespaces(rates) as names:
        for _ in range(options.rounds):
            for build in options.build:
                for transport in options.transport:
                    with tempfile.TemporaryDirectory() as folder, serving(build, folder, names[0], len(rates) - 1, options) as key:
                        value = test(build, names[1], key, transport, options)
                    for way in ("to_server", "from_server"):
                        alone = sum(path[way]["bytes_per_s"] for path in value["paths"] if path["role"] == "data") * 8 / 1e6
                        together = value["together"][way]["bytes_per_s"] * 8 / 1e6
                        seen.setdefault((build, transport), {}).setdefault(way, []).append((alone, together, 100 * together / alone))
    for (build, transport), ways in seen.items():
        figures = [statistics.median(one[i] for one in ways[way]) for way in ("to_server", "from_server") for i in range(3)]
        print(f"{text:24} {transport:4} " + "   ".join("{:7.1f} {:8.1f} {:4.0f}%".format(*figures[i:i + 3]) for i in (0, 3)) + f"  {build}",
              flush=True)


def show_paths(rates, options, has_iperf):
    with namespaces(rates) as names, tempfile.TemporaryDirectory() as folder, \
            serving(options.build[0], folder, names[0], len(rates) - 1, options) as key:
        value = test(options.build[0], names[1], key, options.transport[0], options)
        for rate, path in zip(rates, value["paths"]):
            host = path["to"].rsplit(":", 1)[0]
            both = {way: iperf(names, host, path["connections"], options.time, way == "from_server")
                    for way in ("to_server", "from_server")} if has_iperf else {}
            show(f"{path['role']} {path['to']} ({path['connections']})", rate, path, both)
        show(f"all ({value['together']['connections']})", sum(rates[1:]), value["together"], {})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", action="append", help="several with --rounds")
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--time", type=float, default=3)
    parser.add_argument("--control", type=int, default=10, help="Mbit/s of the link of the calls")
    parser.add_argument("--transport", action="append", choices=("tcp", "udp"), help="several with --rounds")
    parser.add_argument("--encrypt", choices=("on", "off"), default="off")
    parser.add_argument("sets", nargs="*", default=SETS, metavar="MBIT,MBIT", help="rates of the data links")
    options = parser.parse_args()
    options.build = [os.path.abspath(one) for one in options.build or [os.path.join(SOURCE, "build")]]
    options.transport = options.transport or ["tcp"]
    if not options.rounds and len(options.build) + len(options.transport) > 2:
        parser.error("several builds or transports need --rounds")
    has_iperf = shutil.which("iperf3")
    if options.rounds:
        print(f"{'data links':24} {'':4} {'alone':>7} {'together':>8} {'':5} to   {'alone':>4} {'together':>8} from  (Mbit/s)")
    else:
        if not has_iperf:
            print("iperf3 is not installed: its columns are empty", file=sys.stderr)
        print(f"{'path':28} {'link':>6} {'to':>8} {'iperf3':>8} {'from':>8} {'iperf3':>8}  {'sent again':10} round trip    (Mbit/s)")
    for text in options.sets:
        rates = [options.control, *(int(word) for word in text.split(","))]
        if options.rounds:
            compare(text, rates, options)
        else:
            show_paths(rates, options, has_iperf)


if __name__ == "__main__":
    main()
