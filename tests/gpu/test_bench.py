#!/usr/bin/env python3
"""bench/run on the simulated driver: that it runs through and has its numbers, not how fast anything is; and what is made of them."""
import concurrent.futures
import contextlib
import copy
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
import xml.etree.ElementTree

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(SOURCE, "tests", "tools"), os.path.join(SOURCE, "tests", "gpu")]
sys.path.append(os.path.join(SOURCE, "bench"))

import bed as beds  # noqa: E402
import catalogue  # noqa: E402
import goals  # noqa: E402
import harness  # noqa: E402
import page  # noqa: E402
import plot  # noqa: E402
import relay  # noqa: E402
import share_figure  # noqa: E402
import share_parts  # noqa: E402
import table  # noqa: E402

BUILD = harness.build()
RUN = os.path.join(SOURCE, "bench", "run")


def bench(*arguments, command=RUN):
    """The command's result, and bench.json or None."""
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run([sys.executable, "-B", command, "--build", BUILD, "--out", folder, *arguments], text=True,
                                timeout=10 * harness.PATIENCE_S, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, env=harness.environment())
        path = os.path.join(folder, "bench.json")
        found = None
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                found = json.load(file)
        return result, found


@unittest.skipUnless(harness.copies_alone(), "programs that an emulator runs find no library by LD_LIBRARY_PATH")
class Command(unittest.TestCase):
    def test_all_of_it_on_the_simulated_driver(self):
        result, found = bench("--sim", "--quick")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(found["failed"], [])
        for group in catalogue.GROUPS:
            rows = [row for row in found["rows"] if row["group"] == group.name]
            if group.lacks():
                self.assertIn(f"{group.name}: {group.lacks()}", found["left_out"])
                continue
            self.assertTrue(rows, group.name)
            for row in rows:
                self.assertEqual(list(row["values"]), [way.name for way in group.ways], row["name"])
                self.assertTrue(all(value > 0 for values in row["values"].values() for value in values), row)
        for work, _, _, needs in catalogue.COUNTED:
            if not catalogue.lacks(needs):
                whole = found["counts"][work][-1]
                self.assertEqual(whole["function"], "altogether")
                self.assertGreater(whole["calls"], 100)
                self.assertGreaterEqual(whole["answers"], 1)
        self.assertEqual(found["machine"]["gpu"], "aitherion simulated GPU")

    def test_as_many_programs_as_fit(self):
        """On a device of 1 MiB, of which each takes so much."""
        bed = beds.Bed(BUILD, tempfile.mkdtemp(dir=harness.scratch()), True)
        for taken, wanted in [(4096, 4), (600 << 10, 1)]:
            env = bed.environment(beds.NATIVE, AITHERION_SIM_MEMORY="1M", BENCH_CLIENT_BYTES=taken, BENCH_CLIENTS=4, BENCH_QUICK="yes")
            said = subprocess.run([os.path.join(BUILD, "bench", "clients")], env=env, input="go\n", text=True, stdout=subprocess.PIPE,
                                  timeout=harness.PATIENCE_S, check=True).stdout
            self.assertIn(f'["programs that have room, of 4", {wanted}, "programs"]', said)
            self.assertEqual("4 clients: calls of all" in said, wanted == 4)

    def test_calls_are_counted_by_themselves(self):
        result, found = bench("--sim", "counts")
        self.assertEqual((result.returncode, found["rows"]), (0, []), result.stdout + result.stderr)
        rows = found["counts"]["token of 285 launches"]
        self.assertEqual(rows[-1]["calls"], 286, rows)

    def test_a_budget_is_kept_and_left_out_groups_are_named(self):
        for budget in ("4", "100"):  # on a slow machine the first is not enough for one round
            result, found = bench("--sim", "--rounds", "100000", "--budget", budget, "calls", "steps", "clients")
            if not result.returncode:
                break
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertTrue(any(re.match(r"\w+: \d+ of 100000 rounds", word) for word in found["left_out"]), found["left_out"])

    def test_each_optimisation_switched_off(self):
        result, found = bench("--sim", "--quick", "--switches", "spinning,batching,all", "calls")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(list(found["rows"][0]["values"]), ["shm", "shm without spinning", "shm without all",
                                                            "tcp", "tcp without spinning", "tcp without batching", "tcp without all"])
        self.assertIn("By tcp, without one optimisation", result.stdout)

    def test_an_unknown_group_is_an_error(self):
        result, _ = bench("--sim", "call")
        self.assertEqual(result.returncode, 2)
        self.assertIn("no group 'call'", result.stderr)
        result, _ = bench("--sim", "--switches", "spining")
        self.assertEqual(result.returncode, 1)
        self.assertIn("no optimisation 'spining'", result.stderr)

    @unittest.skipIf(os.path.exists("/proc/driver/nvidia/gpus"), "there is a GPU here")
    def test_without_a_gpu_it_is_a_skip(self):
        self.assertEqual(bench()[0].returncode, 77)

    def test_a_failing_program_is_reported(self):
        result, found = self.made_up('test -n "$AITHERION_SERVER" && echo no luck && exit 3')
        self.assertEqual(result.returncode, 1)
        self.assertRegex(found["failed"][0], r"^steps \(shm\): exit code 3\nno luck")
        self.assertEqual(found["rows"], [{"group": "steps", "name": "a", "unit": "us", "values": {"native": [1]}}])

    def test_a_program_that_hangs_takes_no_more_than_the_budget(self):
        result, found = self.made_up('test -n "$AITHERION_SERVER" && exec sleep 1000', "--budget", "4")
        self.assertEqual((result.returncode, found["failed"], found["rows"]), (1, [], []))  # nothing was measured
        self.assertIn("steps (shm), steps (tcp), steps (native): no time left (--budget)", found["left_out"])

    def made_up(self, command, *arguments):
        """With a program for 'steps' that begins with a command, else measures 1."""
        with tempfile.TemporaryDirectory() as folder:
            for name in ["aitherion", "aitherion-runtime", "lib"]:
                os.symlink(os.path.join(BUILD, name), os.path.join(folder, name))
            os.mkdir(os.path.join(folder, "bench"))
            path = os.path.join(folder, "bench", "steps")
            with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o755), "w", encoding="ascii") as file:
                file.write(f'#!/bin/sh\n{command}\necho ready\nread line\necho \'["a", 1, "us"]\'\necho done\nread line\n')
            return bench("--sim", "--quick", *arguments, "--build", folder, "steps")


