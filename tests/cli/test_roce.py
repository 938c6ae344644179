#!/usr/bin/env python3
"""roce list, add, remove, bind on captures, as users and scripts see them."""
import fcntl
import glob
import json
import os
import shutil
import subprocess
import unittest

import cli  # noqa: F401 - finds harness
import harness
import test_document

PROFILE = os.path.join(harness.SOURCE, "etc", "ac922_topology.yaml")


class Case(test_document.Case):
    """A document in a folder, and an AC922."""
    ROOT = "ac922-4gpu"

    def setUp(self):
        super().setUp()
        self.write(self.read(PROFILE))

    @staticmethod
    def read(path):
        with open(path, encoding="utf-8") as file:
            return file.read()

    def write(self, text):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)

    def roce(self, *args, root=None, code=0, **options):
        result = harness.run("roce", *args, "-c", self.path, "--root", harness.capture(root or self.ROOT), **options)
        self.assertEqual(result.returncode, code, f"{args}: {result.stdout}{result.stderr}")
        if not code:
            self.assertEqual(result.stderr, "")
        return result.stdout if not code else result.stderr

    def roce_json(self, *args, **options):
        value, faults = harness.check_json(self.roce(*args, "--json", **options))
        self.assertEqual(faults, [])
        return value

    def refused(self, word, *args, code=1, **options):
        """Returns the error of a refused command, which leaves the document unchanged."""
        before = self.text()
        text = self.roce(*args, code=code, **options)
        value, faults = harness.check_json(self.roce(*args, "--json", code=code, **options))
        self.assertEqual(faults, [])
        self.assertEqual(value["code"], word, args)
        self.assertTrue(value["hint"], f"{args}: no hint")
        self.assertEqual(self.text(), before)
        return text

    def changed(self, before):
        """Returns (removed lines, added lines); all other lines are the same byte for byte."""
        old, new = before.split("\n"), self.text().split("\n")
        return [line for line in old if line not in new], [line for line in new if line not in old]

    def codes(self, report):
        return [note["code"] for note in report["notes"]]


