#!/usr/bin/env python3
"""`roce macvlan`: changes of the document, refusals, and a kernel without macvlan (nothing is left behind).

tests/vm/roce_macvlan.sh has the tests that need a kernel with macvlan.
"""
import json
import os
import subprocess
import tempfile
import unittest

import cli
import harness

ROOT = ("--root", "ac922-4gpu")
NEW = ("--parent", "enP3p1s0f0", "--address", "192.168.100.10/24", "--numa", "0", "--mtu", "9000")
# Arguments and code word; the exit code is 1.
REFUSED = [
    (("mv1", "--parent", "enP3p1s0f9"), "not-found", "did you mean 'enP3p1s0f"),
    (("mv1", "--parent", "enP3p1s0f0", "--mtu", "9001"), "value-invalid", None),
    (("mv1", "--parent", "enP3p1s0f0", "--mtu", "9"), "value-invalid", None),
    (("mv1", "--parent", "enP3p1s0f0", "--mode", "bridged"), "value-invalid", None),
    (("mv1", "--parent", "enP3p1s0f0", "--address", "192.168.100.10"), "value-invalid", None),
    (("mv1", "--parent", "enP3p1s0f0", "--address", "192.168.100.10/25"), "address-in-use", "another address"),
    (("mv1", "--parent", "enP3p1s0f0", "--address", "10.1.1.1/24", "--host-address", "192.168.100.10/24"),
     "address-in-use", "another address"),
    (("mv1", "--parent", "enP3p1s0f0", "--address", "10.1.1.1/24", "--host-address", "10.1.1.1/24"), "address-in-use",
     "another address"),
    (("mv1", "--parent", "enP3p1s0f0", "--address", "10.1.1.0/24"), "value-invalid", None),
    (("mv1", "--parent", "enP3p1s0f0", "--address", "10.1.1.255/24"), "value-invalid", None),
    (("mv1", "--parent", "enP3p1s0f0", "--address", "224.1.1.1/24"), "value-invalid", None),
    (("mv1", "--parent", "enP3p1s0f0", "--address", "127.0.0.2/8"), "value-invalid", None),
    (("mv1", "--parent", "enP3p1s0f0", "--address", "0.0.0.0/24"), "value-invalid", None),
    (("mv1", "--parent", "enP3p1s0f0", "--address", "fd00::/64"), "value-invalid", None),
    (("mv1", "--parent", "enP3p1s0f0", "--address", "10.1.1.1/24", "--host-address", "10.1.1.0/24"), "value-invalid",
     None),
    (("mv1", "--parent", "enP3p1s0f0", "--numa", "7"), "key-unknown", "configure --show"),
    (("mv1", "--parent", "enP3p1s0f0", "--numa", "NUMA7"), "key-unknown", "configure --show"),
    (("mv1", "--parent", "mv1"), "value-invalid", None),
    (("mv1", "--parent", "enP3p1s0f0", "--host-link"), "value-invalid", None),
    (("mv0", "--mode", "vepa", "--host-link"), "value-invalid", None),
    (("a/b", "--parent", "enP3p1s0f0"), "value-invalid", "1 to 15 characters"),
    (("sixteen-letters-", "--parent", "enP3p1s0f0"), "value-invalid", "1 to 15 characters"),
]
USAGE = [
    (("mv1",), "parent"),
    ((), "NAME"),
    (("mv0", "--delete", "--mtu", "1400"), "'--delete' and '--mtu' exclude each other"),
    (("mv0", "--delete", "--host-link"), "'--delete' and '--host-link' exclude each other"),
    (("mv0", "--host-link", "--no-host-link"), "'--host-link' and '--no-host-link' exclude each other"),
    (("mv0", "--host-address", "10.1.1.1/24", "--no-host-link"), "'--host-address' and '--no-host-link' exclude each other"),
]


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(dir=harness.scratch())
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "topology.yaml")
        self.assertEqual(harness.run("init", *ROOT, "-c", self.path).returncode, 0)

    def macvlan(self, *args, code=0, command=None):
        words = ["roce", "macvlan", *args, "-c", self.path]
        result = harness.run(*words, command=command and [*command, harness.binary(), *words])
        self.assertEqual(result.returncode, code, f"{args}: {result.stdout}{result.stderr}")
        return result

    def data(self, *args, command=None):
        value, faults = harness.check_json(self.macvlan(*args, "--json", command=command).stdout)
        self.assertEqual(faults, [])
        return value

    def text(self):
        with open(self.path, encoding="utf-8") as file:
            return file.read()

    def refused(self, *args, code=1, command=None):
        before = self.text()
        result = self.macvlan(*args, "--json", code=code, command=command)
        value, faults = harness.check_json(result.stderr)
        self.assertEqual(faults, [])
        self.assertEqual(self.text(), before)
        return value


