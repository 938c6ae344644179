#!/usr/bin/env python3
"""The screens of the menus, and how a user moves in them: mouse, search, sizes, texts, and the states of runtimes."""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import tui
import harness
import nodes

ASKING = "asking the runtimes which programs use them ... q, Esc: do not wait"


@tui.needs_tmux
class Mouse(tui.Case):
    WHEEL_UP, WHEEL_DOWN = 64, 65

    def test_a_click_selects_and_a_second_click_opens(self):
        menus = self.menus()
        screen = menus.mouse(4, 10)
        self.assertIn("Main menu", screen)
        self.assertRegex(menus.selected()[0], "^3  ")
        self.assertIn("RoCE", menus.mouse(4, 70).split("\n")[0])
        self.assertIn("Main menu", menus.keys("q"))
        menus.mouse(0, 10)
        menus.mouse(23, 10)
        self.assertRegex(menus.selected()[0], "^3  ", "a click beside the rows selects nothing")

    def test_a_click_in_a_dialog(self):
        menus = self.menus()
        screen = menus.keys("2", "1", "3")
        row = next(i for i, line in enumerate(screen.split("\n")) if "│  4  " in line)
        self.assertIn("Control interface", menus.mouse(row, 40))
        self.assertIn("4  enP5p1s0f1", menus.selected()[-1])
        self.assertIn("'numa.0.control_iface' is now enP5p1s0f1", menus.mouse(row, 40))

    def test_the_wheel(self):
        menus = self.menus()
        menus.mouse(10, 10, self.WHEEL_DOWN)
        self.assertRegex(menus.selected()[0], "^4  ")
        menus.mouse(10, 10, self.WHEEL_UP)
        menus.mouse(10, 10, self.WHEEL_UP)
        self.assertRegex(menus.selected()[0], "^1  ", "the wheel stops at the first row")
        self.assertIn("lines 1 to", menus.keys("1"))
        self.assertIn("lines 4 to", menus.mouse(10, 10, self.WHEEL_DOWN))
        self.assertIn("lines 1 to", menus.mouse(10, 10, self.WHEEL_UP))


@tui.needs_tmux
class Status(tui.Case):
    OPERSTATE = "sys/class/net/enP3p1s0f0/operstate"

    def copy(self, name="ac922-4gpu"):
        root = os.path.join(tempfile.mkdtemp(dir=harness.scratch()), "root")
        shutil.copytree(harness.capture(name), root, symlinks=True)
        return root

    def set_state(self, root, state):
        with open(os.path.join(root, self.OPERSTATE), "w", encoding="utf-8") as file:
            file.write(state + "\n")

    def test_it_refreshes_itself(self):
        root = self.copy()
        menus = self.menus("menu", "--root", root, root=None)
        self.assertIn("enP3p1s0f0  up, 100 Gb/s", menus.keys("5"))
        self.set_state(root, "down")
        screen = menus.wait("enP3p1s0f0  down")
        self.assertIn("3 faults", screen)
        self.assertIn("link 'enP3p1s0f0', a data interface of NUMA0, has no carrier",
                      " ".join(menus.keys("End").split()))
        self.set_state(root, "up")
        menus.keys("Home")
        self.assertNotIn("fault", menus.wait("enP3p1s0f0  up, 100 Gb/s").split("aitherion health")[0])

    def test_the_place_stays_while_it_refreshes(self):
        root = self.copy("ac922-4gpu-memory-offline")
        menus = self.menus("menu", "--root", root, root=None)
        self.assertIn("lines 1 to", menus.keys("5"))
        before = menus.keys("NPage")
        self.assertNotIn("lines 1 to", before)
        self.set_state(root, "down")
        time.sleep(3)
        self.assertIn(before.split(" to ")[0].split("lines ")[-1] + " to", menus.screen())

    def test_a_slow_daemon_blocks_no_key(self):
        """A daemon that takes connections and never answers. The page shows what it waits for, and keys work."""
        folder = tempfile.mkdtemp(prefix="ath-", dir="/tmp")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        with socket.socket(socket.AF_UNIX) as daemon:
            daemon.bind(os.path.join(folder, "silent"))
            daemon.listen(64)
            menus = self.menus(root=None, env={"DOCKER_HOST": f"unix://{folder}/silent", "AITHERION_RUN_FOLDER": folder + "/run"})
            menus.keys("5", is_read=False)
            self.assertIn("looking ...", menus.wait("waiting for an answer since"))
            self.assertIn("Keys", menus.keys("?"))
            menus.keys("q", is_read=False)
            self.assertIn("looking ...", menus.screen())
            menus.keys("e", is_read=False)
            self.assertIn("looking ...", menus.wait(ASKING))
            menus.keys("q", is_read=False)
            menus.wait("looking ...", lambda screen: ASKING not in screen)
            self.assertIn("Main menu", menus.keys("q"))
            menus.keys("7", is_read=False)
            menus.wait(ASKING)
            screen = menus.keys("q")
            self.assertIn("Main menu", screen)
            self.assertNotIn("Stop the runtimes of all entries?", screen)
            self.assertNotIn("asking", screen)

    def test_the_reload_key(self):
        menus = self.menus()
        menus.keys("5")
        self.assertIn("the machine was read again", menus.keys("r"))

    def test_unsaved_changes_count(self):
        menus = self.menus()
        screen = menus.keys("2", "1", "4", "3", "Enter")
        while "Main menu" not in screen:
            screen = menus.keys("q")
        self.assertIn("not saved yet", menus.keys("5"))
        self.assertIn("the GPU 0035:03:00.0 belongs to NUMA node 8", " ".join(menus.keys("End", "Up", "Up", "Up").split()))

    def test_without_a_document(self):
        menus = self.menus(document=None)
        menus.keys("Escape")
        screen = menus.keys("2")
        self.assertIn("Status and health", screen)
        self.assertIn("no usable document", screen)

    def test_a_root_that_goes_away(self):
        root = self.copy()
        menus = self.menus("menu", "--root", root, root=None)
        menus.keys("5")
        shutil.rmtree(root)
        self.assertIn("cannot read the root", " ".join(menus.keys("r").split()))
        self.assertIn("Main menu", menus.keys("q"))


