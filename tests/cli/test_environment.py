#!/usr/bin/env python3
"""Poor environments: an ordinary user, a read-only /etc, no /sys, no /proc, no home. aitherion gives useful output or a
clear error.
"""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import cli
import harness

NOBODY = 65534


def needs_root(test):
    return unittest.skipUnless(os.geteuid() == 0, "needs root")(test)


def unshare(*command):
    """Returns a command line that runs another one in a mount namespace of its own, or None if that is not allowed."""
    prefix = ["unshare", "--mount"]
    if not shutil.which("unshare") or subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
        return None
    return [*prefix, *command]


def needs_copy(test):
    return unittest.skipUnless(harness.copies_alone(), "the binary runs through an emulator, which does not exist in the folder")(test)


class Live(unittest.TestCase):
    def test_this_machine(self):
        result = harness.run("discover", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        value, faults = harness.check_json(result.stdout)
        self.assertEqual(faults, [])
        self.assertEqual(value["machine"]["source"], "live")
        self.assertEqual(value["machine"]["hostname"], os.uname().nodename)
        self.assertGreaterEqual(len(value["numa_nodes"]), 1)

    def test_cpus_match_the_kernel(self):
        folder = "/sys/devices/system/node"
        if not os.path.isdir(folder):
            self.skipTest("this kernel reports no NUMA nodes")
        value = harness.check_json(harness.run("discover", "--json").stdout)[0]
        for node in value["numa_nodes"]:
            with open(f"{folder}/node{node['id']}/cpulist", encoding="ascii") as file:
                self.assertEqual(node["cpus"], file.read().strip())

    def test_nothing_is_written(self):
        folder = os.path.join(harness.scratch(), "home")
        os.makedirs(folder, exist_ok=True)
        harness.run("discover", env=harness.environment(HOME=folder, XDG_CONFIG_HOME=folder), cwd=folder)
        self.assertEqual(os.listdir(folder), [])


@needs_root
@needs_copy
class OrdinaryUser(unittest.TestCase):
    def setUp(self):
        if not shutil.which("setpriv"):
            self.skipTest("no setpriv (package util-linux)")
        folder = os.path.join(harness.scratch(), "as-nobody")
        build = harness.build()
        if not os.path.isdir(folder):
            os.makedirs(folder)
            shutil.copy(harness.binary(), folder)
            shutil.copytree(os.path.join(build, "share"), os.path.join(folder, "share"), symlinks=True)
        os.chmod(harness.scratch(), 0o755)
        self.prefix = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", os.path.join(folder, "aitherion")]

    def test_discover(self):
        prefix = self.prefix
        result = harness.run(command=[*prefix, "discover", "--json"], cwd="/")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(harness.check_json(result.stdout)[1], [])
        result = harness.run(command=[*prefix, "discover", "--root", "ac922-4gpu"], cwd="/")
        self.assertEqual(result.returncode, 0, result.stderr)
        result = harness.run(command=[*prefix, "init", "--root", "ac922-4gpu", "-c", "/etc/aitherion/topology.yaml"], cwd="/")
        self.assertEqual(result.returncode, 1)
        self.assertIn("/etc/aitherion", result.stderr)

    def hint(self, *words, **changes):
        result = harness.run(command=[*self.prefix, "--json", *words], cwd="/", env=harness.environment(**changes))
        self.assertEqual(result.returncode, 1, result.stderr)
        error, faults = harness.check_json(result.stderr)
        self.assertEqual((error["code"], faults), ("no-access", []))
        return error["hint"]

    def test_folders_of_another_user(self):
        """After `su USER` the environment may still name folders of the first user."""
        folder = tempfile.mkdtemp(dir=harness.scratch())  # with mode 0700
        self.assertEqual(self.hint("discover", "--root", folder), "run the same command as root, with sudo in front")
        self.assertIn("unset XDG_RUNTIME_DIR", self.hint("session", "list", AITHERION_RUN_FOLDER=os.path.join(folder, "run")))


class ReadOnlyEtc(unittest.TestCase):
    @needs_root
    def test_discover_works_and_init_explains_its_error(self):
        inside = ('mount --bind /etc /etc && mount -o remount,ro,bind /etc || exit 99; '
                  '"$0" discover --root "$1" >/dev/null || exit 98; exec "$0" init --root "$1" -c /etc/aitherion/topology.yaml')
        command = unshare("sh", "-c", inside, harness.binary(), harness.capture("ac922-4gpu"))
        if not command:
            self.skipTest("no mount namespaces here")
        result = harness.run(command=command)
        if result.returncode == 99:
            self.skipTest("mount is not allowed here")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("/etc/aitherion", result.stderr)
        self.assertRegex(result.stderr, r"(?i)read-only")


@needs_copy
class Chroot(unittest.TestCase):
    """A folder with only the binary and its libraries."""

    @classmethod
    def setUpClass(cls):
        cls.folder = os.path.join(harness.scratch(), "chroot")
        for name in ("bin", "tmp"):
            os.makedirs(os.path.join(cls.folder, name), exist_ok=True)
        shutil.copy(harness.binary(), os.path.join(cls.folder, "bin", "aitherion"))
        listed = subprocess.run(["ldd", harness.binary()], capture_output=True, text=True, check=False).stdout
        for path in re.findall(r"(?:=> )?(/\S+) \(0x", listed):
            target = cls.folder + path
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy(path, target)

    def run_inside(self, *args):
        if os.geteuid() or not shutil.which("chroot"):
            self.skipTest("needs root and chroot")
        if cli.IS_SANITIZED:
            self.skipTest("the sanitizers need /proc")
        return harness.run(command=["chroot", self.folder, "/bin/aitherion", *args], cwd="/")

    def test_version_and_help(self):
        for args in (["--version"], ["--help"], ["discover", "--help"]):
            result = self.run_inside(*args)
            self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_discover_says_what_is_missing(self):
        result = self.run_inside("discover")
        self.assertIn(result.returncode, (0, 1))
        self.assertIn("/sys", result.stdout + result.stderr)
        result = self.run_inside("discover", "--json")
        text = result.stdout if result.returncode == 0 else result.stderr
        self.assertEqual(harness.check_json(text)[1], [])


class Surroundings(unittest.TestCase):
    def test_without_any_variable(self):
        for args in (["version"], ["discover", "--root", harness.capture("laptop")]):
            result = harness.run(*args, env={"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")})
            self.assertEqual((result.returncode, result.stderr), (0, ""), args)

    def test_without_standard_streams(self):
        result = harness.run(command=["sh", "-c", '"$0" discover --root "$1" <&- 2>&- >/dev/null', harness.binary(),
                                      harness.capture("laptop")])
        self.assertEqual(result.returncode, 0)

    def test_a_broken_locale(self):
        result = harness.run("discover", "--root", harness.capture("laptop"), env=harness.environment(LC_ALL="xx_XX.nonsense"))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertTrue(result.stdout.isascii())

    def test_started_by_a_link(self):
        link = os.path.join(harness.scratch(), "link-to-aitherion")
        os.symlink(harness.binary(), link)
        result = harness.run(command=[link, "discover", "--root", "ac922-4gpu"])
        self.assertEqual((result.returncode, result.stderr), (0, ""))


if __name__ == "__main__":
    harness.main()
