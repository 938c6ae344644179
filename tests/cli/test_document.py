#!/usr/bin/env python3
"""init and configure as a user sees them: what is written, refused, kept, suggested."""
import json
import os
import shlex
import tempfile
import unittest

import cli  # noqa: F401 - finds harness
import harness


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(dir=harness.scratch())
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "topology.yaml")

    def run_on(self, *args, path=None, code=0):
        result = harness.run("-c", path or self.path, *args)
        self.assertEqual(result.returncode, code, f"{args}: {result.stdout}{result.stderr}")
        return result

    def make(self):
        self.run_on("init", "--profile", "ac922")

    def text(self, name="topology.yaml"):
        with open(os.path.join(self.folder.name, name), encoding="utf-8") as file:
            return file.read()


class Repair(Case):
    def test_faulty_values(self):
        """--set repairs a document whose faults are in the values that it names."""
        self.make()
        good = self.text().replace("memory_percent: 80.0", "memory_percent: 80")
        bad = good.replace("memory_percent: 80", "memory_percent: 800")
        self.assertEqual(bad.count("memory_percent: 800"), 2)
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(bad)
        self.assertIn("configure --set KEY=VALUE repairs a value", self.run_on("configure", "--show", code=1).stderr)
        both = ["--set", "numa.0.memory_percent=80", "--set", "numa.1.memory_percent=80"]
        refused = self.run_on("configure", *both[:2], code=1)
        self.assertIn("cannot set 'numa.0.memory_percent' to '80': 'numa.1.memory_percent' must be", refused.stderr)
        self.assertIn("numa.0.memory_percent: 800 -> 80\n", self.run_on("configure", *both, "--dry-run").stdout)
        self.assertEqual(self.text(), bad)
        self.run_on("configure", *both)
        self.assertEqual(self.text(), good)

    def test_what_no_key_leads_to(self):
        self.make()
        for text in self.text().replace("vram_fraction", "vram_fractions", 1), "a: [":
            with open(self.path, "w", encoding="utf-8") as file:
                file.write(text)
            self.run_on("configure", "--set", "numa.0.memory_percent=70", code=1)
            self.assertEqual(self.text(), text)