@tui.needs_tmux
class Searching(tui.Case):
    def test_a_menu(self):
        menus = self.menus()
        self.assertIn("aitherion configure --show", menus.keys("/", "=TOPOLOGY", "Enter"), "the next row, of topology.yaml")
        self.assertIn("aitherion discover", menus.keys("n"), "around the end")
        self.assertIn("aitherion health", menus.keys("/", "C-u", "=health", "Enter"))
        self.assertIn("nothing here contains 'nowhere'", menus.keys("/", "C-u", "=nowhere", "Enter"))
        self.assertIn("aitherion health", menus.keys("Escape"))

    def test_a_list(self):
        menus = self.menus()
        menus.keys("2", "1", "3", "/", "=25 gb", "Enter")
        self.assertIn("control-iface enP48p1s0f0", menus.keys("Enter"))

    def test_another_size_meanwhile(self):
        menus = self.menus()
        menus.keys("1", "/", "=GPU3 ")
        menus.resize(200, 60, lambda screen: len(screen.split("\n")) >= 60)
        self.assertIn("GPU3         0035:04:00.0", menus.keys("Enter"))

    def test_next_and_previous_in_a_text(self):
        menus = self.menus()
        first = menus.keys("1", "/", "=GPU2 ", "Enter")
        self.assertIn("GPU2         0035:03:00.0", first)
        self.assertNotIn("lines 1 to", first)
        other = menus.keys("n")
        self.assertEqual(menus.keys("N"), first)
        self.assertIsNotNone(other)


@tui.needs_tmux
class Looks(tui.Case):
    def test_a_selected_row_has_one_color(self):
        for keys in ([], ["2", "1"], ["2", "1", "3"], ["2", "1", "4"]):
            with self.subTest(keys=keys):
                menus = self.menus()
                menus.keys(*keys)
                rows = [line for line in menus.colored().split("\n")[1:] if re.search(r"\x1b\[(0;)?7m", line)]
                self.assertTrue(rows)
                self.assertFalse([row for row in rows if "\x1b[36m" in row])
                menus.close()

    def test_a_popup_has_even_columns(self):
        screen = self.menus().keys("2", "1", "3")
        rows = [line.split("\u2502")[1] for line in screen.split("\n") if " NUMA node" in line]
        self.assertEqual(len(rows), 8)
        self.assertEqual({row.index("NUMA node") for row in rows}, {18})
        self.assertEqual(len({re.search(" (up|down) ", row).start() for row in rows}), 1, rows)

    def test_one_port(self):
        for root, words in (("virtio-vm", "1 network port"), ("ac922-4gpu", "4 GPUs, 8 network ports")):
            row = next(line for line in self.menus(root=root, size=(120, 24)).screen().split("\n") if "Topology" in line)
            self.assertTrue(row.rstrip().endswith(words), row)


    def test_an_entry_runs_on_a_node_with_cpus(self):
        """A node of memory alone is offered for memory only."""
        menus = self.menus(root="cxl-memory")
        self.assertRegex(menus.keys("2", "4"), r"│  2  1  251\.0 GiB  CPUs 8-15,24-31 +│\n.*│  3  type another one")
        self.assertIn("3  [ ] 2    128.0 GiB", menus.keys("q", "1", "7", "2"))


