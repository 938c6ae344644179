#!/usr/bin/env python3
"""The files of `aitherion export slurm` in a real Slurm: one controller and four nodes on loopback, as Debian packages them.

The nodes are those of made descriptions, so three things are added: addresses and ports, device files that exist, and slurmd's option to
take the processors of the file instead of this machine's.
"""
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))

import harness  # noqa: E402

PROGRAMS = ("slurmctld", "slurmd", "scontrol", "srun")
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
NODES = ("ac1", "ac2", "made1", "made2")
CONFIGURATION = """ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
AuthType=auth/none
CredType=cred/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
TopologyPlugin=topology/tree
SlurmdParameters=config_overrides
ReturnToService=2
MpiDefault=none
Include licenses.conf
{nodes}PartitionName=all Nodes=ALL Default=YES State=UP
"""


def lack():
    """Why no Slurm can be started here, or None."""
    for program in PROGRAMS:
        if not shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin"):
            return f"no {program} (packages slurmctld, slurmd, slurm-client)"
    if os.geteuid() != 0:
        return "slurmd needs root"
    try:
        os.mknod(os.path.join(harness.scratch(), "device"), stat.S_IFCHR | 0o600, os.makedev(1, 3))
    except OSError as error:
        return f"no device files can be made here: {error}"
    return None


def free_ports(count):
    """Ports that nothing listens on now, one after another."""
    for first in range(20000 + os.getpid() % 20000, 65000, count):
        sockets = []
        try:
            for port in range(first, first + count):
                sockets.append(socket.create_server(("127.0.0.1", port)))
        except OSError:
            continue
        finally:
            for each in sockets:
                each.close()
        return first
    raise AssertionError("no free ports")