@unittest.skipUnless(harness.copies_alone(), "programs that an emulator runs find no library by LD_LIBRARY_PATH")
class SharesCommand(unittest.TestCase):
    def test_all_parts_on_the_simulated_driver(self):
        with tempfile.TemporaryDirectory() as folder:
            result = subprocess.run([sys.executable, "-B", os.path.join(SOURCE, "bench", "shares"), "--build", BUILD, "--out", folder, "--sim",
                                     "--seconds", "0.1", "--rounds", "1"], text=True, timeout=10 * harness.PATIENCE_S, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, check=False, env=harness.environment())
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            with open(os.path.join(folder, "shares.json"), encoding="utf-8") as file:
                found = json.load(file)
            xml.etree.ElementTree.parse(os.path.join(folder, "shares.svg"))
        self.assertEqual(found["failed"], [])
        self.assertEqual(list(dict.fromkeys(row["part"] for row in found["rows"])), list(share_parts.PARTS))
        self.assertEqual([word for word in found["left_out"] if "torch" not in word], [])

    def test_shares_are_relative_to_each_program_alone(self):
        """The middle one of three rounds counts; 10:90 with programs that lose a tenth of what they share."""
        held = [[0.1, 0.9], [0.9, 0.1], [0.12, 0.88]]
        error, by_books, total = share_parts.share_rows("shares", "a", (10, 90), ([[0.9, 0.1], [0.117, 0.783], [0.09, 0.81]], held))
        self.assertAlmostEqual(error.value, 3)
        self.assertAlmostEqual(by_books.value, 2)
        self.assertAlmostEqual(total.value, 90)
        self.assertEqual([row.is_met() for row in (error, total)], [False, False])
        self.assertEqual(error.details["wanted"], [10, 90])
        words = share_figure.shares([error.saved(), total.saved()])
        self.assertIn(">a<", words)
        xml.etree.ElementTree.fromstring(words)

    def test_a_round_without_work_is_an_error_with_words(self):
        """A machine may be so busy that nothing ends in a short round. One program alone may have nothing, all together may not."""
        error, *_ = share_parts.share_rows("shares", "a", (50, 50), ([[1, 0], [1, 0], [1, 0]], [[1, 0]] * 3))
        self.assertAlmostEqual(error.value, 50)
        with self.assertRaisesRegex(RuntimeError, "a: all programs together did no work in a whole round: measure for longer"):
            share_parts.share_rows("shares", "a", (50, 50), ([[1, 1], [0, 0], [1, 1]], [[0.5, 0.5]] * 3))
        idle = unittest.mock.Mock(kind="graphs", **{"result.return_value": {"work_us": 0, "seconds": 0.1}})
        with self.assertRaisesRegex(RuntimeError, "graphs alone did no work"):
            share_parts.alone(idle, 0.1)

    def test_an_unknown_part_is_an_error(self):
        result = subprocess.run([sys.executable, "-B", os.path.join(SOURCE, "bench", "shares"), "cheats"], text=True, stderr=subprocess.PIPE,
                                check=False, env=harness.environment())
        self.assertEqual(result.returncode, 2)
        self.assertIn("no part 'cheats'", result.stderr)