@tui.needs_tmux
class Reading(tui.Case):
    def test_scrolling(self):
        menus = self.menus()
        first = menus.keys("1")
        self.assertIn("lines 1 to 16", first)
        self.assertIn("lines 2 to 17", menus.keys("Down"))
        self.assertIn("lines 18 to", menus.keys("PPage", "NPage", "Down"))
        self.assertNotIn("lines 1 to", menus.keys("End"))
        self.assertEqual(menus.keys("Home"), first)
        self.assertNotEqual(menus.keys("Right"), first)
        self.assertEqual(menus.keys("Left"), first)

    def test_reload(self):
        menus = self.menus()
        self.assertIn("the machine was read again", menus.keys("r"))
        self.assertIn("the machine was read again", menus.keys("1", "r"))

    def test_this_machine_itself(self):
        menus = self.menus(root=None)
        self.assertIn("NUMA node", menus.keys("1"))

    def test_each_capture(self):
        for name in harness.capture_names():
            if name.endswith(".xml"):
                continue
            with self.subTest(capture=name):
                menus = self.menus(root=name)
                self.assertIn("Topology", menus.keys("1"))
                self.assertIn("Main menu", menus.keys("q"))
                self.assertIn("exit code 0", menus.keys("q"))
                menus.close()


@tui.needs_tmux
class Runtimes(tui.Case):
    """Start, status, stop and clean on this machine, with processes."""

    def setUp(self):
        super().setUp()
        self.folder = tempfile.mkdtemp(prefix="ath-", dir="/tmp")  # the path of a socket has at most 107 characters
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.document = os.path.join(self.folder, "topology.yaml")
        nodes.write_document(self.document)
        with open(self.document, encoding="utf-8") as file:
            text = file.read().replace("engine: {", f'engine: {{ kind: process, docker_host: "unix://{self.folder}/none",')
        self.text = text + f"key_file: {self.folder}/key\n"
        with open(self.document, "w", encoding="utf-8") as file:
            file.write(self.text)
        self.env = {"AITHERION_RUN_FOLDER": self.folder + "/run"}

    def start(self):
        menus = self.menus(root=None, document=self.text, env=self.env)
        self.addCleanup(harness.run, "clean", "--yes", "-c", menus.path, env=harness.environment(**self.env))
        return menus

    def ended(self, menus, word="done"):
        """Returns the screen when the command has ended; the menus keep the whole terminal."""
        screen = menus.wait("the command is " + word if word == "done" else word)
        self.assertTrue(menus.is_full_screen())
        return screen

    def test_from_start_to_clean(self):
        menus = self.start()
        for row in ("6  Start", "7  Stop", "8  Clean"):
            self.assertIn(row, menus.screen())
        menus.keys("6")
        screen = self.ended(menus)
        self.assertIn("NUMA0  started", screen)
        self.assertIn("NUMA1  started", screen)
        self.assertIn("command: aitherion start -c topology.yaml", screen)
        self.assertIn("Main menu", menus.keys("Enter"))
        screen = menus.keys("5")
        while "Runtime" not in screen:
            self.assertNotEqual(menus.keys("Down"), screen)
            screen = menus.screen()
        self.assertRegex(screen, r"Runtime +running, process, 127\.0\.0\.1")
        self.assertEqual(menus.keys("e").count("no program uses a runtime"), 2)
        self.assertIn("Stop the runtimes", menus.keys("q", "7"))
        self.assertIn("Main menu", menus.keys("Enter"))  # the first answer is no
        menus.keys("7", "2")
        screen = self.ended(menus)
        self.assertIn("stopped NUMA1", screen)
        menus.keys("q", "8")
        screen = menus.wait("Remove all this? [y/N]")
        self.assertTrue(menus.is_full_screen())
        self.assertIn("Ctrl-C: stop the command", screen)
        self.assertIn("[y/N] y", menus.keys("=nx", "BSpace", "BSpace", "=y"))
        menus.keys("Enter")
        menus.wait("the command", lambda screen: not os.path.exists(self.folder + "/run"))
        self.assertTrue(menus.is_full_screen())

    def test_clean_needs_no_document(self):
        menus = self.menus(root=None, document=None, env=self.env)
        self.assertIn("3  Clean", menus.keys("Escape"))
        menus.keys("3")
        self.assertIn("nothing to do", self.ended(menus))

    def test_a_program_is_run(self):
        menus = self.start()
        self.assertIn("9  Run a program", menus.screen())
        for choice, words, line in ("1", "all", "echo"), ("3", "1", "sh -c 'echo $AITHERION_TRANSPORT'"):
            menus.keys("9", "=" + (line if choice == "1" else "echo $AITHERION_TRANSPORT"), "Enter")
            menus.keys(choice)
            screen = self.ended(menus, "the command ended with exit code 125")
            self.assertIn(f"command: aitherion run --numa {words} -- {line}", screen)
            self.assertIn("Main menu", menus.keys("Enter"))
        self.assertIn("Main menu", menus.keys("9", "Escape"))
        menus.keys("6")
        self.ended(menus)
        menus.keys("Enter", "9", "=echo  $AITHERION_SERVER", "Enter", "2")
        self.assertIn(f"unix:{self.folder}/run/numa0/runtime.sock", self.ended(menus))

    def test_the_key_and_the_image(self):
        menus = self.start()
        exported = self.folder + "/exported"
        self.assertIn("Shared key", menus.keys("End", "Up", "Up", "Up", "Enter"))
        menus.keys("1")
        self.assertIn("there is no shared key yet", self.ended(menus))
        menus.keys("Enter", "3")
        self.assertIn("made the shared key", self.ended(menus))
        menus.keys("Enter", "3")
        menus.wait("[y/N]")
        menus.keys("=n", "Enter")
        self.assertIn("stays as it was", self.ended(menus, "the command ended with exit code 1"))
        self.assertIn("it must not be empty", menus.keys("Enter", "2", "Enter"))
        menus.keys("=" + exported, "Enter")
        self.assertIn(f"wrote the shared key to '{exported}'", self.ended(menus))
        self.assertTrue(os.path.exists(exported))
        self.assertIn("Image of the runtime", menus.keys("Enter", "4", "End", "Up", "Up", "Enter"))
        for keys, words in (["1"], "list"), (["2"], "build"), (["3", "2"], "remove"):
            menus.keys(*keys)
            screen = self.ended(menus, "the command ended with exit code 1")  # there is no Docker
            self.assertIn(f"command: aitherion image {words} -c topology.yaml", screen)
            menus.keys("Enter")
        self.assertIn("1  No, leave it", menus.keys("3"))

    def test_the_numa_menu_starts_the_containers(self):
        menus = self.start()
        self.assertIn("3  Start the containers with the start command", menus.keys("2"))
        self.assertIn("4  RoCE card management", menus.screen())
        menus.keys("3")
        self.assertIn("NUMA1  started", self.ended(menus))
        self.assertIn("NUMA configuration menu", menus.keys("Enter"))

    def test_control_c_ends_the_command_alone(self):
        menus = self.start()
        menus.keys("6")
        self.ended(menus)
        menus.keys("Enter", "8")
        menus.wait("[y/N]")
        menus.keys("C-c")
        self.assertIn("NUMA0", self.ended(menus, "the command ended with exit code") + "NUMA0")
        self.assertIn("Main menu", menus.keys("Enter"))
        self.assertTrue(os.path.exists(self.folder + "/run"), "nothing was removed")

    def test_another_size_while_a_command_runs(self):
        menus = self.start()
        menus.keys("6")
        self.ended(menus)
        menus.keys("Enter", "8")
        menus.wait("[y/N]")
        menus.resize(60, 20, lambda screen: "60 x 20" in screen)
        menus.resize(120, 40, lambda screen: "[y/N]" in screen)
        menus.keys("=n", "Enter")
        self.assertIn("nothing was removed", self.ended(menus, "the command ended with exit code 1"))

    def test_a_signal_ends_the_command_too(self):
        menus = self.start()
        menus.keys("6")
        self.ended(menus)
        menus.keys("Enter", "8")
        menus.wait("[y/N]")
        with open(f"/proc/{menus.shell}/task/{menus.shell}/children", encoding="ascii") as file:
            process = int(file.read())
        with open(f"/proc/{process}/task/{process}/children", encoding="ascii") as file:
            command = int(file.read())
        os.kill(process, signal.SIGTERM)
        self.assertIn("signal 15 ", menus.wait("exit code 1"))
        self.assertFalse(os.path.exists(f"/proc/{command}"))
        self.assertTrue(os.path.exists(self.folder + "/run"), "nothing was removed")

    def test_sessions_come_and_are_ended(self):
        menus = self.start()
        menus.keys("6")
        self.ended(menus)
        self.assertIn("no program uses a runtime", menus.keys("Enter", "5"))
        steps = os.path.join(harness.build(), "tests", "runtime", "cuda_steps")
        with subprocess.Popen([harness.binary(), "run", "--numa", "1", "-c", menus.path, "--", steps], text=True, bufsize=1,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              env=harness.environment(srcdir=harness.SOURCE, **self.env)) as program:
            self.assertIn("CUDA_SUCCESS", program.stdout.readline())
            program.stdin.write(f"take plain {64 << 20}\n")
            self.assertIn("CUDA_SUCCESS", program.stdout.readline())
            self.assertRegex(menus.wait("64.0 MiB"), r"NUMA1 +\d+ +cuda_steps +default +GPU 0: 64.0 MiB +\d+ s +process \d+")
            self.assertRegex(menus.keys("e"), r"1  NUMA1 +\d+ +cuda_steps +default +GPU 0: 64.0 MiB +\d+ s ")
            screen = menus.keys("1")
            self.assertRegex(screen, r"aitherion session end \d+ --numa 1 -c topology.yaml")
            self.assertIn("64.0 MiB", menus.keys("1"), "no is the first answer")
            menus.keys("e", "1", "2")
            self.assertRegex(self.ended(menus), r"ended session \d+")
            menus.keys("Enter")
            menus.wait("no program uses a runtime")
            program.stdin.write(f"take plain {1 << 20}\n")
            self.assertIn("CUDA_ERROR_DEVICE_UNAVAILABLE", program.stdout.readline())
            program.kill()

    def test_an_identity_gets_a_key_and_loses_it(self):
        """The question before a key is removed names the programs of this key, and no others."""
        menus = self.start()
        menus.keys("End", *["Up"] * 4, "Enter")
        self.assertIn("There is no key yet", menus.screen())
        menus.keys("7", "=alice", "Enter", "5", "=3", "Enter", "8")
        self.assertIn("made the key", self.ended(menus))
        self.assertIn("The keys are in the folder", menus.keys("Enter", "q"))
        self.assertIn("sessions: 3", menus.text())
        menus.keys("8", "=bob", "Enter", "8")
        self.assertIn("made the key", self.ended(menus))
        self.assertIn("Remove the limits and the role of bob", menus.keys("Enter", "9"))
        self.assertIn("1  Give it limits or a role", menus.keys("2"))
        menus.keys("q", "q", "6")
        self.ended(menus)
        steps = os.path.join(harness.build(), "tests", "runtime", "cuda_steps")
        with contextlib.ExitStack() as stack:
            programs = {}
            for name in "alice", "bob":
                words = [harness.binary(), "run", "--numa", "0", "--key-name", name, "-c", menus.path, "--", steps]
                programs[name] = stack.enter_context(subprocess.Popen(
                    words, text=True, bufsize=1, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                    env=harness.environment(srcdir=harness.SOURCE, **self.env)))
                self.assertIn("CUDA_SUCCESS", programs[name].stdout.readline())
            menus.keys("Enter", "End", *["Up"] * 4, "Enter")
            menus.keys("7", "End", "Up", "Enter")
            screen = menus.wait("Running programs that would end")
            words = " ".join(screen.replace("│", " ").split())
            self.assertRegex(words, r"Running programs that would end: session \d+ \(cuda_steps, process \d+, user \S+\) of NUMA0 (1 )?1 No")
            self.assertIn("Remove the identity", menus.keys("1"), "no is the first answer")
            menus.keys("End", "Up", "Enter")
            menus.wait("Running programs that would end")
            menus.keys("2")
            self.assertIn("removed the key", self.ended(menus))
            said = {}
            for name, program in programs.items():
                program.stdin.write(f"take plain {1 << 20}\n")
                said[name] = program.stdout.readline().strip()
                program.kill()
            self.assertEqual(said, {"alice": "CUDA_ERROR_DEVICE_UNAVAILABLE", "bob": "CUDA_SUCCESS"})
        self.assertNotIn("alice", menus.keys("Enter") + menus.text())
        self.assertEqual(os.listdir(self.folder + "/key"), ["bob"])

    def test_a_capture_has_none(self):
        screen = self.menus().screen()
        for word in ("Start", "Stop", "Clean"):
            self.assertNotRegex(screen, rf"\d  {word}")

    def test_without_a_gpu(self):
        if json.loads(harness.run("discover", "--json").stdout)["gpus"]:
            self.skipTest("this machine has a GPU")
        self.text = self.text.replace(", sim: true", "")
        menus = self.start()
        self.assertIn("With simulated GPUs", menus.keys("6"))
        menus.keys("2")
        self.assertIn("simulated GPUs", self.ended(menus))


if __name__ == "__main__":
    harness.main()