class Document(Case):
    def test_made_changed_deleted(self):
        original = self.text()
        value = self.data("mv0", *NEW, "--mode", "bridge", *ROOT)
        self.assertEqual({change["key"]: change["new"] for change in value["changes"]}, {
            "roce.macvlans.mv0.parent": "enP3p1s0f0", "roce.macvlans.mv0.mode": "bridge",
            "roce.macvlans.mv0.address": "192.168.100.10/24", "roce.macvlans.mv0.mtu": 9000,
            "roce.macvlans.mv0.numa": 0})
        self.assertTrue(value["is_saved"])
        self.assertEqual((value["scope"], value["steps"], value["macvlan"]), ("document-of-capture", [], None))
        made = self.text()
        again = self.data("mv0", *NEW, *ROOT)
        self.assertEqual((again["is_saved"], again["changes"]), (False, []))
        changed = self.data("mv0", *NEW, "--mode", "private", "--dry-run", *ROOT)
        self.assertEqual([(change["key"], change["new"]) for change in changed["changes"]],
                         [("roce.macvlans.mv0.mode", "private")])
        self.assertFalse(self.data("mv0", *ROOT)["is_saved"])
        self.assertEqual(self.text(), made)
        self.data("mv0", "--host-address", "192.168.100.11/24", "--mtu", "null", *ROOT)
        self.assertIn("host_link: true", self.text())
        self.data("mv0", "--no-host-link", "--mode", "vepa", *ROOT)
        self.assertIn("host_link: false", self.text())
        value = self.data("mv0", "--delete", *ROOT)
        self.assertEqual({change["new"] for change in value["changes"]}, {None})
        self.assertEqual(self.text(), original)
        self.assertFalse(self.data("mv0", "--delete", *ROOT)["is_saved"])

    def test_every_name_of_an_entry(self):
        for name in "1", "NUMA1", "aitherion-numa1":
            value = self.data("mv0", "--parent", "enP3p1s0f0", "--numa", name, *ROOT, "--dry-run")
            self.assertIn(("roce.macvlans.mv0.numa", 1), [(change["key"], change["new"]) for change in value["changes"]])

    def test_dry_run_writes_nothing(self):
        before = self.text()
        for args in ("mv0", *NEW), ("mv0", "--delete"):
            self.assertFalse(self.data(*args, *ROOT, "--dry-run")["is_saved"])
        self.assertEqual(self.text(), before)

    def test_an_entry_has_lines_of_its_own(self):
        original = self.text()
        self.data("mv0", *NEW, *ROOT)
        self.data("mv1", "--parent", "enP3p1s0f1", "--address", "null", *ROOT)
        self.assertIn("\n    - name: mv0\n      parent: enP3p1s0f0\n      address: 192.168.100.10/24\n      mtu: 9000\n"
                      "      numa: 0\n    - name: mv1\n      parent: enP3p1s0f1\n", self.text())
        made = self.text()
        self.data("mv1", "--address", "10.1.1.1/24", *ROOT)
        self.data("mv1", "--address", "null", *ROOT)
        self.assertEqual(self.text(), made)
        self.data("mv1", "--delete", *ROOT)
        self.data("mv0", "--delete", *ROOT)
        self.assertEqual(self.text(), original)

    def test_deleting_a_missing_macvlan_names_it(self):
        self.data("mv0", *NEW, *ROOT)
        value = self.data("mv9", "--delete", *ROOT)
        self.assertEqual([(note["code"], note["object"]) for note in value["notes"]], [("not-there", "mv9")])
        said = self.macvlan("mv9", "--delete", *ROOT).stdout
        self.assertIn("the document has no macvlan 'mv9'\n  hint: did you mean 'mv0'?\n", said)

    def test_names_with_dots(self):
        self.data("enP3.100", "--parent", "enP3p1s0f0", *ROOT)
        self.data("enP3.100", "--address", "10.1.1.1/24", *ROOT)
        self.data("enP3.100", "--delete", *ROOT)
        self.assertNotIn("enP3.100", self.text())

    def test_says_that_a_capture_has_no_kernel(self):
        self.assertIn("the kernel was not touched (captured machine)", self.macvlan("mv0", *NEW, *ROOT).stdout)

    def test_a_faulty_entry_does_not_block_others(self):
        self.macvlan("mv0", *NEW, *ROOT)
        harness.run("configure", "--set", "roce.macvlans.mv0.parent=eth9", *ROOT, "-c", self.path)
        self.macvlan("mv1", "--parent", "enP3p1s0f0", *ROOT)