@unittest.skipUnless(harness.copies_alone(), "the line is no program of this machine's")
class SlowLine(unittest.TestCase):
    DELAY_S = 0.05

    def connected(self, host="127.0.0.1", **options):
        """The two ends of a connection over a line."""
        listener = self.entered(socket.create_server((host, 0), **options))
        address = f"[{host}]" if ":" in host else host
        self.line = self.entered(relay.Relay(BUILD, f"{address}:{listener.getsockname()[1]}", self.DELAY_S))
        self.begin = time.monotonic()
        name, port = self.line.address.rsplit(":", 1)
        client = self.entered(socket.create_connection((name, int(port)), harness.PATIENCE_S))
        listener.settimeout(harness.PATIENCE_S)
        server = self.entered(listener.accept()[0])
        server.settimeout(harness.PATIENCE_S)
        return client, server

    def entered(self, context):
        self.addCleanup(context.__exit__, None, None, None)
        return context.__enter__()

    def passed(self):
        """How often the delay has passed since the client began to connect."""
        return (time.monotonic() - self.begin) / self.DELAY_S

    def test_it_takes_no_less_than_the_delay(self):
        client, server = self.connected()
        self.assertGreaterEqual(self.passed(), 1)
        client.sendall(b"question")
        self.assertEqual(server.recv(8, socket.MSG_WAITALL), b"question")
        self.assertGreaterEqual(self.passed(), 3)  # a handshake takes two
        for _ in range(20):
            before = self.passed()
            server.sendall(b"answer")
            self.assertEqual(client.recv(6, socket.MSG_WAITALL), b"answer")
            self.assertGreaterEqual(self.passed(), before + 1)

    def test_both_ways_at_once_are_whole_and_in_order(self):
        ends = self.connected()
        sent = [os.urandom(10 << 20) for _ in ends]

        def send(end, data):
            for size in [*range(1, 2000, 7), len(data)]:  # small ones, then the rest
                end.sendall(data[:size])
                data = data[size:]
            end.shutdown(socket.SHUT_WR)

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            sending = [pool.submit(send, *pair) for pair in zip(ends, sent)]
            received = list(pool.map(lambda end: end.makefile("rb").read(), ends))
        self.assertTrue(received == sent[::-1])
        self.assertEqual([one.result() for one in sending], [None, None])

    def test_one_way_goes_on_after_the_end_of_the_other(self):
        client, server = self.connected()
        client.shutdown(socket.SHUT_WR)
        self.assertEqual(server.recv(1), b"")
        server.sendall(b"answer")
        self.assertEqual(client.recv(6, socket.MSG_WAITALL), b"answer")
        server.close()
        self.assertEqual(client.recv(1), b"")

    @unittest.skipUnless(os.path.exists("/proc/net/if_inet6"), "no IPv6 here")
    def test_a_server_on_ipv6(self):
        client, server = self.connected("::1", family=socket.AF_INET6)
        client.sendall(b"question")
        self.assertEqual(server.recv(8, socket.MSG_WAITALL), b"question")

    def test_it_ends_with_its_input(self):
        client, _ = self.connected()
        self.line.close()
        self.assertEqual(self.line.process.returncode, 0)
        with contextlib.suppress(ConnectionResetError):
            self.assertEqual(client.recv(1), b"")


