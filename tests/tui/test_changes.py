#!/usr/bin/env python3
"""Changing the document in the menus: every change by keyboard, wrong input in every field, faults, and two users at once."""
import difflib
import fcntl
import os
import shutil
import tempfile

import tui
import harness


def changed_lines(before, after):
    """Returns ["-old", "+new"] for each difference."""
    return [line for line in difflib.unified_diff(before.split("\n"), after.split("\n"), n=0, lineterm="")
            if line[:1] in "+-" and line[:3] not in ("---", "+++")]


@tui.needs_tmux
class Changes(tui.Case):
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
        menus.keys("3", "8", "8", "Enter")
        menus.keys("4", "4", "Enter")
        menus.keys("5", "Down", "Space", "Enter")
        menus.keys("6", "C-u", "=6001", "Enter", "=6002", "Enter", "=6003", "Enter")  # typed text replaces the offered text
        menus.keys("s")
        entry = menus.text().split("- id: 1")[1]
        for line in ("memory_percent: 50", "vram_fraction: 0.25", "control_iface: enP51p1s0f1", "data_iface: [enP51p1s0f0, enP51p1s0f1]", 'gpus: ["0035:03:00.0"]',
                     "rdma_devices: [mlx5_1, mlx5_2]", "control_port: 6001", "data_port: 6002", 'metrics: "6003"'):
            self.assertIn(line, entry)

    def test_access_and_encryption(self):
        def said(screen):
            return " ".join(screen.replace("│", " ").split())
        menus = self.menus()
        self.assertIn("Access and encryption", menus.keys("6"))
        self.assertIn("those that leave the machine", said(menus.keys("1")))
        screen = menus.keys("2")
        self.assertIn("'encrypt' is now on; not saved yet", screen)
        self.assertIn("aitherion configure --encrypt on", screen)
        self.assertIn("from 1 to 512", said(menus.keys("5", "C-u", "=0", "Enter")))
        screen = menus.keys("C-u", "=17", "Enter")
        self.assertIn("'limits.sessions_per_source' is now 17", screen)
        self.assertIn("aitherion configure --set limits.sessions_per_source=17", screen)
        self.assertIn("'limits.host_fraction' is now 0.25", menus.keys("6", "C-u", "=0.25", "Enter"))
        self.assertIn("saved 'topology.yaml'", menus.keys("End", "Enter"))
        text = menus.text()
        self.assertIn('\nencrypt: "on"\n', text)
        self.assertIn("\nlimits: { sessions_per_source: 17, host_fraction: 0.25 }\n", text)

    def test_a_certificate_comes_and_goes_with_its_key(self):
        menus = self.menus()
        before = menus.text()
        self.assertIn("the key alone proves the runtimes", menus.keys("6"))
        self.assertIn("Private key of the certificate", menus.keys("2", "=/etc/server.pem", "Enter"))
        self.assertNotIn("not saved yet", menus.keys("Escape"), "neither is set without the other")
        self.assertIn("Certificate of the runtimes      /etc/server.pem", menus.keys("2", "=/etc/server.pem", "Enter", "=/etc/server.key", "Enter"))
        self.assertIn("'tls_ca' is now /etc/ca.pem", menus.keys("4", "=/etc/ca.pem", "Enter"))
        menus.keys("s")
        self.assertEqual(changed_lines(before, menus.text()), ["+tls_certificate: /etc/server.pem", "+tls_key: /etc/server.key",
                                                               "+tls_ca: /etc/ca.pem"])
        self.assertIn("1  No, leave it", menus.keys("3"))
        menus.keys("2", "3", "C-u", "Enter", "s")
        self.assertEqual(menus.text(), before)

    def test_identities_of_the_document(self):
        """On a captured machine there are no keys, so only the rows of the document are shown."""
        menus = self.menus()
        before = menus.text()
        menus.keys("6")
        self.assertIn("letters, digits", " ".join(menus.keys("7", "=a b", "Enter").replace("│", " ").split()))
        screen = menus.keys("C-u", "=alice", "Enter")
        self.assertIn("'alice' is in the document; not saved yet", screen)
        self.assertNotIn("key", screen.split("Save and return")[0].replace("Identity", ""))
        self.assertIn("'identities.alice.memory' is now 4G", menus.keys("1", "=4G", "Enter"))
        self.assertIn("aitherion configure --set identities.alice.memory=4G", menus.screen())
        self.assertIn("4X", menus.keys("1", "C-u", "=4X", "Enter"))
        menus.keys("Escape", "5", "=2", "Enter", "6", "1", "3", "Enter")
        self.assertIn("'identities.alice.admin' is now true", menus.keys("7", "1"))
        self.assertIn("'identities.alice.share' must be a whole number from 1 to 100", " ".join(menus.keys("2", "=101", "Enter")
                                                                                                .replace("│", " ").split()))
        self.assertIn("'identities.alice.cap' is now true", menus.keys("C-u", "=25", "Enter", "1"))
        self.assertIn("'identities.alice.priority' is now normal", menus.keys("3", "2"))
        self.assertIn("7  Identity alice                   4G of each GPU, 25 % of the time at most,\n", menus.keys("q"))
        self.assertIn("25 % of the time at most, priority normal, 2 sessions, 2\n     GPUs, admin", menus.screen())
        menus.keys("s")
        self.assertEqual(changed_lines(before, menus.text()),
                         ["+identities:", "+  - name: alice", '+    memory: "4G"', "+    sessions: 2",
                          '+    gpus: ["0004:04:00.0", "0035:03:00.0"]', "+    admin: true", "+    share: 25",
                          "+    cap: true", "+    priority: normal"])
        self.assertIn("Remove the identity alice?", menus.keys("7", "8"))
        self.assertIn("7  Add an identity", menus.keys("2"))
        menus.keys("7", "=alice", "Enter", "q", "7", "1", "C-u", "=1G", "Enter")
        self.assertIn("Identity alice", menus.screen())

    def test_the_best_gpus(self):
        """The answer is that of the command which the screen names; nothing is saved."""
        menus = self.menus(size=(120, 40))
        before = menus.text()
        menus.keys("2", "1", "1", "C-u", "=70", "Enter", "q", "q")  # a change that must not be saved by the way
        screen = menus.keys("7")
        self.assertIn("1  How many GPUs         1 of 4 ", screen)
        for wrong in "0", "5", "x", "":
            self.assertIn("a number from 1 to 4", menus.keys("1", "C-u", *(["=" + wrong] if wrong else []), "Enter"))
            menus.keys("Escape")
        self.assertIn("2 of 4", menus.keys("1", "C-u", "=2", "Enter"))
        self.assertIn("2  Policy                single-numa ", menus.keys("2", "3"))
        self.assertIn("single-numa", menus.keys("2", "Escape"))
        self.assertIn("3  Near a network port   enP51p1s0f0 ", menus.keys("3", "8"))
        screen = menus.keys("4")
        self.assertIn("command: aitherion place 2 --policy single-numa --near enP51p1s0f0 --root ac922-4gpu\n", screen)
        words = ["place", "2", "--policy", "single-numa", "--near", "enP51p1s0f0", "--root", harness.capture("ac922-4gpu")]
        answer = harness.run(*words, env=harness.environment(COLUMNS="118")).stdout
        self.assertIn("GPU2 ", answer)
        for line in answer.splitlines():
            self.assertIn(line[:110].rstrip(), screen)
        screen = menus.keys("q", "1", "C-u", "=3", "Enter", "4")
        self.assertIn("the policy 'single-numa' needs 3 free GPUs on 1 NUMA node: node 0 has 2, node 8 has 2", screen)
        self.assertIn("3  Near a network port   no port ", menus.keys("q", "3", "Home", "Enter"))
        self.assertIn("Main menu", menus.keys("5"))
        self.assertEqual(menus.text(), before)
        self.assertIn("3 of 4", menus.keys("7"), "what was chosen stays")

    def test_no_gpus_to_place(self):
        self.assertNotIn("Best GPUs", self.menus(root="laptop", document=None).keys("q"))

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
                    self.assertIn(" > " + text, screen, "the line stays and can be corrected")
                    self.assertRegex(screen, "must be|no entry of|is there already|another|twice|port")
                    self.assertNotIn("not saved yet", screen)
            menus.keys("Escape", "q", "q", "q")
            self.assertIn("exit code 0", menus.keys("q", "q"))
            menus.close()

    def test_misfits_are_warnings(self):
        menus = self.menus()
        screen = menus.keys("2", "1", "4", "3", "Enter")
        self.assertIn("changed, but:", screen)
        self.assertIn("belongs to NUMA node 8", screen)

    def test_add_and_remove_an_entry(self):
        menus = self.menus()
        before = menus.text()
        self.assertIn("Configure NUMA2", menus.keys("2", "4", "2"))
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

    def test_a_referenced_entry_stays(self):
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
        self.assertIn("not found in this machine", menus.wait())

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
        self.assertIn("Second link on the host", menus.keys("6"))
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
class Leaving(tui.Case):
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
class Others(tui.Case):
    """Another process changes the same document."""

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
            screen = menus.wait("Go on editing; nothing is lost")
            self.assertIn("Not saved", screen)
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
        self.assertIn("another program has changed it", " ".join(menus.keys("s").replace("│", " ").split()))
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
class First(tui.Case):
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
        screen = menus.keys("6")
        self.assertIn("Make a first document", screen)
        self.assertNotIn("RoCE", screen)
        self.assertIn("Tesla V100", menus.keys("1"))
        self.assertIn("exit code 0", menus.keys("q", "q"))
        self.assertFalse(os.path.exists(menus.path))

    def test_another_writer_was_faster(self):
        menus = self.menus(document=None)
        menus.keys("1")
        with open(menus.path, "w", encoding="utf-8") as file:
            file.write("theirs\n")
        self.assertIn("Not saved", menus.keys("s"))
        self.assertEqual(menus.text(), "theirs\n")