class Slurm:
    """A running Slurm with exported files."""

    def __init__(self):
        self.folder = os.path.join(harness.scratch(), "slurm")
        self.processes = []
        os.makedirs(os.path.join(self.folder, "state"))
        self.environment = harness.environment(SLURM_CONF=os.path.join(self.folder, "slurm.conf"))
        self.environment["PATH"] = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
        self._export()
        self._start("slurmctld", "-D", "-i")
        for node in NODES:
            self._start("slurmd", "-D", "-N", node)
        harness.wait_until(lambda: self.ask("sinfo", "-h", "-N", "-o", "%N %T").split() == [word for node in NODES for word in (node, "idle")])

    def _export(self):
        machine = harness.run_soundly("discover", "--json", "--root", harness.capture("ac922-4gpu")).stdout
        self._write("ac922.json", machine)
        self._write("cluster.yaml", CLUSTER)
        result = harness.run_soundly("export", "slurm", "--cluster", os.path.join(self.folder, "cluster.yaml"), "-o", self.folder)
        assert result.returncode == 0, result.stderr
        for gpu in range(GPUS):
            os.mknod(os.path.join(self.folder, f"nvidia{gpu}"), stat.S_IFCHR | 0o666, os.makedev(1, 3))
        self._write("gres.conf", self._read("gres.conf").replace("/dev/nvidia", self.folder + "/nvidia"))
        first = free_ports(len(NODES) + 1)
        lines, port = "", first + 1
        for line in self._read("nodes.conf").splitlines():
            if line.startswith("NodeName="):
                line += f" NodeAddr=127.0.0.1 NodeHostname={socket.gethostname()} Port=[{port}-{port + 1}] State=UNKNOWN"
                port += 2
            lines += line + "\n"
        self._write("slurm.conf", CONFIGURATION.format(host=socket.gethostname(), port=first, folder=self.folder, nodes=lines))

    def _read(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read()

    def _write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def _start(self, *words):
        self.processes.append(subprocess.Popen(words, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                               stderr=subprocess.DEVNULL))

    def ask(self, *words):
        result = subprocess.run(words, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                                timeout=harness.PATIENCE_S)
        return result.stdout

    def job(self, *words):
        """The output of a job, or a failure with the reason."""
        result = subprocess.run(("srun", "--immediate=60", *words), env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                check=False, timeout=harness.PATIENCE_S)
        assert result.returncode == 0, result.stderr + self.logs()
        return result.stdout

    def logs(self):
        return "".join(self._read(name)[-3000:] for name in sorted(os.listdir(self.folder)) if name.endswith(".log"))

    def end(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(timeout=harness.PATIENCE_S)


LACK = lack()


@unittest.skipIf(LACK, LACK)
class Exported(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.slurm = None
        try:
            cls.slurm = Slurm()
        finally:
            if cls.slurm is None:
                for name in os.listdir(os.path.join(harness.scratch(), "slurm")):
                    if name.endswith(".log"):
                        with open(os.path.join(harness.scratch(), "slurm", name), encoding="utf-8") as file:
                            print(name, file.read()[-2000:])

    @classmethod
    def tearDownClass(cls):
        cls.slurm.end()

    def test_gpus_are_licenses(self):
        self.assertIn("LicenseName=aitherion\n    Total=16 Used=0 Free=16 ", self.slurm.ask("scontrol", "show", "licenses"))

    def test_no_file_is_complained_about(self):
        faults = [line for line in self.slurm.logs().splitlines() if re.search(r"error.*(gres|topology|Links|Cores|Gres)", line)]
        self.assertEqual(faults, [])

    def test_the_tree_of_switches(self):
        lines = self.slurm.ask("scontrol", "show", "topology").splitlines()
        self.assertEqual([re.sub(r" (Level|LinkSpeed)=\d+", "", line).strip() for line in lines],
                         ["SwitchName=spine Nodes=ac[1-2],made[1-2] Switches=leaf[1-2]", "SwitchName=leaf1 Nodes=ac[1-2]",
                          "SwitchName=leaf2 Nodes=made[1-2]"])

    def test_the_gpus_of_the_nodes(self):
        node = self.slurm.ask("scontrol", "show", "node", "ac1", "-o")
        self.assertIn("Gres=gpu:tesla_v100-sxm2-32gb:4(S:0-1)", node)
        for word in ("CPUTot=128", "CoresPerSocket=16", "Sockets=2", "ThreadsPerCore=4"):
            self.assertIn(word, node)
        self.assertIn("Gres=gpu:tesla_v100-sxm2-32gb:4", self.slurm.ask("scontrol", "show", "node", "made2", "-o"))

    def test_links_and_cores_decide_which_gpus_a_job_gets(self):
        command = ("sh", "-c", "echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES")
        self.assertEqual(self.slurm.job("-w", "ac2", "--gres=gpu:2", *command), "ac2 0,1\n")
        self.assertEqual(self.slurm.job("-w", "made1", "--gres=gpu:4", *command), "made1 0,1,2,3\n")

    def test_a_pair_is_not_broken_up(self):
        """While GPU0 is in use, two GPUs are GPU2 and GPU3, which have NVLinks and one socket, not GPU1 and GPU2."""
        with subprocess.Popen(("srun", "-w", "ac1", "--gres=gpu:1", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES; read line"), env=self.slurm.environment,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
            self.assertEqual(holder.stdout.readline(), "0\n")
            self.assertEqual(self.slurm.job("-w", "ac1", "--gres=gpu:2", "sh", "-c", "echo $SLURM_STEP_GPUS"), "2,3\n")
            holder.stdin.close()
            self.assertEqual(holder.wait(), 1)

    def test_a_job_below_one_switch(self):
        names = self.slurm.job("-N", "2", "--switches=1", "--gres=gpu:3", "sh", "-c", "echo $SLURM_TOPOLOGY_ADDR").split()
        self.assertEqual(len(names), 2)
        self.assertEqual(len({name.rsplit(".", 1)[0] for name in names}), 1, names)
        self.assertTrue(names[0].startswith("spine.leaf"), names)


if __name__ == "__main__":
    harness.main()