class Add(Case):
    ADDED = ['    - pci: "0030:01:00.0"', "      description: \"ConnectX-4 Lx\"", "      numa: [1]"]

    def test_every_name_of_a_card_means_the_card(self):
        original = self.text()
        for name in "0030:01:00.0", "0030:01:00.1", "30:1:0.1", "mlx5_2", "mlx5_3", "enP48p1s0f1":
            self.write(original)
            report = self.roce_json("add", name)
            self.assertTrue(report["is_saved"])
            self.assertEqual(self.changed(original), ([], self.ADDED), name)
            is_address = name.startswith("0030:01:00.0")
            self.assertEqual(self.codes(report), [] if is_address else ["card-named"], name)

    def test_without_numa_it_is_for_the_entries_near_it(self):
        self.roce("remove", "0003:01:00.0")
        self.roce("add", "0033:01:00.1")
        self.assertIn('pci: "0003:01:00.0"', self.text())
        self.assertIn("numa: [0, 1]", self.text())

    def test_twice_is_once(self):
        self.roce("add", "mlx5_2")
        before = self.text()
        report = self.roce_json("add", "mlx5_2")
        self.assertEqual((report["is_saved"], report["changes"]), (False, []))
        self.assertIn("needs no change", self.roce("add", "mlx5_2", "--numa", "1"))
        self.assertEqual(self.text(), before)

    def test_other_entries_take_the_place_of_the_old(self):
        before = self.text()
        report = self.roce_json("add", "mlx5_0", "--numa", "NUMA1")
        self.assertEqual(report["changes"],
                         [{"key": "roce.cards.0003:01:00.0.numa", "old": [0, 1], "new": [1]}])
        self.assertEqual(self.changed(before), (["      numa: [0, 1]"], ["      numa: [1]"]))
        for words in "0,1", "0-1", "[1, 0]", "aitherion-numa0 numa1":
            self.write(before)
            self.assertEqual(self.roce_json("add", "mlx5_0", "--numa", words)["changes"], [], words)

    def test_entries_stay_unless_given(self):
        self.roce("add", "mlx5_0", "--numa", "1")
        report = self.roce_json("add", "mlx5_0", "--description", "the big one")
        self.assertEqual([change["key"] for change in report["changes"]], ["roce.cards.0003:01:00.0.description"])
        self.assertIn("description: \"the big one\"", self.text())

    def test_dry_run_writes_nothing(self):
        before = self.text()
        os.chmod(self.folder.name, 0o555)
        try:
            report = self.roce_json("add", "mlx5_2", "--dry-run")
        finally:
            os.chmod(self.folder.name, 0o755)
        self.assertTrue(report["is_dry_run"])
        self.assertEqual(len(report["changes"]), 3)
        self.assertEqual(self.text(), before)
        self.assertEqual(os.listdir(self.folder.name), ["topology.yaml"])

    def test_quiet_is_quiet(self):
        self.assertEqual(self.roce("add", "mlx5_2", "-q"), "")
        self.assertIn("0030:01:00.0", self.text())

    def test_yaml_equals_json(self):
        self.assertIn("is_dry_run: true", self.roce("add", "mlx5_2", "--dry-run", "--yaml"))

    def test_refusals(self):
        self.assertIn("did you mean 'mlx5_", self.refused("not-found", "add", "mlx5_9"))
        self.refused("not-found", "add", "0007:01:00.0")
        self.assertIn("BCM5719", self.refused("no-rdma", "add", "0005:01:00.0"))
        self.refused("no-rdma", "add", "enP5p1s0f0")
        self.assertIn("NUMA0, NUMA1", self.refused("key-unknown", "add", "mlx5_2", "--numa", "1,2"))
        self.refused("usage", "add", "mlx5_2", "--numa", "", code=2)
        self.refused("not-supported", "add", "mlx5_1", root="sriov")
        self.refused("usage", "add", "mlx4_0", root="connectx3", code=2)  # at node 1, which has no entry

    def test_a_port_in_infiniband_mode_is_reported(self):
        report = self.roce_json("add", "mlx5_0", root="ac922-4gpu-infiniband")
        self.assertEqual(self.codes(report), ["card-named"] + ["infiniband-mode"] * 4)
        self.assertIn("mlxconfig -d 0003:01:00.0", report["notes"][1]["hint"])

    def test_missing_machine(self):
        result = harness.run("roce", "add", "mlx5_0", "-c", self.path, "--root", "/nonexistent")
        self.assertEqual(result.returncode, 1)

    def test_no_document(self):
        os.remove(self.path)
        error = self.roce("add", "mlx5_0", code=1)
        self.assertRegex(error, r"hint: aitherion -c \S+ --root \S+ init\n")
        self.assertEqual(os.listdir(self.folder.name), [])

    def test_a_document_with_faults_shows_them(self):
        self.write(self.text().replace("memory_percent: 80.0", "memory_percent: 180.0"))
        error = self.roce("add", "mlx5_2", code=1)
        self.assertIn("memory_percent", error)
        self.assertRegex(error, r"topology\.yaml:\d+:\d+:")


