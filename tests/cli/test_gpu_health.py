#!/usr/bin/env python3
"""The health score of GPUs from end to end: faults of the simulated driver, as discover, fingerprint, health and place tell them.

/dev/kmsg is a file of the test's own, so that no line of this machine's kernel counts.
"""
import os
import subprocess
import tempfile
import time
import unittest

from cli import harness
from simulated import SIM, can_mount, make_sys

INSIDE = 'mount --bind "$1" /sys && mount --bind "$2" /dev/kmsg && shift 2 && exec "$@"'
ALL_LINKS = "0-1:2,0-2:2,1-2:2"
FINE, POOR = 90, 50
# Faults of device 1: what AITHERION_SIM_FAULTS or the kernel log says, the deductions that must follow, and a part of the first message.
FAULTS = [
    ("recovery=1", {"recovery-needed": 60}, "needs a recovery: reset the GPU"),
    ("recovery=2", {"recovery-needed": 60}, "needs a recovery: restart the machine"),
    ("rows_failed=1", {"rows-failed": 60}, "could not be replaced"),
    ("rows_pending=1", {"rows-pending": 20}, "next reset"),
    ("rows_remapped=2", {"rows-remapped": 5}, "errors: 2"),
    ("pages_retired=60", {"pages-full": 60}, "has retired 60 pages"),
    ("pages_pending=1", {"pages-pending": 20}, "next reset"),
    ("pages_retired=3", {"pages-retired": 5}, "after errors: 3"),
    ("ecc_uncorrected=3", {"ecc-uncorrected": 40}, "loaded: 3"),
    ("ecc_uncorrected=3,1:ecc_uncorrected_ever=7", {"ecc-uncorrected": 40, "ecc-uncorrected-before": 5}, "loaded: 3"),
    ("ecc_uncorrected_ever=7", {"ecc-uncorrected-before": 5}, "loaded: 7"),
    ("ecc_corrected=1000", {"ecc-corrected": 10}, "loaded: 1000"),
    ("ecc_corrected=999", {}, None),
    ("throttle=0x48", {"throttled-heat": 30}, "is too hot"),
    ("throttle=0x88", {"throttled-power": 20}, "power supply"),
    ("throttle=0x8", {"throttled-hardware": 20}, "without saying why"),
    ("throttle=0x20", {"throttled-driver": 15}, "driver lowers its clocks"),
    ("throttle=0x117", {}, None),
    ("temperature=90", {"hot": 15}, "has 90 degrees Celsius; from 90 on"),
    ("temperature=89", {}, None),
    ("links_down=1", {"nvlinks-lost": 30}, "should have 4 NVLinks, and 3 of them work"),
    ("pcie_width=8", {"pcie-narrow": 20}, "uses 8 lanes; the GPU and its slot have 16"),
    ("pcie_gen=3", {"pcie-slow": 10}, "generation 3 of 5"),
    ("pcie_gen=1,1:pstate=8", {}, None),
    ("lost=1", {"driver-silent": 100}, "gives no answer about GPU"),
    ("lost=2", {"driver-silent": 100}, "gives no answer about GPU"),
    ("xid 79", {"xid-fatal": 60}, "1, the newest is Xid 79 (the GPU has fallen off the bus)"),
    ("xid 48 79 48", {"xid-fatal": 60}, "3, the newest is Xid 48 (uncorrectable memory error)"),
    ("xid 94", {"xid-memory": 20}, "1, the newest is Xid 94 (contained memory error)"),
    ("xid 999", {"xid-unlisted": 5}, "1, the newest is Xid 999"),
    ("xid 13 31 43 45", {}, None),
    ("rows_failed=1,1:ecc_uncorrected=1,1:throttle=0x40", {"rows-failed": 60, "ecc-uncorrected": 40, "throttled-heat": 30}, "could not be replaced"),
]


def log_line(text, age_s=1.0, facility=0):
    return f"{facility * 8 + 3},1,{max(0, int((time.clock_gettime(time.CLOCK_MONOTONIC) - age_s) * 1e6))},-;{text}\n"


def xid_line(number, bus=2, **options):
    return log_line(f"NVRM: Xid (PCI:fffe:{bus:02x}:00): {number}, pid=1, name=x, text", **options)