@tui.needs_tmux
class Faults(tui.Case):
    """A document that cannot be used opens a screen that says why; the menus go on."""

    def setUp(self):
        super().setUp()
        with open(os.path.join(harness.DATA, "documents", "ten-faults.yaml"), encoding="utf-8") as file:
            self.text = file.read()

    def editor(self, *lines):
        path = os.path.join(tempfile.mkdtemp(dir=harness.scratch()), "editor")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(["#!/bin/sh", *lines, ""]))
        os.chmod(path, 0o755)
        return path

    def test_the_list(self):
        menus = self.menus(document=self.text)
        screen = menus.screen()
        self.assertIn("The document cannot be used", screen)
        self.assertIn("line 2, column 9     'schema' must be aitherion.topology/1", screen)
        self.assertIn("line 19, column 62", screen)
        self.assertIn("most 100, not '101'", " ".join(menus.keys("Down", "Down", "Down").split()), "the row is too short for it")

    def test_the_line_of_a_fault(self):
        screen = self.menus(document=self.text).keys("4")
        self.assertIn("topology.yaml, line 8, column 21", screen)
        self.assertIn("memory_percent: 101", screen)
        line, mark = [line.split("\u2502")[1] for line in screen.split("\n") if "|" in line][:2]
        self.assertEqual(mark.index("^"), line.index("101"))

    def test_the_file(self):
        screen = self.menus(document=self.text).keys("End", "Up", "Up", "Up", "Enter")
        self.assertIn("The file with its faults", screen)
        self.assertIn("8      memory_percent: 101", screen)
        self.assertIn("^ 'numa.0.memory_percent' must be", screen)

    def test_going_back_leads_to_the_main_menu(self):
        menus = self.menus(document=self.text)
        screen = menus.keys("q")
        self.assertRegex(screen, r"The document cannot be used +10 faults")
        self.assertNotIn("Make a first document", screen)
        self.assertIn("Tesla V100", menus.keys("1"))
        self.assertIn("fault", menus.keys("q", "3"))
        self.assertIn("exit code 0", menus.keys("q", "q"))
        self.assertEqual(menus.text(), self.text)

    def test_an_editor_repairs_it(self):
        editor = self.editor('[ "$1" = -x ] && cp "' + tui.DOCUMENT + '" "$2"')
        menus = self.menus("configure", "1", document=self.text, env={"VISUAL": editor + " -x", "EDITOR": "/nonexistent"})
        screen = menus.keys("End", "Up", "Up", "Enter")
        self.assertIn("Configure NUMA1", screen)
        self.assertIn("read 'topology.yaml' again", screen)

    def test_an_editor_that_repairs_some(self):
        editor = self.editor("sed -i s,topology/2,topology/1, \"$1\"")
        menus = self.menus(document=self.text, env={"EDITOR": editor})
        self.assertIn("has 9 faults", menus.keys("End", "Up", "Up", "Enter"))

    def test_an_editor_that_fails(self):
        menus = self.menus(document=self.text, env={"EDITOR": "/nonexistent"})
        self.assertIn("the editor ended with exit code 127", menus.keys("End", "Up", "Up", "Enter"))
        self.assertTrue(menus.is_full_screen())

    def test_repaired_elsewhere(self):
        menus = self.menus(document=self.text)
        shutil.copy(tui.DOCUMENT, menus.path)
        self.assertIn("NUMA configuration", menus.keys("End", "Up", "Enter"))

    def test_no_yaml_and_no_file(self):
        for text, wanted in (("a: [", "line 1, column 5"), ("", "has 1 fault"), ("\0", "line 1, column 1")):
            with self.subTest(text=text):
                menus = self.menus(document=text or "\n")
                self.assertIn(wanted, menus.screen())
                menus.close()
        menus = self.menus("configure", document=None, config="/")
        self.assertIn("The document cannot be used", menus.screen())
        self.assertIn("Main menu", menus.keys("q"))


