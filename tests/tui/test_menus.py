#!/usr/bin/env python3
"""What the menus do to the document: every change by keyboard, wrong input of every field, and two people at once."""
import difflib
import fcntl
import json
import os
import shutil
import tempfile
import time
import unittest

import tui
import harness
import nodes


def changed_lines(before, after):
    """["-old", "+new"]: what differs."""
    return [line for line in difflib.unified_diff(before.split("\n"), after.split("\n"), n=0, lineterm="")
            if line[:1] in "+-" and line[:3] not in ("---", "+++")]


class Base(unittest.TestCase):
    maxDiff = None

    def menus(self, *args, **options):
        menus = tui.Menus(*args, **options)
        self.addCleanup(menus.close)
        return menus


@tui.needs_tmux
class Changes(Base):
    def test_nothing_is_written_before_save(self):
        menus = self.menus()
        before = menus.text()
        self.assertIn("not saved yet", menus.keys("2", "1", "1", "C-u", "=70", "Enter"))
        self.assertEqual(menus.text(), before)
        self.assertIn("saved 'topology.yaml'", menus.keys("9"))
        self.assertEqual(changed_lines(before, menus.text()),
                         ["-    memory_percent: 80.0    # of the CPU node's memory, for the container's limit",
                          "+    memory_percent: 70    # of the CPU node's memory, for the container's limit"])
        self.assertIn("exit code 0", menus.keys("q", "q"))

    def test_numbers_letters_arrows(self):
        menus = self.menus()
        self.assertIn("Configure NUMA1", menus.keys("Down", "Enter", "j", "Enter"))
        self.assertIn("VRAM fraction", menus.keys("Down", "Enter"))
        self.assertIn("NUMA configuration menu", menus.keys("Escape", "q"))
        self.assertIn("Back to the main menu", menus.keys("End"))
        self.assertIn("Main menu", menus.keys("Enter"))

    def test_all_fields_of_an_entry(self):
        menus = self.menus()
        menus.keys("2", "2")
        menus.keys("1", "C-u", "=50", "Enter")
        menus.keys("2", "C-u", "=0.25", "Enter")
        menus.keys("3", "8", "1", "End", "Up", "Enter")
        menus.keys("4", "4", "Enter")
        menus.keys("5", "Down", "Space", "Enter")
        menus.keys("6", "C-u", "=6001", "Enter", "=6002", "Enter")  # what is typed takes the offered text's place
        menus.keys("s")
        entry = menus.text().split("- id: 1")[1]
        for line in ("memory_percent: 50", "vram_fraction: 0.25", "control_iface: enP51p1s0f1", 'gpus: ["0035:03:00.0"]',
                     "rdma_devices: [mlx5_1, mlx5_2]", "control_port: 6001", "data_port: 6002"):
            self.assertIn(line, entry)

    def test_a_value_typed_by_hand(self):
        menus = self.menus()
        screen = menus.keys("2", "1", "3", "End", "Enter", "C-u", "=bond0", "Enter")
        self.assertIn("no network port of this machine is called 'bond0'", screen.replace("\n", ""))
        self.assertIn("Data interface", screen)

    def test_wrong_input_of_every_field(self):
        for keys, texts in ((["2", "1", "1"], ["0", "100.5", "-1", "abc", "", "1e9", "nan"]),
                            (["2", "1", "2"], ["0", "1.01", "-0.1", "80%"]),
                            (["2", "1", "3", "End", "Enter"], ["a/b", "a b", "sixteen-letters-"]),
                            (["2", "1", "4", "5", "Enter"], ["0004", "04:04:00.0.0", "GPU0"]),
                            (["2", "1", "5", "7", "Enter"], ["../mlx5_0", "mlx 5"]),
                            (["2", "1", "6"], ["0", "65536", "50052", "http", "5555"]),
                            (["2", "1", "7", "End", "Enter"], ["-1", "x", "99999999999"]),
                            (["3", "2", "1", "3"], ["192.168.1.1", "192.168.1.256/24", "1.2.3.4/33", "x"]),
                            (["3", "2", "1", "4"], ["67", "65536", "big"]),
                            (["3", "2", "1", "1", "End", "Enter"], ["", "a/b"]),
                            (["3", "2", "1", "5", "End", "Enter"], ["7", "x"])):
            menus = self.menus()
            menus.keys(*keys)
            for text in texts:
                with self.subTest(keys=keys, text=text):
                    screen = menus.keys("C-u", *(["=" + text] if text else []), "Enter")
                    self.assertIn(" > " + text, screen, "the line stays, to be mended")
                    self.assertRegex(screen, "must be|no entry of|is there already|another|twice|port")
                    self.assertNotIn("not saved yet", screen)
            menus.keys("Escape", "q", "q", "q")
            self.assertIn("exit code 0", menus.keys("q", "q"))
            menus.close()

    def test_what_does_not_fit_the_machine_is_a_warning(self):
        menus = self.menus()
        screen = menus.keys("2", "1", "4", "3", "Enter")
        self.assertIn("changed, but:", screen)
        self.assertIn("belongs to NUMA node 8", screen)

    def test_add_and_remove_an_entry(self):
        menus = self.menus()
        before = menus.text()
        self.assertIn("Configure NUMA2", menus.keys("2", "3", "2"))
        menus.keys("s")
        added = menus.text()
        self.assertIn("id: 2", added)
        self.assertIn("control_port: 50053", added)
        self.assertIn("data_port: 5557", added)
        self.assertTrue(all(line.startswith("+") for line in changed_lines(before, added)))
        self.assertIn("Remove NUMA2?", menus.keys("8"))
        self.assertIn("Configure NUMA2", menus.keys("1"), "no is the first answer")
        self.assertIn("NUMA configuration menu", menus.keys("8", "2"))
        menus.keys("s")
        self.assertEqual(menus.text(), before)

    def test_an_entry_that_others_name_stays(self):
        menus = self.menus()
        screen = menus.keys("2", "1", "8", "2")
        self.assertIn("cannot remove 'numa.0'", screen)
        self.assertIn("Configure NUMA0", screen)

    def test_cards(self):
        menus = self.menus()
        self.assertIn("0030:01:00.0", menus.keys("3", "1"))
        self.assertIn("[x] NUMA1", menus.keys("1"), "the entry near it is ticked")
        menus.keys("1", "Enter", "s")
        for part in ('pci: "0030:01:00.0"', "numa: [0, 1]", 'description: "ConnectX-4 Lx"'):
            self.assertIn(part, menus.text().split("macvlans:")[0].split("shared by both sockets")[1])
        self.assertIn("RDMA card 0030:01:00.0", menus.keys("5"))
        menus.keys("3", "2", "q", "s")
        self.assertNotIn("0030:01:00.0", menus.text())

    def test_a_card_typed_by_hand(self):
        menus = self.menus()
        screen = menus.keys("3", "1", "2", "=banana", "Enter")
        self.assertIn("PCI address such as", screen)
        menus.keys("C-u", "=0007:00:00.0", "Enter", "Enter")
        self.assertIn("not seen in this machine", menus.wait())

    def test_bind(self):
        menus = self.menus()
        self.assertIn("nearer: mlx5_2, mlx5_3", menus.keys("3", "3", "1", "2", "Enter"), "NUMA1 has nearer devices")
        menus.keys("s")
        self.assertEqual(menus.text().count("mlx5_0"), 2)
        menus.keys("3", "1", "1", "2", "Enter", "s")
        self.assertNotIn("mlx5_0", menus.text())

    def test_macvlans(self):
        menus = self.menus()
        self.assertIn("macvlan2", menus.keys("3", "2", "3"))
        screen = menus.keys("Enter")
        self.assertIn("Parent interface", screen)
        self.assertIn("Configure macvlan macvlan2", menus.keys("3"))
        menus.keys("3", "=10.0.0.9/24", "Enter", "4", "C-u", "=1500", "Enter", "5", "2", "2", "3", "8")
        text = menus.text().split("macvlan2")[1]
        for part in ("parent: enP5p1s0f0", "mode: vepa", "10.0.0.9/24", "mtu: 1500", "numa: 1"):
            self.assertIn(part, text)
        menus.keys("3", "2", "1")
        self.assertIn("Second link, on the host", menus.keys("6"))
        menus.keys("1", "=10.0.0.8/24", "Enter")
        self.assertIn("host_address: 10.0.0.8/24", menus.keys("8") and menus.text())
        self.assertIn("host_link: true", menus.text())
        menus.keys("3", "7", "2", "q", "s")
        self.assertNotIn("macvlan2", menus.text())

    def test_a_macvlan_name_that_is_taken(self):
        menus = self.menus()
        screen = menus.keys("3", "2", "3", "C-u", "=macvlan0", "Enter", "1")
        self.assertIn("cannot add to 'roce.macvlans'", screen)

    def test_no_parent_in_infiniband_mode(self):
        menus = self.menus(root="ac922-4gpu-infiniband")
        screen = menus.keys("3", "2", "3", "Enter")
        self.assertIn("Parent interface", screen)
        self.assertNotIn("ib0", screen)

    def test_an_offered_text_can_be_edited(self):
        menus = self.menus()
        self.assertIn("> 805", menus.keys("2", "1", "1", "End", "=5"))
        self.assertIn("> 8", menus.keys("Escape", "1", "BSpace"))
        self.assertIn("> 85", menus.keys("=5"))

    def test_chinese_letters_are_typed_and_erased(self):
        menus = self.menus()
        screen = menus.keys("3", "4", "2", "C-u", "=网卡 one", "BSpace", "BSpace", "BSpace", "Home", "Delete", "Enter")
        self.assertIn("卡", screen)
        menus.keys("q", "s")
        self.assertRegex(menus.text(), "description: ['\"]?卡 ?['\"]?")