class Init(Case):
    def test_the_suggested_next_command_works(self):
        result = self.run_on("init", "--root", "ac922-4gpu")
        words = result.stdout.rsplit("Next: aitherion ", 1)[1].split()
        self.assertEqual(harness.run(*words).returncode, 0)

    def test_an_existing_document_stays(self):
        self.make()
        before = self.text()
        result = self.run_on("init", code=1)
        self.assertIn("--force", result.stderr)
        self.assertIn(self.path, result.stderr)
        self.assertEqual(self.text(), before)

    def test_force_keeps_every_old_document(self):
        self.make()
        original = self.text()
        for root in "ac922-4gpu", "ac922-6gpu", "ac922-6gpu":
            self.run_on("init", "--force", "--root", root)
        self.assertEqual(self.text("topology.yaml.bak"), original)
        self.assertIn("0004:04:00.0", self.text("topology.yaml.bak.1"))
        self.assertFalse(os.path.exists(self.path + ".bak.2"), "the same text was kept twice")

    def test_a_new_folder_is_named(self):
        path = os.path.join(self.folder.name, "new", "below", "topology.yaml")
        made = os.path.join(self.folder.name, "new")
        value = json.loads(self.run_on("init", "--root", "ac922-4gpu", "--json", "--dry-run", path=path).stdout)
        self.assertEqual((value["made_folder"], os.listdir(self.folder.name)), (None, []))
        self.assertIn(f"made the folder '{made}'\n", self.run_on("init", "--root", "ac922-4gpu", path=path).stdout)
        os.remove(path)
        self.assertNotIn("folder", self.run_on("init", "--root", "ac922-4gpu", path=path).stdout)

    @unittest.skipIf(os.geteuid(), "only root can mount and change to another user")
    def test_hints_after_a_refusal(self):
        command = ["unshare", "-m", "sh", "-ec",
                   f'mount -t tmpfs tmpfs "{self.folder.name}"; cp "$1" "{self.path}"; shift; '
                   f'mount -o remount,ro "{self.folder.name}"; exec "$@"', "sh"]
        self.make()
        copy = os.path.join(harness.scratch(), "copy.yaml")
        os.replace(self.path, copy)
        change = [harness.binary(), "configure", "0", "--memory-percent", "70", "--root", "ac922-4gpu", "-c", self.path]
        result = harness.run(command=[*command, copy, *change])
        if "mount:" in result.stderr or "unshare:" in result.stderr:
            self.skipTest(f"no mounts here: {result.stderr.strip()}")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("Read-only file system\n  hint: the file system is mounted read-only", result.stderr)
        os.replace(copy, self.path)
        for folder in (harness.scratch(), self.folder.name):
            os.chmod(folder, 0o755)
        try:
            result = harness.run(command=["setpriv", "--reuid", "65534", "--clear-groups", "--inh-caps=-all", *change])
        except PermissionError as reason:
            self.skipTest(f"other users cannot run this build: {reason}")
        if "setpriv:" in result.stderr:
            self.skipTest(f"other users cannot run this build: {result.stderr.strip()}")
        self.assertIn("Permission denied\n  hint: run the same command as root", result.stderr)
        result = harness.run(command=["setpriv", "--reuid", "65534", "--clear-groups", "--inh-caps=-all", harness.binary(), "init",
                                      "--root", "ac922-4gpu", "-c", os.path.join(self.folder.name, "first.yaml")])
        self.assertIn("Permission denied\n  hint: sudo aitherion ", result.stderr)  # no lock file exists yet

    def test_a_folder_that_takes_no_files(self):
        result = self.run_on("init", path="/proc/x.yaml", code=1)
        self.assertEqual(result.stderr, "aitherion: cannot write '/proc/x.yaml': its folder takes no files: No such file or directory\n"
                                        "  hint: choose a writable place: aitherion init -c FILE\n")

    def test_a_folder_is_not_a_document(self):
        result = self.run_on("init", path=self.folder.name, code=1)
        self.assertIn("folder", result.stderr)
        self.assertEqual(os.listdir(self.folder.name), [])

    def test_a_dangling_link_is_followed(self):
        target = os.path.join(self.folder.name, "real.yaml")
        os.symlink("real.yaml", self.path)
        self.make()
        self.assertTrue(os.path.islink(self.path))
        self.assertTrue(os.path.isfile(target))

    def test_a_profile_is_not_a_machine(self):
        result = self.run_on("init", "--profile", "ac922", "--root", "ac922-6gpu", code=2)
        self.assertIn("--root", result.stderr)

    def test_each_profile_fits_its_machine(self):
        profiles = {"ac922": ("--root", "ac922-4gpu"), "ac922-6gpu": ("--root", "ac922-6gpu"), "dgx2": ("--topology", "dgx2-16gpu"),
                    "minsky": ("--topology", "power8-minsky-4gpu-nvlink")}
        row = next(row for row in cli.places() if row["path"] == "init")
        options = {option["name"]: option for option in row["options"]}
        self.assertEqual({*profiles, "auto"}, set(options["profile"]["suggestions"]))
        self.assertEqual({name + "_topology.yaml" for name in profiles},
                         {name for name in os.listdir(os.path.join(harness.SOURCE, "etc")) if name.endswith(".yaml")})
        self.assertIn(f"({', '.join(sorted(profiles))})", options["profile"]["help"])
        for profile, machine in profiles.items():
            with self.subTest(profile):
                self.run_on("init", "--force", "--profile", profile)
                shown = json.loads(self.run_on("configure", "--show", "--json", *machine).stdout)
                self.assertEqual([fault for fault in shown["warnings"] if fault["code"] != "memory-owner-unknown"], [])
                self.assertTrue(all(entry["gpus"] for entry in shown["document"]["numa"]))

    def test_a_profile_of_another_machine(self):
        self.run_on("init")
        self.assertEqual(json.loads(self.run_on("init", "--force", "--json").stdout)["machine_faults"], 0)
        count = json.loads(self.run_on("init", "--force", "--json", "--profile", "dgx2").stdout)["machine_faults"]
        self.assertGreaterEqual(count, 16)  # this machine lacks those 16 GPUs
        self.assertIn(f"warning: the document does not fit this machine ({count} faults): aitherion -c {self.path} health\n",
                      self.run_on("init", "--force", "--profile", "dgx2").stdout)
        health = json.loads(self.run_on("health", "--json", code=3).stdout)
        self.assertEqual(sum(check["code"] == "gpu-missing" for check in health["checks"]), 16)

    def test_json_holds_the_document(self):
        result = self.run_on("init", "--root", "ac922-4gpu", "--json")
        self.assertEqual(json.loads(result.stdout)["text"], self.text())

    def test_quiet_prints_nothing(self):
        result = self.run_on("-q", "init", "--profile", "ac922")
        self.assertEqual(result.stdout + result.stderr, "")