class Refused(Case):
    def test_each_with_its_code_and_hint(self):
        self.macvlan("mv0", *NEW, *ROOT)
        for args, code, hint in REFUSED:
            with self.subTest(args):
                error = self.refused(*args, *ROOT)
                self.assertEqual(error["code"], code, error)
                if hint:
                    self.assertIn(hint, error["hint"])
                self.assertEqual(self.refused(*args, *ROOT, "--dry-run")["code"], code)

    def test_usage(self):
        for args, words in USAGE:
            with self.subTest(args):
                error = self.refused(*args, *ROOT, code=2)
                self.assertEqual(error["code"], "usage")
                self.assertIn(words, error["message"])

    def test_errors_list_possible_parents(self):
        self.assertIn("enP3p1s0f0, enP3p1s0f1", self.refused("mv1", *ROOT, code=2)["hint"])

    def test_an_infiniband_port(self):
        root = ("--root", harness.capture("ac922-4gpu-infiniband"))
        error = self.refused("mv1", "--parent", "ib0", *root)
        self.assertEqual(error["code"], "link-not-ethernet")
        self.assertIn("InfiniBand mode", error["message"])
        self.assertIn("LINK_TYPE_P", error["hint"])

    def test_two_at_once_wait_for_the_lock(self):
        import fcntl
        with open(os.path.join(self.folder.name, ".topology.yaml.lock"), "a", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            waiting = subprocess.Popen([harness.binary(), "roce", "macvlan", "mv0", *NEW, *ROOT, "-c", self.path],
                                       env=harness.environment(), stdout=subprocess.DEVNULL, cwd=self.folder.name)
            with self.assertRaises(subprocess.TimeoutExpired):
                waiting.wait(0.7)
            fcntl.flock(lock, fcntl.LOCK_UN)
            self.assertEqual(waiting.wait(harness.PATIENCE_S), 0)
        self.assertIn("name: mv0", self.text())


# Runs in its own network, mounts and /run, with the two ends of a veth pair as Ethernet links.
INSIDE = ["unshare", "-mn", "sh", "-ec",
          'mount -t tmpfs tmpfs /run; ip link set lo up; ip link add veth0 type veth peer name veth1; '
          'ip link set veth0 up; ip link set veth1 up; ip addr add 10.7.0.1/24 dev veth0; exec "$@"', "sh"]
# The same, and prints what is left at the end.
INSIDE_THEN = INSIDE[:4] + [INSIDE[4].replace(
    'exec "$@"', 'code=0; "$@" || code=$?; echo left:; ip -o link; ls -A /run/netns; exit $code'), "sh"]


def kernel_has_macvlan():
    """Runs in its own network, whose links disappear at the end."""
    made = subprocess.run([*INSIDE, "ip", "link", "add", "link", "veth0", "name", "mv9", "type", "macvlan"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return made.returncode == 0


def cannot_unshare():
    if os.geteuid():
        return "only root can make network namespaces"
    tried = subprocess.run([*INSIDE, "true"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    return f"network namespaces are not allowed: {tried.stderr.strip()}" if tried.returncode else None


CANNOT = cannot_unshare()
HAS_MACVLAN = not CANNOT and kernel_has_macvlan()


@unittest.skipIf(CANNOT, CANNOT)
class Kernel(Case):
    def test_dry_run_shows_the_plan(self):
        before = self.text()
        value = self.data("mv0", "--parent", "veth0", "--address", "10.7.1.1/24", "--dry-run", command=INSIDE)
        self.assertEqual(value["scope"], "document-and-kernel")
        self.assertEqual([step["action"] for step in value["steps"]],
                         ["make-namespace", "bring-up", "label", "create", "label", "add-address", "bring-up"])
        self.assertEqual({step["namespace"] for step in value["steps"]} - {"aitherion-mv0"}, set())
        self.assertEqual(value["macvlan"]["state"], "recorded")
        self.assertEqual(self.text(), before)
        text = self.macvlan("mv0", "--parent", "veth0", "--dry-run", command=INSIDE).stdout
        self.assertIn("would do:\n", text)

    def test_record(self):
        value = self.data("mv0", "--parent", "veth0", "--record", command=INSIDE)
        self.assertEqual((value["scope"], value["steps"], value["is_saved"]), ("document", [], True))
        self.assertIn("roce macvlan mv0", value["next"])
        self.assertTrue(self.data("mv0", "--delete", "--record", command=INSIDE)["is_saved"])

    def test_refused(self):
        for args, code in ((("--parent", "veth9"), "not-found"), (("--parent", "lo"), "link-not-ethernet"),
                           (("--parent", "veth0", "--mtu", "1501"), "value-invalid"),
                           (("--parent", "veth0", "--address", "10.7.0.0/24"), "value-invalid"),
                           (("--parent", "veth0", "--address", "10.7.0.1/24"), "address-in-use")):
            for more in (), ("--dry-run",), ("--record",):
                with self.subTest(args + more):
                    self.assertEqual(self.refused("mv0", *args, *more, command=INSIDE)["code"], code)
        self.assertIn("veth1, veth0", self.refused("mv0", code=2, command=INSIDE)["hint"])
        self.assertIn("did you mean 'veth0'", self.refused("mv0", "--parent", "veht0", command=INSIDE)["hint"])

    def test_a_signal_waits_until_document_and_kernel_agree(self):
        done = subprocess.run([*INSIDE, "sh", "-euc", f"""
            mkdir /run/aitherion
            exec 9> /run/aitherion/.network.lock
            for signal in TERM HUP; do
                flock 9
                {harness.binary()} roce macvlan mv$signal --parent veth0 -c {self.path} 9>&- 2> /run/said & pid=$!
                until grep -q '^SigBlk:.*[1-9a-f]' /proc/$pid/status; do sleep 0.05; done
                kill -$signal $pid
                sleep 0.3
                kill -0 $pid # it waits for the lock still
                flock -u 9
                code=0; wait $pid || code=$?
                test $code -gt 128
                made=no; recorded=no
                test -e /run/netns/aitherion-mv$signal && made=yes
                grep -q mv$signal {self.path} && recorded=yes
                echo $made $recorded
            done
        """], env=harness.environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout, ("yes yes\n" if HAS_MACVLAN else "no no\n") * 2)

    def test_a_foreign_namespace_with_our_name(self):
        foreign = 'ip netns add aitherion-mv0; code=0; "$@" || code=$?; ip netns exec aitherion-mv0 true; exit $code'
        command = [*INSIDE[:4], INSIDE[4].replace('exec "$@"', foreign), "sh"]
        value = self.data("mv0", "--delete", command=command)
        self.assertEqual((value["steps"], value["is_saved"]), ([], False))
        for more in (), ("--dry-run",):
            error = self.refused("mv0", "--parent", "veth0", *more, command=command)
            self.assertEqual(error["code"], "foreign")
            self.assertIn("aitherion-mv0", error["message"])

    def test_foreign_links(self):
        self.assertEqual(self.refused("veth1", "--parent", "veth0", command=INSIDE)["code"], "foreign")
        self.assertEqual(self.refused("veth1", "--delete", command=INSIDE)["code"], "foreign")

    def test_deleting_an_unknown_name(self):
        for path in self.path, self.path + ".not-there":
            self.path = path
            value = self.data("mv0", "--delete", command=INSIDE)
            self.assertEqual((value["steps"], value["changes"], value["is_saved"]), ([], [], False))
            self.assertEqual((value["macvlan"], [note["code"] for note in value["notes"]]), (None, ["not-there"]))

    @unittest.skipUnless(harness.copies_alone(), "other users cannot read the script that runs the binary in an emulator")
    def test_not_root_beside_the_namespaces_of_root(self):
        os.chmod(self.folder.name, 0o755)
        os.chmod(harness.scratch(), 0o755)
        command = [*INSIDE[:4], INSIDE[4].replace('exec "$@"', 'ip netns add aitherion-mv7; exec "$@"'), "sh",
                   "setpriv", "--reuid", "65534", "--clear-groups", "--inh-caps=-all"]
        self.data("mv9", "--parent", "veth0", "--record", command=INSIDE)
        try:
            for more in ("--dry-run",), ("--dry-run", "--delete"):
                parent = () if "--delete" in more else ("--parent", "veth0")
                value = self.data("mv0", *parent, *more, command=command)
                note = next(note for note in value["notes"] if note["code"] == "not-seen")
                self.assertIn("aitherion-mv7", note["message"])
                self.assertIn("sudo", note["hint"])
            self.assertEqual(self.refused("mv7", "--parent", "veth0", "--dry-run", command=command)["code"], "no-access")
            found = harness.run(command=[*command, harness.binary(), "health", "--json", "-c", self.path])
            self.assertIn("could not tell whether macvlan 'mv9' is there: only root may look", found.stdout)
            self.assertNotIn("cannot open the network namespace", found.stdout)
        except PermissionError as reason:
            self.skipTest(f"other users cannot run this build: {reason}")

    @unittest.skipUnless(harness.copies_alone(), "other users cannot read the script that runs the binary in an emulator")
    def test_not_root(self):
        command = INSIDE + ["setpriv", "--reuid", "65534", "--clear-groups", "--inh-caps=-all"]
        os.chmod(self.folder.name, 0o755)
        os.chmod(harness.scratch(), 0o755)
        try:
            error = self.refused("mv0", "--parent", "veth0", command=command)
        except PermissionError as reason:
            self.skipTest(f"other users cannot run this build: {reason}")
        self.assertEqual(error["code"], "not-permitted")
        self.assertIn("sudo", error["hint"])
        self.assertIn("--record", error["hint"])

    @unittest.skipUnless(HAS_MACVLAN, "this kernel has no macvlan; tests/vm/roce_macvlan.sh has one in the virtual machine")
    def test_made_again_changed_and_deleted(self):
        original = self.text()
        done = subprocess.run([*INSIDE, "sh", "-eux", "-c", f"""
            macvlan() {{ {harness.binary()} roce macvlan "$@" -c {self.path}; }}
            fails() {{ if "$@"; then exit 1; fi; }} # what stands behind ! is no failure to -e
            # Whether a link has a carrier is reported up to a second later.
            world() {{ ip -o link | sed 's/<.*> //; s/ state [A-Z]*//'; ip -4 -o addr; ip route; ip netns list; }}
            world > /run/before
            macvlan mv0 --parent veth0 --address 10.7.1.1/24 --json > /run/made
            grep -q '"state": "made"' /run/made; grep -q '"is_ready": true' /run/made; grep -q '"gid": null' /run/made
            macvlan mv0 | grep 'nothing to do'
            macvlan mv0 --mtu 1400 --mode vepa --address 10.7.1.2/24
            ip -n aitherion-mv0 -d link show mv0 | grep 'mtu 1400'
            ip -n aitherion-mv0 -d link show mv0 | grep 'mode vepa'
            ip -n aitherion-mv0 -o addr show mv0 | grep '10.7.1.2/24'
            ip -n aitherion-mv0 -o addr show mv0 > /run/addresses
            fails grep '10.7.1.1/24' /run/addresses
            macvlan mv0 --mode bridge --address 10.7.0.9/24 --host-link
            ip link show mv0-host
            mkdir {self.folder.name}/.topology.yaml.new
            fails macvlan mv0 --no-host-link 2> /run/said
            grep 'the kernel is as it was before' /run/said
            ip link show mv0-host
            ours() {{ ip -n aitherion-mv0 -o link | sed 's/<.*> //; s/ state [A-Z]*//; s/^[0-9]*: //'; ip -n aitherion-mv0 -4 -o addr | sed 's/^[0-9]*: //'; }}
            ours > /run/ours
            fails macvlan mv0 --delete 2> /run/said
            grep 'the kernel is as it was before' /run/said
            ours | diff - /run/ours # with their hardware addresses, and lo up
            ip -n aitherion-mv0 link show lo | grep -q LOOPBACK,UP
            fails macvlan mv1 --parent veth1
            fails ip netns exec aitherion-mv1 true
            rmdir {self.folder.name}/.topology.yaml.new
            macvlan mv0 --no-host-link | grep "delete link 'mv0-host'"
            unshare -n sleep 1000 & holder=$!
            until [ "$(readlink /proc/$holder/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
            ip -n aitherion-mv0 link set mv0 netns $holder
            fails macvlan mv0 --delete 2> /run/said
            grep 'is in use' /run/said
            macvlan mv0 --delete --yes
            kill $holder
            macvlan mv0 --delete | grep 'nothing to do'
            world | diff - /run/before
        """], env=harness.environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(self.text(), original)

    @unittest.skipUnless(HAS_MACVLAN, "this kernel has no macvlan")
    @unittest.skipUnless(harness.copies_alone(), "qemu's user emulation does not know RTM_GETNSID, which tells the namespace of a link")
    def test_another_network_namespace_is_another_host(self):
        """Each network namespace is a host of its own: a link of the same name in another one is foreign."""
        done = subprocess.run([*INSIDE, "sh", "-eux", "-c", f"""
            macvlan() {{ {harness.binary()} roce macvlan "$@"; }}
            macvlan mv0 --parent veth0 --address 10.7.0.9/24 --host-link -c {self.path}
            cp {self.path} {self.folder.name}/other.yaml
            unshare -mn sh -eux -c '
                mount -t tmpfs none /run
                ip link add veth0 type veth peer name veth1 && ip link set veth0 up && ip link set veth1 up
                {harness.binary()} roce macvlan mv0 --delete --yes -c {self.folder.name}/other.yaml | grep "nothing to do"
                {harness.binary()} roce macvlan mv0 --parent veth0 --address 10.7.1.1/24 -c {self.folder.name}/other.yaml
                ip -n aitherion-mv0 link show mv0
                {harness.binary()} roce macvlan mv0 --delete -c {self.folder.name}/other.yaml'
            ip link show mv0-host
            ip -n aitherion-mv0 link show mv0
            macvlan mv0 -c {self.path} | grep 'nothing to do'
        """], env=harness.environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_a_kernel_without_macvlan_is_left_as_it_was(self):
        if HAS_MACVLAN:
            self.skipTest("this kernel has macvlan; tests/vm/macvlan.sh removes it from the virtual machine's kernel")
        before = self.text()
        result = self.macvlan("mv0", "--parent", "veth0", "--address", "10.7.1.1/24", code=1, command=INSIDE_THEN)
        self.assertIn("aitherion: cannot create macvlan 'mv0'", result.stderr)
        self.assertIn("modprobe macvlan", result.stderr)
        left = result.stdout.split("left:\n")[1]
        self.assertIn("veth0", left)
        self.assertNotIn("mv0", left)
        self.assertEqual(self.text(), before)


if __name__ == "__main__":
    harness.main()