@tui.needs_tmux
class Repairing(tui.Case):
    def test_other_values_are_typed(self):
        with open(tui.DOCUMENT, encoding="utf-8") as file:
            good = file.read()
        bad = good.replace("memory_percent: 80.0", "memory_percent: 800").replace("numa: [0, 1]", "numa: [0, x]")
        menus = self.menus(document=bad)
        self.assertIn("Type other values", menus.keys("End", "Up", "Up", "Up"))
        self.assertIn("numa.0.memory_percent", menus.keys("Enter"))
        self.assertIn("it must be a number", menus.keys("Enter"))  # the value as it is
        self.assertIn("numa.1.memory_percent", menus.keys("C-u", "=80.0", "Enter"))
        screen = menus.keys("Escape")
        self.assertIn("nothing is changed", screen)
        self.assertIn("roce.cards.0003:01:00.0.numa", menus.keys("Enter", "C-u", "=80.0", "Enter", "C-u", "=70", "Enter"))
        self.assertIn("the document is repaired, in memory only", menus.keys("C-u", "=0, 1", "Enter"))
        self.assertEqual(menus.text(), bad)
        menus.keys("s")
        first, rest = good.split("memory_percent: 80.0", 1)
        self.assertEqual(menus.text(), first + "memory_percent: 80.0" + rest.replace("memory_percent: 80.0", "memory_percent: 70"))

    def test_not_without_a_key(self):
        menus = self.menus(document="schema: aitherion.topology/1\nnuma: [{ id: 0, node: x }]\n")
        self.assertNotIn("Type other values", menus.screen())  # keys are missing, too


@tui.needs_tmux
class Configure(tui.Case):
    def test_the_menu_of_entries_then_the_main_menu(self):
        menus = self.menus("configure")
        self.assertIn("NUMA configuration menu", menus.screen())
        self.assertIn("Main menu", menus.keys("q"))

    def test_one_entry(self):
        menus = self.menus("configure", "1")
        self.assertIn("Configure NUMA1", menus.screen())
        self.assertIn("NUMA configuration menu", menus.keys("q"))

    def test_missing_entry(self):
        self.assertIn("there is no entry NUMA7", self.menus("configure", "7").screen())

    def test_numa_configure(self):
        self.assertIn("NUMA configuration menu", self.menus("numa", "configure").screen())


if __name__ == "__main__":
    harness.main()