class Remove(Case):
    def test_only_the_card_is_removed(self):
        before = self.text()
        for name in "0003:01:00.0", "0033:01:00.1", "mlx5_4", "enP3p1s0f0":
            self.write(before)
            report = self.roce_json("remove", name)
            self.assertEqual([change["new"] for change in report["changes"]], [None] * 3)
            gone, came = self.changed(before)
            self.assertEqual(came, ["  cards: []"])
            self.assertEqual(len(gone), 4, gone)

    def test_bound_devices_are_reported(self):
        report = self.roce_json("remove", "0003:01:00.0")
        notes = [note for note in report["notes"] if note["code"] == "still-bound"]
        self.assertEqual([note["object"] for note in notes], ["mlx5_0"])
        words = notes[0]["hint"].split()
        self.assertEqual(words[:5], ["aitherion", "roce", "bind", "mlx5_0", "0"])
        self.assertEqual(harness.run(*words[1:]).returncode, 0, "the hint works")
        self.assertNotIn("mlx5_0", self.text())

    def test_removing_a_missing_card_succeeds(self):
        before = self.text()
        for name in "0030:01:00.0", "mlx5_2", "0007:01:00.0":
            self.assertIn("nothing to do", self.roce("remove", name))
            self.assertIn("nothing-to-do", self.codes(self.roce_json("remove", name)))
        self.assertEqual(self.text(), before)

    def test_an_unknown_card_is_named(self):
        before = self.text()
        for args in (("remove", "0042:01:00.0"), ("bind", "mlx5_99", "0", "--unbind")):
            report = self.roce_json(*args)
            self.assertEqual(self.codes(report), ["not-there", "nothing-to-do"])
            self.assertIn("this machine has no", report["notes"][0]["message"])
            self.assertIn("roce list", report["notes"][0]["hint"])
            self.assertIn(f"'{report['notes'][0]['object']}'", self.roce(*args))
        self.assertEqual(self.codes(self.roce_json("bind", "mlx5_3", "0", "--unbind")), ["nothing-to-do"])
        self.assertEqual(self.text(), before)

    def test_a_card_that_left_the_machine(self):
        self.roce("remove", "0003:01:00.0", root="laptop")
        self.assertIn("cards: []", self.text())

    def test_refusals(self):
        self.refused("not-found", "remove", "eth77")
        self.refused("no-rdma", "remove", "enP5p1s0f0")


class Bind(Case):
    def test_every_name_of_an_entry(self):
        original = self.text()
        for name in "0", "NUMA0", "numa0", "aitherion-numa0":
            self.write(original)
            self.roce("bind", "mlx5_1", name)
            self.assertEqual(self.changed(original)[1][0].split("#")[0].strip(), "rdma_devices: [mlx5_0, mlx5_1]")

    def test_a_link_or_a_function_names_its_device(self):
        for name in "enP3p1s0f1", "0003:01:00.1", "mlx5_1:1":
            report = self.roce_json("bind", name, "0", "--dry-run")
            self.assertEqual(report["changes"][0]["new"], ["mlx5_0", "mlx5_1"])
            self.assertEqual(self.codes(report), ["device-named"])

    def test_missing_port(self):
        self.refused("not-found", "bind", "mlx5_1:2", "0")

    def test_there_and_back_leaves_the_document_as_it_was(self):
        before = self.text()
        self.roce("bind", "mlx5_1", "0")
        self.assertNotEqual(self.text(), before)
        self.roce("bind", "mlx5_1", "0", "--unbind")
        self.assertEqual(self.text(), before)

    def test_twice_is_once(self):
        before = self.text()
        self.assertIn("needs no change", self.roce("bind", "mlx5_0", "0"))
        self.assertIn("nothing to do", self.roce("bind", "mlx5_1", "0", "--unbind"))
        self.assertEqual(self.text(), before)

    def test_a_far_device_is_accepted_with_a_warning(self):
        report = self.roce_json("bind", "mlx5_4", "0")
        self.assertTrue(report["is_saved"])
        far = next(note for note in report["notes"] if note["code"] == "device-far")
        self.assertTrue(far["is_warning"])
        self.assertIn("nearer: mlx5_0, mlx5_1", far["message"])
        self.assertNotIn("device-far", self.codes(self.roce_json("bind", "mlx5_4", "1")))

    def test_a_card_that_is_not_in_use_for_the_entry(self):
        report = self.roce_json("bind", "mlx5_3", "1")
        note = next(note for note in report["notes"] if note["code"] == "card-not-taken")
        words = note["hint"].split()
        self.assertEqual(harness.run(*words[1:], "--root", harness.capture(self.ROOT)).returncode, 0)
        self.assertNotIn("card-not-taken", self.codes(self.roce_json("bind", "mlx5_3", "1")))

    def test_a_device_of_two_containers(self):
        self.assertIn("device-shared", self.codes(self.roce_json("bind", "mlx5_0", "1")))

    def test_infiniband_mode_is_accepted_and_reported(self):
        report = self.roce_json("bind", "mlx5_1", "0", root="ac922-4gpu-infiniband")
        self.assertTrue(report["is_saved"])
        self.assertIn("infiniband-mode", self.codes(report))

    def test_devices_that_are_no_port_of_a_card(self):
        self.assertTrue(self.roce_json("bind", "mlx5_1", "0", root="sriov")["is_saved"])

    def test_a_missing_device_can_be_unbound(self):
        self.roce("bind", "mlx5_0", "0", "--unbind", root="laptop")
        self.assertNotIn("mlx5_0", self.text())
        self.assertIn("nothing to do", self.roce("bind", "mlx5_0", "0", "--unbind", root="laptop"))

    def test_comments_in_a_list_stay(self):
        self.write(self.text().replace("rdma_devices: [mlx5_0]",
                                       "rdma_devices:   # which\n      - mlx5_0   # near\n     "))
        before = self.text()
        self.roce("bind", "mlx5_1", "0")
        self.assertEqual(self.changed(before), ([], ["      - mlx5_1"]))

    def test_refusals(self):
        self.assertIn("did you mean 'mlx5_", self.refused("not-found", "bind", "mlx5_9", "0"))
        self.assertIn("NUMA0, NUMA1", self.refused("key-unknown", "bind", "mlx5_0", "2"))
        self.refused("key-unknown", "bind", "mlx5_0", "web")
        self.refused("no-rdma", "bind", "enP5p1s0f0", "0")
        self.refused("not-found", "bind", "mlx5_0", "0", root="laptop")
        self.assertEqual(harness.run("roce", "bind", "mlx5_0").returncode, 2)