# Sends datagrams of two sizes from one namespace to an echo in the other one, and prints the shortest round trip and how many came back. All
# of a size fit into a socket, so that only the line loses them.
ECHO = """import socket
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.bind(("10.79.0.2", 7000))
print("ready", flush=True)
while True:
    one.sendto(*one.recvfrom(2048))
"""
ASK = """import json, socket, time
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.settimeout(2)
trips, back = [], {}
for size in (20, 300):
    begin = []
    for i in range(100):
        begin.append(time.monotonic())
        one.sendto(bytes([i]) * size, ("10.79.0.2", 7000))
    back[size] = 0
    try:
        while back[size] < 100:
            number = one.recv(2048)[0]
            trips.append(time.monotonic() - begin[number])
            back[size] += 1
    except TimeoutError:
        pass
print(json.dumps([min(trips), back[20], back[300]]))
"""


@unittest.skipUnless(not os.geteuid() and shutil.which("ip") and os.path.exists("/dev/net/tun"), "a line of packets needs root, ip and tun")
@unittest.skipUnless(harness.copies_alone(), "the line is no program of this machine's")
class PacketLine(unittest.TestCase):
    DELAY_S = 0.05

    def setUp(self):
        self.spaces = [f"ath-line-{os.getpid()}-{i}" for i in range(2)]
        for name in self.spaces:
            subprocess.run(["ip", "netns", "add", name], check=True)
            self.addCleanup(subprocess.run, ["ip", "netns", "delete", name], check=True)

    def begin(self, *command):
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.__exit__, None, None, None)
        self.addCleanup(process.terminate)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def asked(self, *options):
        line = self.begin(os.path.join(BUILD, "bench", "line"), f"--delay-us={self.DELAY_S * 1e6:.0f}", *options, *self.spaces, "l0")
        for i, name in enumerate(self.spaces):
            subprocess.run(["ip", "-n", name, "address", "add", f"10.79.0.{1 + i}/24", "dev", "l0"], check=True)
            subprocess.run(["ip", "-n", name, "link", "set", "l0", "up"], check=True)
        inside = [["ip", "netns", "exec", name, sys.executable, "-c"] for name in self.spaces]
        self.begin(*inside[1], ECHO)
        answer = subprocess.run([*inside[0], ASK], stdout=subprocess.PIPE, text=True, check=True, timeout=harness.PATIENCE_S).stdout
        line.stdin.close()
        self.assertEqual(line.wait(harness.PATIENCE_S), 0)
        return json.loads(answer)

    def test_packets_come_later(self):
        trip_s, small, large = self.asked()
        self.assertGreaterEqual(trip_s, 2 * self.DELAY_S)
        self.assertEqual((small, large), (100, 100))

    def test_packets_with_data_are_lost_there(self):
        _, small, large = self.asked("--loss-there=30")
        self.assertEqual(small, 100)
        self.assertTrue(50 <= large <= 90, large)

    def test_packets_with_data_are_lost_on_the_way_back(self):
        _, small, large = self.asked("--loss-back=100")
        self.assertEqual((small, large), (100, 0))

    def test_a_namespace_that_is_not_there(self):
        result = subprocess.run([os.path.join(BUILD, "bench", "line"), self.spaces[0], "ath-nowhere", "l0"], stderr=subprocess.PIPE, text=True,
                                check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("line: cannot enter /run/netns/ath-nowhere: No such file or directory", result.stderr)


ROWS = [{"group": "calls", "name": "launch, issued", "unit": "us",
         "values": {"native": [2.0, 1.0, 3.0], "shm": [0.9, 1.0, 0.8], "tcp": [4.0] * 5}},
        {"group": "copies", "name": "1 GiB pinned to device", "unit": "GB/s",
         "values": {"native": [50.0], "shm": [46.0], "tcp": [5.0]}},
        {"group": "copies", "name": "4 KiB pinned to device", "unit": "GB/s",
         "values": {"native": [1.0], "shm": [0.5], "tcp": [0.25]}}]
RESULT = {"is_simulated": False, "is_quick": False, "rounds": 3, "machine": {"gpu": "a <GPU>"}, "rows": ROWS, "left_out": [], "failed": [],
          "counts": {"ResNet-50 training step": [
              {"function": "cuCtxSynchronize", "calls": 6, "answers": 6, "bytes_out": 1, "bytes_in": 1},
              {"function": "cuLaunchKernel", "calls": 1300, "answers": 0, "bytes_out": 9, "bytes_in": 0},
              {"function": "altogether", "calls": 1306, "answers": 6, "bytes_out": 10, "bytes_in": 1}]}}


class Results(unittest.TestCase):
    """Tables of made-up numbers."""

    def test_medians_ratios_and_spread(self):
        self.assertEqual([table.cell(ROWS[0], way) for way in ["native", "shm", "tcp", "udp"]],
                         ["2.00 (25 %)", "0.900 (0.45x, 6 %)", "4.00 (2.00x, 0 %)", "-"])

    def test_two_servers_are_compared_with_one(self):
        row = {"group": "several", "name": "a", "unit": "us", "values": {"tcp": [2.0], "tcp, two servers": [3.0], "shm": [1.0]}}
        self.assertEqual([table.cell(row, way) for way in row["values"]], ["2.00", "3.00 (1.50x)", "1.00"])

    def test_goals(self):
        judged = {(row["name"], way): is_met for _, row, way, _, is_met in goals.judged(RESULT)}
        self.assertEqual(judged, {("launch, issued", "shm"): True, ("launch, issued", "tcp"): False,
                                  ("1 GiB pinned to device", "shm"): True, ("1 GiB pinned to device", "tcp"): False})
        self.assertEqual(list(goals.judged_counts(RESULT)), [("ResNet-50 training step", 6, 4, False)])
        text = table.text(table.of_goals(RESULT))
        self.assertEqual((text.count("met"), text.count("MISSED")), (2, 3))

    def test_slower_is_the_same_of_times_and_of_speeds(self):
        self.assertEqual(goals.times_as_slow(ROWS[0], "tcp"), 2)
        self.assertEqual(goals.times_as_slow(ROWS[2], "tcp"), 4)
        self.assertIsNone(goals.times_as_slow(ROWS[0], "udp"))

    def test_functions_that_never_wait_stand_together(self):
        rows = RESULT["counts"]["ResNet-50 training step"]
        self.assertEqual([line[0] for line in table.of_counts(rows)[1:]], ["cuCtxSynchronize", "those without a wait", "altogether"])
        self.assertEqual(table.silent_names(rows), "Without a wait: cuLaunchKernel 1,300.")

    def test_figures_are_well_formed_and_show_each_row(self):
        figures = plot.figures(RESULT, ["calls"])
        self.assertEqual(list(figures), ["ratios", "copies"])
        root = xml.etree.ElementTree.fromstring(figures["ratios"])
        words = [one.text for one in root.iter("{http://www.w3.org/2000/svg}text")]
        self.assertIn("launch, issued", words)
        self.assertIn("0.45x", words)
        for svg in figures.values():
            xml.etree.ElementTree.fromstring(svg)

    def test_a_page_of_all_parts(self):
        switched = copy.deepcopy(RESULT)
        switched["switches"] = {"spinning": "looks before it sleeps"}
        for row in switched["rows"]:
            row["values"]["shm without spinning"] = [value * 2 for value in row["values"]["shm"]]
        text = page.make({"gpu": RESULT, "switches": switched})["performance.md"]
        for wanted in ["## On a GPU", "### Goals", "MISSED", "a <GPU>", "### Calls that travel", "| launch, issued | us | 0.900 | 2.00x |",
                       "| 1 GiB pinned to device | GB/s | 46.0 | 0.50x |"]:
            self.assertIn(wanted, text)

    def test_a_page_of_counted_calls_alone(self):
        text = page.make({"sim": {**RESULT, "is_simulated": True, "rows": []}})["performance.md"]
        self.assertIn("### Calls that travel: ResNet-50 training step", text)
        self.assertNotIn("rounds in turn", text)

    def test_results_that_were_measured_group_by_group(self):
        other = {**copy.deepcopy(RESULT), "machine": {"gpu": "another"}, "rows": copy.deepcopy(ROWS[1:2]), "left_out": ["copies: 4 of 5 rounds"]}
        left_out = ["calls: 1 of 5 rounds", "copies (tcp): no time left", "copies: 0 of 5 rounds"]
        whole = page.joined({**RESULT, "left_out": left_out}, other)
        self.assertEqual([row["name"] for row in whole["rows"]], ["launch, issued", "1 GiB pinned to device"])
        self.assertEqual((whole["machine"], whole["left_out"]), ({"gpu": "a <GPU>; another"}, [left_out[0], "copies: 4 of 5 rounds"]))

    def test_the_page_is_that_of_its_numbers(self):
        for path, text in page.files_of(page.known()).items():
            self.assertEqual(page.read(path), text, f"{path} is old: bench/run --page")
        figures = {name for name in os.listdir(page.DOCS) if name.startswith(page.NAME + "-")}
        self.assertEqual(figures, {name for name in page.make(page.known()) if name.endswith(".svg")})


if __name__ == "__main__":
    harness.main()