class Configure(Case):
    def setUp(self):
        super().setUp()
        self.make()

    def test_an_entry_can_be_renamed(self):
        self.run_on("configure", "--set", "roce.macvlans.macvlan0.name=data0")
        self.assertIn("name: data0", self.text())
        self.assertNotIn("name: macvlan0", self.text())

    def test_keys_below_an_entry(self):
        self.run_on("configure", "1", "--set", "memory_percent=55")
        shown = self.run_on("configure", "1", "--show").stdout
        self.assertIn("55", shown)
        self.assertIn("NUMA entry 1", shown)
        self.assertNotIn("NUMA entry 0", shown)

    def test_missing_entry(self):
        self.assertIn("no NUMA entry 7", self.run_on("configure", "7", "--show", code=1).stderr)

    def test_only_new_misfits_are_listed(self):
        result = harness.run("-c", self.path, "--json", "configure", "--root", "ac922-4gpu", "--set",
                             "numa.0.data_iface=eth99", "--set", "numa.0.memory_percent=50")
        report = json.loads(result.stdout)
        self.assertEqual([warning["code"] for warning in report["warnings"]], ["interface-missing"])
        again = json.loads(harness.run("-c", self.path, "--json", "configure", "--root", "ac922-4gpu", "--set",
                                       "numa.0.memory_percent=51").stdout)
        self.assertEqual(again["warnings"], [])
        self.assertEqual(again["older_warning_count"], report["older_warning_count"] + 1)

    def test_a_key_is_set_once(self):
        before = self.text()
        result = self.run_on("configure", "--set", "node.name=a", "--set", "node.name=b", code=2)
        self.assertIn("'node.name'", result.stderr)
        self.assertEqual(self.text(), before)

    def test_changes_are_all_or_nothing(self):
        before = self.text()
        self.run_on("configure", "--set", "node.name=other", "--set", "numa.0.memory_percent=101", code=1)
        self.assertEqual(self.text(), before)

    def test_dry_run_changes_nothing(self):
        before = self.text()
        result = self.run_on("configure", "--set", "node.name=other", "--dry-run")
        self.assertIn("ac922-01 -> other", result.stdout)
        self.assertEqual(self.text(), before)

    def test_hints_name_the_given_machine(self):
        """Splits a command as a shell does. Commands that read no machine, commands in quotes and --help get no options."""
        folder = os.path.join(self.folder.name, "a machine")
        os.symlink(harness.capture("ac922-4gpu"), folder)
        result = self.run_on("configure", "7", "--show", "--root", folder, code=1)
        hint = f"aitherion -c {self.path} --root '{folder}' configure --show"
        self.assertIn(f"hint: {hint}\n", result.stderr)
        self.assertEqual(harness.run(*shlex.split(hint)[1:]).returncode, 0)
        result = harness.run("init", "-c", os.path.join(self.folder.name, "new.yaml"), "--root", folder)
        self.assertIn(f"configure --show -c {self.folder.name}/new.yaml --root '{folder}'\n", result.stdout)
        result = harness.run("configure", "--root", folder, "--nosuch")
        self.assertIn("hint: aitherion configure --help\n", result.stderr)
        result = harness.run("roce", "lst", "-c", self.path)
        self.assertIn("'aitherion roce list'", result.stderr)

    def test_hints_name_the_given_document(self):
        result = self.run_on("configure", "--set", "numa.0.memry=5", code=1)
        self.assertIn(f"aitherion -c {self.path} ", result.stderr)