@unittest.skipUnless(can_mount(), "needs root and mount namespaces")
class GpuHealth(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.home = tempfile.mkdtemp(dir=harness.scratch())
        self.document = os.path.join(self.home, "topology.yaml")
        self.kmsg = os.path.join(self.home, "kmsg")
        self.sys = make_sys(3)
        self.log("")

    def log(self, text):
        with open(self.kmsg, "w", encoding="utf-8") as file:
            file.write("6,0,5,-;Linux version 6\n" + text)

    def run_on(self, *args, faults="", before=(), links=ALL_LINKS, **changes):
        env = {"LD_LIBRARY_PATH": SIM, "AITHERION_SIM_DEVICES": "3", "AITHERION_SIM_LINKS": links, "AITHERION_SIM_FAULTS": faults, **changes}
        command = ["unshare", "--mount", "sh", "-c", INSIDE, "sh", self.sys, self.kmsg, *before, harness.binary(), "-c", self.document, *args]
        result = harness.run(command=command, env=harness.environment(**env))
        self.assertIsNone(harness.crashed(result), result.stderr)
        return result

    def value(self, *args, **options):
        result = self.run_on(*args, "--json", **options)
        value, faults = harness.check_json(result.stdout)
        self.assertEqual(faults, [], result.stderr)
        return value

    def of_fault(self, fault):
        """Sets the kernel log of a row of FAULTS, and returns its AITHERION_SIM_FAULTS."""
        word, *numbers = fault.split(" ")
        self.log("".join(xid_line(int(number)) for number in numbers))
        return "" if word == "xid" else f"1:{fault}"

    def test_sound_gpus_have_100(self):
        for gpu in self.value("discover")["gpus"]:
            self.assertEqual(gpu["health"], {"score": 100, "deductions": [], "unknown": []})
        fine = [check["message"] for check in self.value("health")["checks"] if check["code"] == "gpu-health-low"]
        self.assertEqual(fine, [f"the health score of GPU 'fffe:0{i}:00.0' is 100 of 100" for i in (1, 2, 3)])
        self.assertIn("Health       100 of 100", self.run_on("-v", "discover").stdout)
        self.assertNotIn("Health ", self.run_on("discover").stdout)

    def test_discover_names_each_fault(self):
        for fault, expected, part in FAULTS:
            with self.subTest(fault):
                gpus = self.value("discover", faults=self.of_fault(fault))["gpus"]
                health = gpus[1]["health"]
                self.assertEqual({row["code"]: row["points"] for row in health["deductions"]}, expected)
                self.assertEqual(health["score"], max(0, 100 - sum(expected.values())))
                if part:
                    self.assertIn(part, health["deductions"][0]["message"])
                for row in health["deductions"]:
                    self.assertIn("fffe:02:00.0", row["message"])
                self.assertEqual([gpus[i]["health"]["score"] for i in (0, 2)], [100, 100])

    def test_health_reports_each_fault_with_its_remedy(self):
        """Below 90 each reason is a finding; what is lost or silent has a check of its own."""
        for fault, expected, part in FAULTS:
            with self.subTest(fault):
                score = max(0, 100 - sum(expected.values()))
                report = self.value("health", faults=self.of_fault(fault))
                found = [check for check in report["checks"] if check["code"] == "gpu-health-low" and check["object"] == "fffe:02:00.0"]
                if fault == "lost=1":
                    self.assertEqual(found, [])
                    self.assertIn("gpu-lost", {check["code"] for check in report["checks"] if check["status"] == "fault"})
                    continue
                self.assertEqual({check["status"] for check in found}, {"ok" if score >= FINE else "warning" if score >= POOR else "fault"})
                self.assertEqual(len(found), 1 if score >= FINE else len(expected))
                if part:
                    self.assertIn(part, found[0]["message"])
                if score < FINE:
                    self.assertIn(f"the GPU's health score is {score} of 100", found[0]["message"])
                    self.assertEqual([check for check in found if not check["hint"]], [])

    def test_old_and_foreign_lines_of_the_log_do_not_count(self):
        week = 7 * 24 * 3600
        self.log(xid_line(79, bus=9) + xid_line(79, facility=1) + log_line("x: NVRM: Xid (PCI:fffe:02:00): 79, text"))
        self.assertEqual([gpu["health"]["score"] for gpu in self.value("discover")["gpus"]], [100, 100, 100])
        if time.clock_gettime(time.CLOCK_MONOTONIC) > week + 60:
            self.log(xid_line(79, age_s=week + 60))
            self.assertEqual(self.value("discover")["gpus"][1]["health"]["score"], 100)
        self.log(xid_line(79, age_s=60))
        self.assertEqual([gpu["health"]["score"] for gpu in self.value("discover")["gpus"]], [100, 40, 100])

    def test_a_log_that_cannot_be_read_is_unknown(self):
        os.chmod(self.kmsg, 0)
        self.log(xid_line(79))
        drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        if subprocess.run([*drop, "true"], capture_output=True, check=False).returncode:
            self.skipTest("needs setpriv (package util-linux)")
        os.chmod(self.home, 0o755)
        for gpu in self.value("discover", before=drop)["gpus"]:
            self.assertEqual(gpu["health"], {"score": 100, "deductions": [], "unknown": ["xids"]})
        self.assertIn("kernel log: cannot be read (Permission denied), so Xids are not known", self.run_on("-v", "discover", before=drop).stderr)

    def test_without_nvml_the_score_is_unknown(self):
        value = self.value("discover", LD_LIBRARY_PATH=self.home)
        for gpu in value["gpus"]:
            self.assertEqual((gpu["health"]["score"], gpu["health"]["deductions"]), (None, []))
            self.assertIn("ecc", gpu["health"]["unknown"])
        self.assertNotIn("gpu-health-low", {warning["code"] for warning in value["warnings"]})

    def test_gpus_without_links_lack_none(self):
        health = self.value("discover", links="")["gpus"][0]["health"]
        self.assertEqual(health, {"score": 100, "deductions": [], "unknown": []})

    def test_all_links_down_may_be_a_choice(self):
        """In a virtual machine without NVSwitches no link works. A GPU whose neighbours have links has lost its own."""
        down = ",".join(f"{device}:links_down=4" for device in range(3))
        self.assertEqual([gpu["health"]["score"] for gpu in self.value("discover", faults=down)["gpus"]], [100, 100, 100])
        value = self.value("discover", faults="1:links_down=4")
        self.assertEqual([gpu["health"]["score"] for gpu in value["gpus"]], [100, 70, 100])
        self.assertEqual(value["gpus"][1]["health"]["deductions"][0]["message"], "GPU 'fffe:02:00.0' should have 4 NVLinks, and 0 of them work")
        self.assertEqual([warning["code"] for warning in value["warnings"] if warning["object"] == "fffe:02:00.0"], ["gpu-links-lost"])

    def test_a_slot_with_few_lanes_is_no_fault(self):
        """The slots of an AC922 have two lanes: sysfs says so, NVML does not."""
        def lanes(current, own, slot):
            place = os.path.realpath(f"{self.sys}/bus/pci/devices/fffe:02:00.0")
            for path, value in ((f"{place}/current_link_width", current), (f"{place}/max_link_width", own), (f"{place}/../max_link_width", slot)):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(f"{value}\n")
            return self.value("discover", faults="1:pcie_width=2")["gpus"][1]["health"]
        self.assertEqual(lanes(2, 16, 2)["score"], 100)
        self.assertEqual(lanes(1, 16, 2)["deductions"][0]["message"],
                         "the PCIe link of GPU 'fffe:02:00.0' uses 1 lanes; the GPU and its slot have 2")
        self.assertEqual(lanes(8, 8, 16)["score"], 100)
        self.assertEqual(lanes(63, 16, 2)["score"], 80)  # the kernel does not know the width, NVML does

    def test_fingerprint_has_the_score(self):
        gpus = self.value("fingerprint", faults="1:ecc_uncorrected=3")["gpus"]
        self.assertEqual([gpu["health"]["score"] for gpu in gpus], [100, 60, 100])
        self.assertIn("60 of 100: uncorrectable errors in the memory of GPU 'fffe:02:00.0' since its driver was loaded: 3 (40 points)",
                      " ".join(self.run_on("fingerprint", faults="1:ecc_uncorrected=3").stdout.split()))

    def test_verbose_says_why(self):
        text = " ".join(self.run_on("-v", "discover", faults="1:rows_pending=1,1:pcie_gen=3").stdout.split())
        self.assertIn("70 of 100: a row of the memory of GPU 'fffe:02:00.0' is replaced only with the next reset (20 points); "
                      "the PCIe link of GPU 'fffe:02:00.0' runs at generation 3 of 5, although the GPU is at work (10 points)", text)
        health = " ".join(self.run_on("health", "-v", faults="1:rows_pending=1,1:pcie_gen=3").stdout.split())
        for part in ("(takes 20 points; the GPU's health score is 70 of 100)", "(takes 10 points; the GPU's health score is 70 of 100)",
                     "nvidia-smi --gpu-reset -i fffe:02:00.0", "check the firmware's setting of the slot's speed"):
            self.assertIn(part, health)

    def test_place_avoids_a_poor_gpu(self):
        faults = "0:rows_failed=1"
        self.assertEqual([gpu["index"] for gpu in self.value("place", "2", faults=faults)["groups"][0]["gpus"]], [1, 2])
        self.assertIn("GPU0 is avoided, because its health score is 40 of 100", self.value("place", "2", faults=faults)["why"])
        every = self.value("place", "3", faults=faults)
        self.assertEqual([gpu["index"] for gpu in every["groups"][0]["gpus"]], [0, 1, 2])
        self.assertIn("GPU0 is chosen with a health score of 40 of 100, because too few others are free or fit", every["why"])
        self.assertEqual([gpu["index"] for gpu in self.value("place", "1", faults="0:ecc_uncorrected=1")["groups"][0]["gpus"]], [0])

    def test_a_poor_gpu_that_the_document_leaves_out_is_a_warning(self):
        self.run_on("init")
        self.assertEqual(self.run_on("configure", "0", "--set", "gpus=[\"fffe:01:00.0\", \"fffe:03:00.0\"]").returncode, 0)
        self.assertEqual(self.run_on("configure", "1", "--set", "gpus=[]").returncode, 0)

        def status(bus):
            report = self.value("health", faults=f"{bus}:rows_failed=1")
            return [check["status"] for check in report["checks"] if check["code"] == "gpu-health-low" and check["status"] != "ok"]
        self.assertEqual(status(1), ["warning"])
        self.assertEqual(status(0), ["fault"])


if __name__ == "__main__":
    harness.main()