@tui.needs_tmux
class Status(Base):
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
        self.assertIn("2 faults", screen)
        self.assertIn("link 'enP3p1s0f0', the data interface of NUMA0, has no carrier",
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

    def test_reading_anew_by_key(self):
        menus = self.menus()
        menus.keys("5")
        self.assertIn("the machine was read anew", menus.keys("r"))

    def test_changes_that_are_not_saved_count(self):
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
        self.assertIn("no document that can be used", screen)

    def test_a_root_that_goes_away(self):
        root = self.copy()
        menus = self.menus("menu", "--root", root, root=None)
        menus.keys("5")
        shutil.rmtree(root)
        self.assertIn("cannot read the root", " ".join(menus.keys("r").split()))
        self.assertIn("Main menu", menus.keys("q"))


@tui.needs_tmux
class Leaving(Base):
    CHANGE = ("2", "1", "2", "C-u", "=0.5", "Enter", "q", "q", "q")

    def test_saving(self):
        menus = self.menus()
        self.assertIn("Changes are not saved", menus.keys(*self.CHANGE))
        self.assertIn("exit code 0", menus.keys("1"))
        self.assertIn("vram_fraction: 0.5 ", menus.text())

    def test_without_saving(self):
        menus = self.menus()
        before = menus.text()
        menus.keys(*self.CHANGE)
        self.assertIn("exit code 0", menus.keys("2"))
        self.assertEqual(menus.text(), before)

    def test_staying(self):
        for key in ("3", "q", "Escape"):
            menus = self.menus()
            menus.keys(*self.CHANGE)
            self.assertIn("Main menu", menus.keys(key))
            self.assertIn("not saved yet", menus.screen())
            menus.close()

    def test_dry_run(self):
        menus = self.menus("menu", "--dry-run")
        before = menus.text()
        menus.keys(*self.CHANGE)
        menus.keys("1")
        self.assertEqual(menus.text(), before)


@tui.needs_tmux
class Others(Base):
    """Somebody else at the same document."""

    def test_locked(self):
        menus = self.menus()
        before = menus.text()
        menus.keys("2", "1", "2", "C-u", "=0.5", "Enter")
        with open(os.path.join(menus.folder, ".topology.yaml.lock"), "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                pass
            menus.keys("s")
            screen = menus.wait("Not saved")
            self.assertIn("Go on editing; nothing is lost", screen)
            self.assertNotIn("Drop my changes", screen)
            self.assertEqual(menus.text(), before)
            self.assertIn("your changes are still here", menus.keys("2"))
        menus.keys("s")
        self.assertIn("vram_fraction: 0.5 ", menus.text())

    def changed(self):
        menus = self.menus()
        menus.keys("2", "1", "2", "C-u", "=0.5", "Enter")
        theirs = menus.text().replace("memory_percent: 80.0", "memory_percent: 33")
        with open(menus.path, "w", encoding="utf-8") as file:
            file.write(theirs)
        self.assertIn("somebody else has changed it", " ".join(menus.keys("s").replace("│", " ").split()))
        return menus, theirs

    def test_changed_on_disk_and_going_on(self):
        menus, theirs = self.changed()
        self.assertIn("your changes are still here", menus.keys("2"))
        self.assertIn("0.5", menus.screen())
        self.assertEqual(menus.text(), theirs)

    def test_changed_on_disk_and_my_version_elsewhere(self):
        menus, theirs = self.changed()
        menus.keys("3", "Enter")
        self.assertEqual(menus.text(), theirs)
        with open(menus.path + ".mine", encoding="utf-8") as file:
            mine = file.read()
        self.assertIn("vram_fraction: 0.5 ", mine)
        self.assertIn("memory_percent: 80.0", mine)

    def test_changed_on_disk_and_theirs(self):
        menus, theirs = self.changed()
        screen = menus.keys("4")
        self.assertIn("33 %", screen)
        self.assertIn("0.8", screen)
        self.assertEqual(menus.text(), theirs)

    def test_two_menus(self):
        one = self.menus()
        two = tui.Menus("menu", document=None)
        self.addCleanup(two.close)
        self.assertIn("Main menu", one.screen())
        self.assertIn("A first document", two.screen())


@tui.needs_tmux
class First(Base):
    def test_from_this_machine(self):
        menus = self.menus(document=None)
        self.assertIn("There is no topology document", menus.screen())
        self.assertIn("not saved yet", menus.keys("1"))
        self.assertFalse(os.path.exists(menus.path))
        menus.keys("s")
        shown = harness.run("configure", "--show", "-c", menus.path, "--root", harness.capture("ac922-4gpu"))
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn("0035:03:00.0", shown.stdout)

    def test_a_shipped_one(self):
        menus = self.menus(document=None)
        menus.keys("2", "s")
        with open(tui.DOCUMENT, encoding="utf-8") as file:
            self.assertEqual(menus.text(), file.read())

    def test_not_now(self):
        menus = self.menus(document=None)
        screen = menus.keys("3")
        self.assertIn("Make a first document", screen)
        self.assertNotIn("RoCE", screen)
        self.assertIn("Tesla V100", menus.keys("1"))
        self.assertIn("exit code 0", menus.keys("q", "q"))
        self.assertFalse(os.path.exists(menus.path))

    def test_somebody_was_quicker(self):
        menus = self.menus(document=None)
        menus.keys("1")
        with open(menus.path, "w", encoding="utf-8") as file:
            file.write("theirs\n")
        self.assertIn("Not saved", menus.keys("s"))
        self.assertEqual(menus.text(), "theirs\n")

    def test_faults(self):
        with open(os.path.join(harness.DATA, "documents", "ten-faults.yaml"), encoding="utf-8") as file:
            menus = self.menus(document=file.read())
        screen = menus.wait("exit code 1")
        self.assertIn("topology.yaml:2:", screen)


@tui.needs_tmux
class Configure(Base):
    def test_the_menu_of_entries_then_the_main_menu(self):
        menus = self.menus("configure")
        self.assertIn("NUMA configuration menu", menus.screen())
        self.assertIn("Main menu", menus.keys("q"))

    def test_one_entry(self):
        menus = self.menus("configure", "1")
        self.assertIn("Configure NUMA1", menus.screen())
        self.assertIn("NUMA configuration menu", menus.keys("q"))

    def test_an_entry_that_is_not_there(self):
        self.assertIn("there is no entry NUMA7", self.menus("configure", "7").screen())

    def test_numa_configure(self):
        self.assertIn("NUMA configuration menu", self.menus("numa", "configure").screen())


@tui.needs_tmux
class Reading(Base):
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

    def test_read_anew(self):
        menus = self.menus()
        self.assertIn("the machine was read anew", menus.keys("r"))
        self.assertIn("the machine was read anew", menus.keys("1", "r"))

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
class Runtimes(Base):
    """Start, status, stop and clean on this machine, with processes."""

    def setUp(self):
        super().setUp()
        self.folder = tempfile.mkdtemp(prefix="ath-", dir="/tmp")  # the path of a socket has 107 characters at most
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.document = os.path.join(self.folder, "topology.yaml")
        nodes.write_document(self.document)
        with open(self.document, encoding="utf-8") as file:
            text = file.read().replace("engine: {", f'engine: {{ kind: process, docker_host: "unix://{self.folder}/none",')
        self.text = text + f"key_file: {self.folder}/key\n"
        with open(self.document, "w", encoding="utf-8") as file:
            file.write(self.text)
        self.env = {"AITHERION_RUN_FOLDER": self.folder + "/run"}
        self.addCleanup(harness.run, "clean", "--yes", "-c", self.document, env=harness.environment(**self.env))

    def test_from_start_to_clean(self):
        menus = self.menus(root=None, document=self.text, env=self.env)
        for row in ("6  Start", "7  Stop", "8  Clean"):
            self.assertIn(row, menus.screen())
        menus.keys("6")
        screen = menus.wait("[Enter")
        self.assertIn("NUMA0  started", screen)
        self.assertIn("NUMA1  started", screen)
        self.assertIn("the command is done", menus.keys("Enter"))
        screen = menus.keys("5")
        while "Runtime" not in screen:
            self.assertNotEqual(menus.keys("Down"), screen)
            screen = menus.screen()
        self.assertRegex(screen, r"Runtime +running, process, 127\.0\.0\.1")
        self.assertIn("Stop the runtimes", menus.keys("q", "7"))
        self.assertIn("Main menu", menus.keys("Enter"))  # no is the first answer
        menus.keys("7", "2")
        self.assertIn("stopped NUMA1", menus.wait("[Enter"))
        menus.keys("Enter", "8")
        self.assertIn("Remove all this? [y/N]", menus.wait("[y/N]"))
        menus.keys("=y", "Enter")
        menus.wait("[Enter")
        self.assertFalse(os.path.exists(self.folder + "/run"))

    def test_a_capture_has_none(self):
        screen = self.menus().screen()
        for word in ("Start", "Stop", "Clean"):
            self.assertNotRegex(screen, rf"\d  {word}")

    def test_without_a_gpu(self):
        if json.loads(harness.run("discover", "--json").stdout)["gpus"]:
            self.skipTest("this machine has a GPU")
        menus = self.menus(root=None, document=self.text.replace(", sim: true", ""), env=self.env)
        self.assertIn("With simulated GPUs", menus.keys("6"))
        menus.keys("2")
        self.assertIn("simulated GPUs", menus.wait("[Enter"))


if __name__ == "__main__":
    harness.isolate()
    harness.main()
