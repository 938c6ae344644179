#!/usr/bin/env python3
"""The live screen of `aitherion top`, and what it prints: at runtimes with simulated GPUs and real programs."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import tui
import cli
import harness
import nodes

sys.path.insert(0, os.path.join(harness.SOURCE, "tests", "runtime"))

import cuda  # noqa: E402
import runtime  # noqa: E402
from test_udp import UDP, Relay, bad_path  # noqa: E402

MIB = 1 << 20
WHEEL_UP, WHEEL_DOWN = 64, 65
NO_KEY = {"AITHERION_KEY_FILE": ""}


class Base(unittest.TestCase):
    maxDiff = None

    def server(self, devices=1):
        env = harness.environment(AITHERION_SIM_DEVICES=str(devices), AITHERION_SIM_MEMORY="4G")
        server = runtime.Server("--sim", key=None, env=env)
        self.addCleanup(server.__exit__)
        return server

    def program(self, server, mebibytes=None, device=0):
        """A program that has taken memory and waits."""
        program = cuda.Program(server.address, key=None, env={"CUDA_VISIBLE_DEVICES": str(device)})
        self.addCleanup(program.__exit__)
        self.assertEqual(program.first, "CUDA_SUCCESS")
        if mebibytes:
            self.assertEqual(program.do(f"take plain {mebibytes * MIB}"), "CUDA_SUCCESS")
        return program

    def top(self, *servers, size=(80, 24), env=None, words=()):
        screen = tui.Menus("top", "--server", ",".join(one.address for one in servers), *words, root=None, size=size,
                           env={**NO_KEY, **(env or {})})
        self.addCleanup(screen.close)
        return screen

    def printed(self, *servers, words=()):
        return harness.run("top", "--once", "--server", ",".join(one.address for one in servers), *words,
                           env=harness.environment(**NO_KEY))


def sessions_of(screen):
    """Returns the cells of the rows of sessions."""
    lines = screen.split("\n")
    head = next(i for i, line in enumerate(lines) if re.match(r"  (▼|▲)?(Session|\W+) ?Program| +.?Session ", line))
    return [line[1:].split() for line in lines[head + 1:-2] if re.match(r"[▌| ] *\d+ ", line)]


def head_row(screen):
    return next(i for i, line in enumerate(screen.split("\n")) if "Session" in line and "Program" in line)


@tui.needs_tmux
class Live(Base):
    def test_sessions_come_and_go(self):
        server = self.server(devices=2)
        screen = self.top(server)
        screen.wait("no program uses a runtime now")
        self.assertIn("2 GPUs, 0 sessions", screen.screen())
        program = self.program(server, 64, device=1)
        seen = screen.wait("64.0M")
        self.assertIn("2 GPUs, 1 session ", seen)
        self.assertRegex(seen, r"cuda_steps +\S+ +1 +64\.0M")
        self.assertRegex(seen, r"\n 1 aitherion .*64\.0M/4\.0G")
        self.assertRegex(seen, r"\n 0 aitherion .* 0/4\.0G")
        program.kill()
        screen.wait("no program uses a runtime now")

    def test_rates(self):
        server = self.server()
        program = self.program(server, 1)
        screen = self.top(server)
        screen.wait(wanted=lambda text: sessions_of(text) and sessions_of(text)[0][-3] == "0")
        screen.wait(wanted=lambda text: program.do("train 3") and re.match(r"[1-9]", sessions_of(text)[0][-3]))
        screen.wait(wanted=lambda text: sessions_of(text)[0][-3:-1] == ["0", "0"])

    def test_many_sessions(self):
        server = self.server(devices=4)
        programs = [cuda.Program(server.address, key=None, env={"CUDA_VISIBLE_DEVICES": str(i % 4)}, wait=False) for i in range(64)]
        for program in programs:
            self.addCleanup(program.__exit__)
        for i, program in enumerate(programs):
            self.assertEqual(program.read(), "CUDA_SUCCESS")
            self.assertEqual(program.do(f"take plain {(i + 1) * MIB}"), "CUDA_SUCCESS")
        screen = self.top(server, words=("--sort", "memory"))
        seen = screen.wait(wanted=lambda text: "64 sessions" in text and "64.0M" in text)
        rows = sessions_of(seen)
        self.assertIn(f"1-{len(rows)} of 64", seen)
        self.assertGreaterEqual(len(rows), 10)
        self.assertIn("64.0M", rows[0])
        self.assertIn("63.0M", rows[1])
        seen = screen.keys("End")
        self.assertIn(f"{64 - len(rows) + 1}-64 of 64", seen)
        self.assertIn("1.0M", screen.selected()[-1])
        self.assertIn("1.0M", sessions_of(screen.keys("i"))[0], "the selection moves with its session")
        self.assertIn("1.0M", screen.selected()[-1])
        large = screen.resize(200, 60, lambda text: len(sessions_of(text)) > 30)
        self.assertEqual(len(large.split("\n")), 61)
        for word in ("Process", "Wait", "Via", "Health", "History", "busy 0%"):
            self.assertIn(word, large)
        self.assertIn("1.0M", screen.selected()[-1])

    def test_sorting_by_keys_and_mouse(self):
        server = self.server()
        for mebibytes in (8, 32, 16):
            self.program(server, mebibytes)
        screen = self.top(server, words=("--sort", "session"))

        def memories(text):
            return [cell for row in sessions_of(text) for cell in row if re.match(r"[0-9.]+M$", cell)]
        seen = screen.wait(wanted=lambda text: memories(text) == ["8.0M", "32.0M", "16.0M"])
        row = head_row(seen)
        column = seen.split("\n")[row].index("Memory")
        self.assertEqual(memories(screen.mouse(row, column)), ["32.0M", "16.0M", "8.0M"])
        self.assertIn("▼Memory", screen.screen())
        self.assertEqual(memories(screen.mouse(row, column)), ["8.0M", "16.0M", "32.0M"])
        self.assertIn("▲Memory", screen.screen())
        self.assertIn("▼GPU", screen.keys("Left"))
        self.assertEqual(memories(screen.keys("Right")), ["32.0M", "16.0M", "8.0M"])
        self.assertEqual(memories(screen.keys("s", "Home", "Enter")), ["8.0M", "32.0M", "16.0M"])
        self.assertEqual(memories(screen.keys("i")), ["16.0M", "32.0M", "8.0M"])

    def test_selecting_by_mouse_and_more(self):
        server = self.server()
        for mebibytes in (8, 32, 16):
            self.program(server, mebibytes)
        screen = self.top(server, words=("--sort", "memory"))
        row = head_row(screen.wait("16.0M"))
        self.assertIn("select a session first", screen.keys("e"))
        screen.mouse(row + 2, 20)
        self.assertIn("16.0M", screen.selected()[-1])
        screen.mouse(row + 2, 20, WHEEL_UP)
        self.assertIn("32.0M", screen.selected()[-1])
        screen.mouse(row + 2, 20, WHEEL_DOWN)
        self.assertIn("8.0M", screen.selected()[-1])
        more = screen.mouse(row + 3, 20)
        for word in ("┌ Session ", "Transport", "tcp", "GPU 0", "8.0M"):
            self.assertIn(word, more)
        self.assertNotIn("┌ Session ", screen.keys("q"))
        self.assertNotIn("8.0M", " ".join(screen.keys("Escape") and screen.selected()[-1:]))

    def test_filter_and_search(self):
        server = self.server(devices=2)
        self.program(server, 8, device=0)
        self.program(server, 32, device=1)
        screen = self.top(server, words=("--sort", "session"))
        first = sessions_of(screen.wait("32.0M"))[0][0]
        seen = screen.keys("f", "=" + first, "Enter")
        self.assertEqual(len(sessions_of(seen)), 1)
        self.assertIn(f"only '{first}'", seen)
        self.assertIn("no session has this text", screen.keys("f", "C-u", "=nothing", "Enter"))
        self.assertEqual(len(sessions_of(screen.keys("Escape"))), 2)
        screen.keys("/", "=32.0", "Enter")
        self.assertIn("32.0M", screen.selected()[-1])
        self.assertIn("nothing here contains", screen.keys("/", "C-u", "=nowhere", "Enter"))

    def test_ending_a_session(self):
        server = self.server()
        program = self.program(server, 64)
        screen = self.top(server)
        screen.wait("64.0M")
        question = " ".join(screen.keys("Down", "e").replace("│", " ").split())
        self.assertRegex(question, r"End session \d+\?")
        self.assertIn("cuda_steps of", question)
        self.assertIn("Its GPU memory (64.0 MiB) and all that is in it are lost", question)
        self.assertRegex(question, r"aitherion session end \d+ --server " + re.escape(server.address))
        self.assertIn("64.0M", screen.keys("Enter"), "no is the first answer")
        screen.keys("e", "2")
        self.assertRegex(screen.wait("is ended"), r"session \d+ is ended")
        screen.wait("no program uses a runtime now")
        self.assertEqual(program.do(f"take plain {MIB}"), "CUDA_ERROR_DEVICE_UNAVAILABLE")

    def test_a_dry_run_ends_nothing(self):
        server = self.server()
        program = self.program(server, 64)
        screen = self.top(server, words=("--dry-run",))
        screen.wait("64.0M")
        self.assertIn("is unchanged (--dry-run)", screen.keys("Down", "e", "2"))
        self.assertEqual(program.do(f"take plain {MIB}"), "CUDA_SUCCESS")

    def test_limiting_a_session(self):
        server = self.server()
        program = self.program(server, 8)
        screen = self.top(server)
        screen.wait("8.0M")
        dialog = " ".join(screen.keys("Down", "m", "=4X", "Enter").replace("│", " ").split())
        self.assertRegex(dialog, r"Limits of session \d+ ")
        self.assertIn("Memory of GPU 0: a size like 512M or 4G, or none.", dialog)
        for text in ("'4X' is no limit: give a size like 512M or 4G, or none;", "a share like 25% or 25%,cap; or high, normal or low"):
            self.assertIn(text, dialog)
        screen.keys("C-u", "=16M", "Enter")
        self.assertRegex(screen.wait("may use"), r"session \d+ may use 16.0 MiB of GPU 0")
        self.assertEqual(program.do(f"take plain {32 * MIB}"), "CUDA_ERROR_OUT_OF_MEMORY")
        screen.keys("m", "=none", "Enter")
        screen.wait("has no limit of its own")
        self.assertEqual(program.do(f"take plain {32 * MIB}"), "CUDA_SUCCESS")

    def test_a_share_of_the_gpus_time(self):
        server = self.server()
        self.program(server, 8)
        screen = self.top(server, size=(160, 40))
        self.assertNotIn("Queued", screen.wait("8.0M"))
        screen.keys("Down", "m", "=25%,cap", "Enter")
        screen.wait("has another share of the GPUs' time now")
        self.assertRegex(screen.wait("25% max"), r"Share +Held +Queued")
        screen.keys("m", "=high", "Enter")
        self.assertRegex(screen.wait("25% max high"), r"session \d+ has the priority 'high'")
        self.assertIn("25 % at most (set later), priority high", screen.keys("Enter"))
        self.assertIn("'101%' is no limit: give", " ".join(screen.keys("Escape", "m", "=101%", "Enter").replace("│", " ").split()))

    def test_a_narrow_screen_with_shares(self):
        server = runtime.Server("--sim")
        self.addCleanup(server.__exit__)
        program = cuda.Program(server.address, words=["--share", "25", "--cap", "--priority", "high"])
        self.addCleanup(program.__exit__)
        self.assertEqual(program.do(f"take plain {8 * MIB}"), "CUDA_SUCCESS")
        key = {"AITHERION_KEY_FILE": runtime.key_file(runtime.KEY)}
        screen = self.top(server, env=key)
        self.assertRegex(screen.wait("25% max high"), r"Session Program +Key +.*Share +Held +Queued")

    def test_damaged_datagrams(self):
        server = runtime.Server("--sim", "--udp", "0", "--encrypt", "off")
        self.addCleanup(server.__exit__)
        key = {"AITHERION_KEY_FILE": runtime.key_file(runtime.KEY)}
        with Relay(server, bad_path(0, 0.05)) as relay, cuda.Program(relay.address, words=UDP) as program:
            screen = self.top(server, size=(200, 60), env=key)

            def has_damaged(text):
                self.assertEqual(program.do(f"fetch 1 {5 * MIB}"), "CUDA_SUCCESS right")
                return re.search(r" Via +Resent +Damaged +Age", text) and re.match(r"[1-9]\d*$", sessions_of(text)[0][-2])
            seen = screen.wait(wanted=has_damaged)
            self.assertEqual(sessions_of(seen)[0][-4], "udp", seen)
            self.assertNotIn("Damaged", screen.resize(80, 24, lambda text: len(text.split("\n")) < 30))

    def test_no_datagrams(self):
        server = self.server()
        self.program(server, 8)
        screen = self.top(server, size=(200, 60))
        self.assertNotIn("Damaged", screen.wait("8.0M"))

    def test_a_priority_that_the_key_bounds(self):
        rows = os.path.join(harness.scratch(), "top-rows")
        with open(rows, "w", encoding="ascii") as file:
            file.write("default priority=normal\n")
        server = runtime.Server("--sim", "--identities", rows)
        self.addCleanup(server.__exit__)
        program = cuda.Program(server.address)
        self.addCleanup(program.__exit__)
        self.assertEqual(program.do(f"take plain {8 * MIB}"), "CUDA_SUCCESS")
        screen = self.top(server, size=(160, 40), env={"AITHERION_KEY_FILE": runtime.key_file(runtime.KEY)})
        screen.wait("8.0M")
        screen.keys("Down", "m", "=high", "Enter")
        self.assertRegex(screen.wait("has the priority"), r"session \d+ has the priority 'normal'")

    def test_parts_that_can_be_hidden(self):
        screen = self.top(self.server(), size=(100, 40))
        seen = screen.wait("no program")
        for key, word in (("1", "\n 0 aitherion"), ("3", "\n busy 0%, memory 0%  0 aitherion")):
            self.assertIn(word, seen)
            self.assertNotIn(word, screen.keys(key))
            seen = screen.keys(key)
            self.assertIn(word, seen)

    def test_gpus_that_do_not_fit(self):
        def shown(text):
            return [int(word) for word in re.findall(r"\n +(\d+) aitherion ", text)]

        screen = self.top(self.server(devices=8), size=(80, 16))
        self.assertNotIn("more GPUs", screen.wait(wanted=lambda text: shown(text) == list(range(8))))
        seen = screen.resize(80, 15, lambda text: "2 more GPUs: 1 hides, a taller window shows them" in text)
        self.assertEqual(shown(seen), list(range(6)))

    def test_pause(self):
        server = self.server()
        screen = self.top(server)
        screen.wait("no program")
        self.assertIn("PAUSED", screen.keys("Space"))
        self.program(server, 64)
        harness.wait_until(lambda: "64.0M" in self.printed(server).stdout)
        self.assertNotIn("64.0M", screen.wait())
        screen.keys("Space")
        screen.wait("64.0M")

    def test_interval(self):
        screen = self.top(self.server(), words=("-d", "2"))
        self.assertIn("every 2 s", screen.screen())
        self.assertIn("every 5 s", screen.keys("+"))
        self.assertIn("every 1 s", screen.keys("-", "-", "-"))

    def test_another_interval_begins_at_once(self):
        server = self.server()
        screen = self.top(server, words=("-d", "3600"))
        screen.wait("no program")
        self.program(server, 64)
        self.assertIn("every 30 s", screen.keys("-"))
        screen.wait("64.0M")

    def test_help(self):
        screen = self.top(self.server())
        seen = screen.keys("?")
        self.assertIn("all about the selected session", seen)
        self.assertIn("limit memory, share or priority of the selected session", seen)
        self.assertIn("Up, Down: scroll", seen)
        self.assertNotIn("redraw the screen", seen)
        self.assertIn("redraw the screen", screen.keys("NPage", "NPage"))
        self.assertNotIn("┌ Keys", screen.keys("q"))
        self.assertIn("exit code 0", screen.keys("q"))

    def test_a_server_that_dies_and_one_that_goes_on(self):
        first, second = self.server(), self.server()
        self.program(second, 16)
        screen = self.top(first, second, size=(120, 30))
        screen.wait(wanted=lambda text: "16.0M" in text and "2 of 2 runtimes" in text)
        second.process.kill()
        seen = screen.wait("1 of 2 runtimes")
        self.assertRegex(seen, re.escape(second.address) + ": lost for ")
        self.program(first, 64)
        screen.wait("64.0M")
        self.assertIn("exit code 0", screen.keys("q"))

    def test_a_server_that_hangs(self):
        first, second = self.server(), self.server()
        os.kill(second.process.pid, signal.SIGSTOP)
        self.addCleanup(os.kill, second.process.pid, signal.SIGCONT)
        self.program(first, 64)
        screen = self.top(first, second, size=(120, 30))
        seen = screen.wait("64.0M")
        self.assertIn(f"{second.address}: no answer yet", seen)
        self.assertIn("every 2 s", screen.keys("+"), "keys do not wait for the server")
        self.assertIn("exit code 0", screen.keys("q"))

    def test_a_server_that_comes_back(self):
        server = self.server()
        screen = self.top(server)
        screen.wait("no program")
        server.process.kill()
        server.process.wait()
        screen.wait("lost for ")
        again = runtime.Server("--sim", key=None, listen=server.address, env=harness.environment(AITHERION_SIM_MEMORY="4G"))
        self.addCleanup(again.__exit__)
        screen.wait(wanted=lambda text: "lost for" not in text and "0 aitherion" in text)

    def test_resizing(self):
        server = self.server()
        self.program(server, 64)
        screen = self.top(server)
        screen.wait("64.0M")
        screen.keys("Down")
        small = screen.resize(60, 15, lambda text: text.count("\n") == 15 and "64.0M" in text)
        self.assertTrue(all(len(line) <= 60 for line in small.split("\n")), small)
        self.assertIn("cuda_steps", screen.selected()[-1])
        least = screen.resize(50, 10, lambda text: text.count("\n") == 10 and "cuda_steps" in text)
        self.assertIn("Program", least)
        self.assertIn("at least 50 x 10", " ".join(screen.resize(49, 10, lambda text: "too small" in text).split()))
        screen.resize(200, 60, lambda text: text.count("\n") == 60 and "64.0M" in text)

    def test_without_colour_and_letters(self):
        server = self.server()
        self.program(server, 512)
        self.program(server, 1024)
        colored = self.top(server)
        colored.wait("1.0G")
        self.assertRegex(colored.colored(), "\033\\[[0-9;]*38;5;")
        plain = self.top(server, env={"NO_COLOR": "1"})
        plain.wait("1.0G")
        self.assertNotRegex(plain.colored(), "\033\\[[0-9;]*(3[0-7]|38;5;)[0-9;]*m")
        self.assertRegex(plain.screen(), r"█+▓+.?·+ +1\.5G/4\.0G", "the parts differ")
        for env in ({"LC_ALL": "C"}, {"LC_ALL": "C", "NO_COLOR": "1"}):
            ascii_top = self.top(server, env=env)
            seen = ascii_top.wait("1.0G")
            self.assertTrue(seen.isascii(), seen)
        self.assertRegex(seen, r"#+=+\.+ +1\.5G/4\.0G")

    def test_chinese(self):
        env, reason = cli.chinese_environment()
        if not env:
            self.skipTest(reason)
        server = self.server()
        self.program(server, 64)
        for size in ((80, 24), (200, 60)):
            screen = self.top(server, size=size, env=env)
            seen = screen.wait("64.0M")
            self.assertIn("cuda_steps", seen)
            self.assertRegex(screen.keys("Down", "Enter"), "tcp")
            screen.close()


@tui.needs_tmux
class Here(Base):
    """The runtimes of this machine, which start after the screen."""

    def test_runtimes_are_found_when_they_start(self):
        folder = tempfile.mkdtemp(prefix="ath-", dir="/tmp")  # the path of a socket has at most 107 characters
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        document = os.path.join(folder, "topology.yaml")
        nodes.write_document(document, 1)
        with open(document, encoding="utf-8") as file:
            text = file.read().replace("engine: {", f'engine: {{ kind: process, docker_host: "unix://{folder}/none",')
        env = {"AITHERION_RUN_FOLDER": folder + "/run"}
        screen = tui.Menus("top", root=None, document=text + f"key_file: {folder}/key\n", env=env)
        self.addCleanup(screen.close)
        screen.wait("no runtime runs here")
        whole = harness.environment(**env)
        self.addCleanup(harness.run, "clean", "--yes", "-c", screen.path, env=whole)
        started = harness.run("start", "-c", screen.path, env=whole)
        self.assertEqual(started.returncode, 0, started.stderr)
        screen.wait("no program uses a runtime now")
        self.assertIn("1 GPU, 0 sessions", screen.screen())


class Printed(Base):
    def test_a_table(self):
        server = self.server(devices=2)
        self.program(server, 64, device=1)
        self.program(server, 32)
        result = self.printed(server, words=("--sort", "memory"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"(?s)Busy.*aitherion simulated GPU.*cuda_steps.*64\.0M.*cuda_steps.*32\.0M")
        reversed_one = self.printed(server, words=("--sort", "memory", "--reverse")).stdout
        self.assertRegex(reversed_one, r"(?s)cuda_steps.*32\.0M.*cuda_steps.*64\.0M")

    def test_one_object(self):
        server = self.server(devices=2)
        program = self.program(server, 64, device=1)
        program.do("train 5")
        data, faults = harness.check_json(self.printed(server, words=("--json",)).stdout)
        self.assertEqual(faults, [])
        self.assertEqual([gpu["memory_used_bytes"] // MIB for gpu in data["gpus"]], [0, 64])
        self.assertEqual([gpu["runtime"] for gpu in data["gpus"]], [server.address] * 2)
        session, = data["sessions"]
        self.assertEqual((session["program"], session["memory_bytes"] // MIB, session["transport"]), ("cuda_steps", 64, "tcp"))
        self.assertGreater(session["calls"], 5)
        self.assertEqual(session["calls_s"], 0)
        self.assertGreater(data["host"]["memory_total_bytes"], 0)
        self.assertEqual(json.loads(self.printed(server, words=("--json", "--filter", "nothing")).stdout)["sessions"], [])

    def test_lines(self):
        server = self.server()
        words = [harness.binary(), "top", "--json", "--server", server.address]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=harness.environment(**NO_KEY)) as process:
            lines = [json.loads(process.stdout.readline()) for _ in range(2)]
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(harness.PATIENCE_S), 0)
        self.assertEqual([line["schema"] for line in lines], ["aitherion.top/1"] * 2)
        self.assertGreater(lines[1]["time_ms"], lines[0]["time_ms"])

    def test_a_server_that_is_not_there(self):
        server = self.server()
        gone = self.server()
        gone.process.kill()
        gone.process.wait()
        result = self.printed(gone)
        self.assertEqual(result.returncode, 1)
        self.assertIn(gone.address, result.stderr)
        result = self.printed(server, gone)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("aitherion simulated GPU", result.stdout)
        self.assertRegex(result.stdout, re.escape(gone.address) + ": .*")
        data, faults = harness.check_json(self.printed(server, gone, words=("--json",)).stdout)
        self.assertEqual(faults, [])
        self.assertEqual([one["error"] is None for one in data["runtimes"]], [True, False])

    def test_wrong_words(self):
        for words, text in ((("--interval", "0"), "'0' is not a value for '--interval'"),
                            (("-d", "1.5"), "'1.5' is not a value for '--interval'"),
                            (("--sort", "size"), "'size' is not a value for '--sort'")):
            result = harness.run("top", *words, env=harness.environment())
            self.assertEqual(result.returncode, 2)
            self.assertIn(text, result.stderr)

    def test_the_help_names_every_order(self):
        words = " ".join(harness.run("top", "--help", env=harness.environment()).stdout.split())
        named = re.search(r"order of the sessions: busy \(default\), (.*?) or age", words)[1]
        wrong = harness.run("top", "--sort", "size", env=harness.environment()).stderr
        known = " ".join(wrong.split()).split("hint: ")[1].split(", ")
        self.assertEqual(sorted(named.split(", ") + ["busy", "age"]), sorted(known))
        self.assertIn("limits its memory, share or priority after a question", words)

    def test_without_a_terminal(self):
        result = harness.run("top", env=harness.environment())
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot show a live screen", result.stderr)
        self.assertIn("aitherion top --once", result.stderr)


if __name__ == "__main__":
    harness.main()