class Lock(Case):
    def test_waits_for_another_writer(self):
        """The lock is released in time for the second of two commands."""
        with open(os.path.join(self.folder.name, ".topology.yaml.lock"), "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            command = [harness.binary(), "roce", "bind", "mlx5_1", "0", "-c", self.path, "--root",
                       harness.capture(self.ROOT)]
            waiting = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                       env=harness.environment())
            with self.assertRaises(subprocess.TimeoutExpired):
                waiting.communicate(timeout=1)
            self.assertNotIn("mlx5_1", self.text())
        out, err = waiting.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual((waiting.returncode, err), (0, ""), out)
        self.assertIn("mlx5_1", self.text())

    def test_waiting_too_long_is_an_error(self):
        with open(os.path.join(self.folder.name, ".topology.yaml.lock"), "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            result = harness.run("roce", "add", "mlx5_2", "-c", self.path, "--root", harness.capture(self.ROOT), "--json",
                                 "-q")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(harness.check_json(result.stderr)[0]["code"], "locked")

    def test_ten_writers_at_once_all_succeed(self):
        devices = ["mlx5_1", "mlx5_2", "mlx5_3", "mlx5_4", "mlx5_5"]
        commands = [[harness.binary(), "roce", "bind", device, entry, "-q", "--json", "-c", self.path, "--root",
                     harness.capture(self.ROOT)] for device in devices for entry in ("0", "1")]
        running = [subprocess.Popen(command, env=harness.environment(), stderr=subprocess.PIPE, text=True) for command in commands]
        for command, process in zip(commands, running):
            _, error = process.communicate(timeout=harness.PATIENCE_S)
            if process.returncode and json.loads(error)["code"] == "locked":  # after ten seconds, if this machine is slow
                error = harness.run(command=command).stderr
            self.assertEqual(error, "", command)
        shown = json.loads(harness.run("configure", "--show", "--json", "-c", self.path).stdout)
        for entry in shown["document"]["numa"]:
            self.assertEqual(set(devices) - set(entry["rdma_devices"]), set())