class AnotherMachine(Case):
    """Without -c the document is this machine's. The devices of a machine that --root or --topology names stay out of it."""

    def test_this_machines_document_stays(self):
        own = os.path.join(self.folder.name, "aitherion", "topology.yaml")
        self.run_on("init", "--root", "ac922-4gpu", path=own)
        with open(own, encoding="utf-8") as file:
            before = file.read()
        environment = harness.environment(XDG_CONFIG_HOME=self.folder.name)
        xml = os.path.join(harness.DATA, "topologies", "dgx2-16gpu.hwloc2.xml")
        for words in (["init", "--force"], ["roce", "add", "mlx5_1"], ["roce", "bind", "mlx5_0", "0"],
                      ["roce", "remove", "mlx5_0"], ["roce", "macvlan", "mv7", "--parent", "enP5p1s0f0"],
                      ["configure", "0", "--memory-percent", "60"], ["configure", "--set", "numa.0.data_port=6000"]):
            for machine in (["--root", "ac922-4gpu"], ["--topology", xml])[:1 if words[0] == "roce" else 2]:
                result = harness.run(*words, *machine, env=environment)
                self.assertEqual((result.returncode, result.stdout), (2, ""), (words, machine, result.stderr))
                self.assertRegex(result.stderr, f"^aitherion: '{machine[0]}' reads another machine; .* document '{own}'\n"
                                                r"  hint: name a document for that machine with -c FILE\n$")
        with open(own, encoding="utf-8") as file:
            self.assertEqual(file.read(), before)
        self.assertFalse(os.path.exists(own + ".bak"))
        result = harness.run("configure", "0", "--memory-percent", "60", "--root", "ac922-4gpu", "--dry-run", env=environment)
        self.assertEqual(result.returncode, 0, result.stderr)


class Discover(Case):
    def formats(self, *args):
        path = os.path.join(self.folder.name, args[-1])
        result = harness.run("-q", "discover", "--root", "ac922-4gpu", *args[:-1], "-o", path)
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.text(args[-1])

    def test_the_file_name_chooses_the_format(self):
        self.assertTrue(self.formats("a.json").startswith("{"))
        self.assertTrue(self.formats("a.yml").startswith("schema: "))
        self.assertIn("<svg", self.formats("a.svg"))

    def test_the_option_overrides_the_file_name(self):
        self.assertTrue(self.formats("--yaml", "b.json").startswith("schema: "))
        self.assertTrue(self.formats("--format", "json", "b.yaml").startswith("{"))

    def test_other_picture_formats_are_refused(self):
        path = os.path.join(self.folder.name, "a.png")
        result = harness.run("discover", "-o", path)
        self.assertEqual(result.returncode, 2)
        self.assertIn(".svg", result.stderr)
        self.assertFalse(os.path.exists(path))

    def test_a_topology_may_come_through_a_pipe(self):
        with open(os.path.join(harness.SOURCE, "tests", "data", "topologies", "dgx2-16gpu.hwloc2.xml"),
                  encoding="utf-8") as file:
            result = harness.run("discover", "--topology", "-", "--json", input=file.read())
        self.assertEqual(len(json.loads(result.stdout)["gpus"]), 16)

    def test_shipped_captures_are_named(self):
        self.assertIn("ac922-4gpu", harness.run("discover", "--root", "ac92").stderr)
        self.assertIn("--root ac922-4gpu", harness.run("discover", "--topology", "ac922-4gpu").stderr)
        self.assertIn("dgx2-16gpu", harness.run("discover", "--topology", "dgx").stderr)

    def test_completion_offers_shipped_captures(self):
        for option in cli.table()["machine_options"]:
            for name in option["suggestions"]:
                result = harness.run("discover", "--" + option["name"], name)
                self.assertEqual(result.returncode, 0, result.stderr)


if __name__ == "__main__":
    harness.main()
