#!/usr/bin/env python3
"""The files of `aitherion export slurm` in a real Slurm: one controller and four nodes on loopback, as Debian packages them.

The nodes are those of made descriptions, so three things are added: addresses and ports, device files that exist, and slurmd's option to
take the processors of the file instead of this machine's.
"""
import os
import re
import stat
import subprocess
import unittest

import daemons
from runtime import harness

GPUS = 4
CLUSTER = """schema: aitherion.cluster/1
switches:
  - {name: spine}
  - {name: leaf1, above: spine}
  - {name: leaf2, above: spine}
nodes:
  - {names: "ac[1-2]", switch: leaf1, machine: ac922.json}
  - {names: "made[1-2]", switch: leaf2, gpus: 4, model: Tesla V100-SXM2-32GB, nvlinks: 6}
"""
CONFIGURATION = "TopologyPlugin=topology/tree\nInclude licenses.conf"


def lack():
    """Why no Slurm with GPUs can be started here, or None."""
    if daemons.lack():
        return daemons.lack()
    try:
        os.mknod(os.path.join(harness.scratch(), "device"), stat.S_IFCHR | 0o600, os.makedev(1, 3))
    except OSError as error:
        return f"no device files can be made here: {error}"
    return None


def read(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def exported():
    """The texts of the exported files {name: text}; their device files exist."""
    folder = harness.scratch()
    for name, text in {"ac922.json": harness.run_soundly("discover", "--json", "--root", harness.capture("ac922-4gpu")).stdout,
                       "cluster.yaml": CLUSTER}.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    result = harness.run_soundly("export", "slurm", "--cluster", os.path.join(folder, "cluster.yaml"), "-o", os.path.join(folder, "slurm"))
    assert result.returncode == 0, result.stderr
    for gpu in range(GPUS):
        os.mknod(os.path.join(folder, f"nvidia{gpu}"), stat.S_IFCHR | 0o666, os.makedev(1, 3))
    texts = {name: read(os.path.join(folder, "slurm"), name) for name in os.listdir(os.path.join(folder, "slurm"))}
    texts["gres.conf"] = texts["gres.conf"].replace("/dev/nvidia", folder + "/nvidia")
    return texts


LACK = lack()


@unittest.skipIf(LACK, LACK)
class Exported(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        files = exported()
        cls.slurm = daemons.Slurm(CONFIGURATION, files, files["nodes.conf"], "CR_Core")
        cls.addClassCleanup(cls.slurm.stop)

    def ask(self, *words):
        return self.slurm.run(*words).stdout

    def job(self, *words):
        """The output of a job, or a failure with the reason."""
        result = self.slurm.run("srun", "--immediate=60", *words)
        self.assertEqual(result.returncode, 0, result.stderr + self.slurm.logs())
        return result.stdout

    def test_gpus_are_licenses(self):
        self.assertIn("LicenseName=aitherion\n    Total=16 Used=0 Free=16 ", self.ask("scontrol", "show", "licenses"))

    def test_no_file_is_complained_about(self):
        logs = "".join(read(self.slurm.folder, name) for name in os.listdir(self.slurm.folder) if name.endswith(".log"))
        self.assertIn("slurmctld version", logs)
        faults = [line for line in logs.splitlines() if re.search(r"error.*(gres|topology|Links|Cores|Gres)", line)]
        self.assertEqual(faults, [])

    def test_the_tree_of_switches(self):
        lines = self.ask("scontrol", "show", "topology").splitlines()
        self.assertEqual([re.sub(r" (Level|LinkSpeed)=\d+", "", line).strip() for line in lines],
                         ["SwitchName=spine Nodes=ac[1-2],made[1-2] Switches=leaf[1-2]", "SwitchName=leaf1 Nodes=ac[1-2]",
                          "SwitchName=leaf2 Nodes=made[1-2]"])

    def test_the_gpus_of_the_nodes(self):
        node = self.ask("scontrol", "show", "node", "ac1", "-o")
        self.assertIn("Gres=gpu:tesla_v100-sxm2-32gb:4(S:0-1)", node)
        for word in ("CPUTot=128", "CoresPerSocket=16", "Sockets=2", "ThreadsPerCore=4"):
            self.assertIn(word, node)
        self.assertIn("Gres=gpu:tesla_v100-sxm2-32gb:4", self.ask("scontrol", "show", "node", "made2", "-o"))

    def test_links_and_cores_decide_which_gpus_a_job_gets(self):
        command = ("sh", "-c", "echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES")
        self.assertEqual(self.job("-w", "ac2", "--gres=gpu:2", *command), "ac2 0,1\n")
        self.assertEqual(self.job("-w", "made1", "--gres=gpu:4", *command), "made1 0,1,2,3\n")

    def test_a_pair_is_not_broken_up(self):
        """While GPU0 is in use, two GPUs are GPU2 and GPU3, which have NVLinks and one socket, not GPU1 and GPU2."""
        with subprocess.Popen(("srun", "-w", "ac1", "--gres=gpu:1", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES; read line"), env=self.slurm.environment(),
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
            self.assertEqual(holder.stdout.readline(), "0\n")
            self.assertEqual(self.job("-w", "ac1", "--gres=gpu:2", "sh", "-c", "echo $SLURM_STEP_GPUS"), "2,3\n")
            holder.stdin.close()
            self.assertEqual(holder.wait(), 1)

    def test_a_job_below_one_switch(self):
        names = self.job("-N", "2", "--switches=1", "--gres=gpu:3", "sh", "-c", "echo $SLURM_TOPOLOGY_ADDR").split()
        self.assertEqual(len(names), 2)
        self.assertEqual(len({name.rsplit(".", 1)[0] for name in names}), 1, names)
        self.assertTrue(names[0].startswith("spine.leaf"), names)


if __name__ == "__main__":
    harness.main()