class List(Case):
    def test_every_capture_fits_its_schema_and_80_columns(self):
        for name in harness.capture_names():
            source = ("--topology" if name.endswith(".xml") else "--root", harness.capture(name))
            for path in self.path, os.path.join(self.folder.name, "none.yaml"):
                result = harness.run("roce", "list", *source, "-c", path, "--json")
                self.assertEqual((result.returncode, result.stderr), (0, ""), name)
                self.assertEqual(harness.check_json(result.stdout)[1], [], name)
                text = harness.run("roce", "list", "--all", *source, "-c", path, env=harness.environment(COLUMNS="80"))
                self.assertEqual((text.returncode, text.stderr), (0, ""), name)
                # a path is not broken
                wide = [line for line in text.stdout.split("\n") if len(line) > 80 and source[1] not in line and path not in line]
                self.assertEqual(wide, [], name)

    def ports(self, *args, **options):
        report = self.roce_json("list", *args, **options)
        return {f"{port['rdma_device']}:{port['port']}": port for card in report["cards"] for port in card["ports"]}

    def test_users_of_cards(self):
        report = self.roce_json("list", root="ac922-4gpu-macvlan")
        self.assertEqual([(card["pci"], card["is_in_document"], card["used_by"]) for card in report["cards"]],
                         [("0003:01:00.0", True, [0, 1]), ("0030:01:00.0", False, [])])
        ports = self.ports(root="ac922-4gpu-macvlan")
        self.assertEqual(ports["mlx5_0:1"]["bound_to"], [0])
        self.assertEqual([macvlan["name"] for macvlan in ports["mlx5_0:1"]["macvlans"]], ["macvlan0"])
        self.assertEqual(ports["mlx5_1:1"]["bound_to"], [])

    def test_it_changes_with_the_document(self):
        self.roce("add", "mlx5_2")
        self.roce("bind", "mlx5_2", "1", "--unbind")
        self.roce("bind", "mlx5_4", "1")
        report = self.roce_json("list")
        self.assertEqual(report["cards"][1]["used_by"], [1])
        ports = self.ports()
        self.assertEqual((ports["mlx5_2:1"]["bound_to"], ports["mlx5_4:1"]["bound_to"]), ([], [1]))

    def test_why_there_is_no_gid(self):
        self.assertIsNone(self.ports()["mlx5_0:1"]["gid_lack"])
        down = self.ports()["mlx5_3:1"]
        self.assertEqual((down["gid_lack"], down["gid_lack_hint"]), ("link-down", "ip link set enP48p1s0f1 up, and look at its cable: ethtool enP48p1s0f1"))
        self.assertEqual(self.ports(root="sriov-container")["mlx5_0:1"]["gid_lack"], "link-away")

    def test_all_shows_every_gid(self):
        some, every = self.roce("list", root="ac922-4gpu-macvlan"), self.roce("list", "--all", root="ac922-4gpu-macvlan")
        self.assertIn("192.168.100.10, RoCE v2, of macvlan0", some)
        self.assertIn("--all", some)
        self.assertNotIn("fe80", some)
        self.assertNotIn("--all", every)
        gids = sum(len(port["gids"]) for port in self.ports(root="ac922-4gpu-macvlan").values())
        self.assertEqual(every.count("RoCE v"), gids)

    def test_missing_parts(self):
        report = self.roce_json("list", root="laptop")
        self.assertEqual(report["cards"], [])
        self.assertEqual([card["pci"] for card in report["missing_cards"]], ["0003:01:00.0"])
        self.assertEqual([(device["rdma_device"], device["bound_to"]) for device in report["missing_devices"]],
                         [("mlx5_0", 0), ("mlx5_2", 1)])

    def test_soft_devices_are_with_their_cards(self):
        report = self.roce_json("list", root="soft-roce")
        self.assertEqual(report["cards"][0]["ports"][0]["rdma_device"], "rxe0")

    def test_no_document_is_no_error(self):
        os.remove(self.path)
        self.assertRegex(" ".join(self.roce("list").split()), r"yet \(aitherion -c \S+ --root \S+ init\)")  # the line may be wrapped
        self.assertIsNone(self.roce_json("list")["file"])

    def test_a_document_with_faults_is_one(self):
        self.write("schema: aitherion.topology/1\nnuma: 7\n")
        self.assertRegex(self.roce("list", code=1), r"topology\.yaml:2:")

    def test_the_live_machine(self):
        result = harness.run("roce", "list", "-c", self.path, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        value, faults = harness.check_json(result.stdout)
        self.assertEqual((value["source"], faults), ("live", []))


class OneAnswer(Case):
    """A port's GID to use, and why it has none, is the same in discover, roce list, start and health."""

    def ask(self, *args):
        result = harness.run(*args, "--json", "-c", self.path)
        value, faults = harness.check_json(result.stdout)
        self.assertEqual(faults, [], f"{args}: {result.stderr}")
        return value

    def check(self, option, capture):
        machine = self.ask("discover", option, capture)
        nics = {nic["rdma_device"]: nic for nic in machine["nics"] if nic["rdma_device"] and nic["port"] == 1}
        node = next(node["id"] for node in machine["numa_nodes"] if node["kind"] == "cpu")
        self.write(f"schema: aitherion.topology/1\nengine: {{ network: host }}\nnuma:\n  - id: 0\n    node: {node}\n"
                   f"    control_port: 6000\n    data_port: 6001\n    rdma_devices: [{', '.join(nics)}]\n")
        plan = self.ask("start", "--dry-run", option, capture)["nodes"][0]
        listed = {port["rdma_device"]: port
                  for card in self.ask("roce", "list", option, capture)["cards"] for port in card["ports"]}
        findings = self.ask("health", option, capture)["checks"]
        for device, nic in nics.items():
            with self.subTest(capture=os.path.basename(capture), device=device):
                port, index = listed[device], nic["best_gid_index"]
                planned = next(rdma for rdma in plan["rdma_devices"] if rdma["name"] == device)
                found = {f["code"] for f in findings if f["object"] == device and f["status"] == "fault"}
                warned = {w["code"] for w in plan["warnings"] if w["object"] == device}
                lacks = port["gid_lack"] not in (None, "link-local", "not-known")
                self.assertEqual(port["best_gid_index"], index)
                self.assertEqual(planned["gid_index"], index)
                self.assertEqual(index is None, lacks or port["gid_lack"] == "not-known")
                self.assertEqual("rdma-no-gid" in warned, lacks)
                self.assertEqual(bool(found & {"rdma-port-down", "gid-unusable"}), lacks)
                if nic["link"] == "down":
                    self.assertTrue(lacks)
                    self.assertIn("rdma-port-down", found)

    def test_of_captured_roots(self):
        for name in ("ac922-4gpu", "ac922-4gpu-infiniband", "roce-vlan", "roce-lag"):
            self.check("--root", harness.capture(name))

    def test_of_infiniband_ports_that_are_down(self):
        root = os.path.join(self.folder.name, "root")
        shutil.copytree(harness.capture("ac922-4gpu-infiniband"), root, symlinks=True)
        for state in glob.glob(os.path.join(root, "sys/devices/*/*/*/infiniband/mlx5_[0-3]/ports/1/state")):
            with open(state, "w", encoding="ascii") as file:
                file.write("1: DOWN\n" if "mlx5_1" in state else "2: INIT\n")
        self.check("--root", root)

    def test_of_topology_files(self):
        path = os.path.join(harness.DATA, "topologies", "xeon-2numa-gpu-mlx5.hwloc2.xml")
        text = self.read(path)
        for state in ("4", "1"):
            changed = os.path.join(self.folder.name, f"state{state}.xml")
            with open(changed, "w", encoding="utf-8") as file:
                file.write(text.replace('"Port1State" value="4"', f'"Port1State" value="{state}"'))
            self.check("--topology", changed)


if __name__ == "__main__":
    harness.main()
