"""A real Slurm for tests, in a folder of its own and on the loopback: munged, slurmctld and slurmd as Debian packages them.

No file of the system's own Slurm or munge is read or written, and no service is touched. At the end all daemons are gone.
"""
import atexit
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "runtime"))

from runtime import harness  # noqa: E402
import ports  # noqa: E402

# Program -> the Debian package that has it.
NEEDED = {"munged": "munge", "slurmctld": "slurmctld", "slurmd": "slurmd", "srun": "slurm-client"}
PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
PORTS = 8  # for nodes

CONF = """
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
PlugStackConfig={folder}/plugstack.conf
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters={select}
SchedulerParameters=sched_interval=1,sched_min_interval=0
SlurmdParameters=config_overrides
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
InactiveLimit=0
KillWait=5
MessageTimeout=60
SlurmctldTimeout=300
SlurmdTimeout=300
{more}
{nodes}
PartitionName=all Nodes=ALL Default=YES State=UP OverSubscribe=YES
"""
NODES = "NodeName=n[1-2] CPUs=8 RealMemory=1000"


def lack():
    """Returns why no Slurm can be started here, or None."""
    if os.geteuid() != 0:
        return "only root can start slurmd"
    for program, package in NEEDED.items():
        if not shutil.which(program, path=PATH):
            return f"no {program} (package {package})"
    return None


def names_of(line):
    """The nodes of a line "NodeName=n[1-2] ..." or "NodeName=n1 ..."."""
    name, numbers = re.match(r"NodeName=([^\s\[]+)(?:\[(\d+-\d+)\])?", line).groups()
    if not numbers:
        return [name]
    first, last = map(int, numbers.split("-"))
    return [f"{name}{number}" for number in range(first, last + 1)]


def placed(nodes, port):
    """The lines of nodes with addresses on this machine, and the names of the nodes. Their ports begin with `port`."""
    lines, names = [], []
    for line in nodes.splitlines():
        if line.startswith("NodeName="):
            own = names_of(line)
            first = port + len(names)
            names += own
            line += f" NodeAddr=127.0.0.1 NodeHostname=localhost Port={first if len(own) == 1 else f'[{first}-{first + len(own) - 1}]'}"
        lines.append(line)
    return "\n".join(lines), names


class Slurm:
    """One controller and its nodes. `nodes` are lines of slurm.conf without addresses, `more` are other lines of that file, and `files`
    {name: text} stand beside it."""

    def __init__(self, more="", files=None, nodes=NODES, select="CR_CPU"):
        self.folder = tempfile.mkdtemp(prefix="ath-slurm-", dir="/tmp")  # sockets have short paths
        os.chmod(self.folder, 0o755)
        self.processes = []
        atexit.register(self.stop)
        port = ports.take(1 + PORTS)
        lines, self.nodes = placed(nodes, port + 1)
        for name in ("state", *self.nodes):
            os.mkdir(self.path(name))
        # Slurm 22.05 reads cgroup.conf although nothing here has to do with cgroups.
        for name, text in {"plugstack.conf": "", "cgroup.conf": "CgroupPlugin=cgroup/v1\n", **(files or {})}.items():
            self.write(name, text)
        self.write("slurm.conf", CONF.format(folder=self.folder, port=port, more=more, nodes=lines, select=select))
        self.start()

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def environment(self, **changes):
        return harness.environment(SLURM_CONF=self.path("slurm.conf"), HOME=self.folder, PATH=PATH, **changes)

    def daemon(self, *words):
        with open(self.path(os.path.basename(words[0]) + ".out"), "ab") as log:
            self.processes.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment(),
                                                   start_new_session=True, cwd=self.folder))

    def start(self):
        with open(self.path("munge.key"), "wb") as file:
            file.write(os.urandom(1024))
        os.chmod(self.path("munge.key"), 0o600)
        self.daemon("munged", "--foreground", "--force", f"--socket={self.path('munge.socket')}", f"--key-file={self.path('munge.key')}",
                    f"--pid-file={self.path('munge.pid')}", f"--log-file={self.path('munge.log')}", f"--seed-file={self.path('munge.seed')}",
                    "--num-threads=2")
        assert harness.wait_until(lambda: os.path.exists(self.path("munge.socket"))), self.logs()
        self.daemon("slurmctld", "-D", "-c", "-f", self.path("slurm.conf"))
        for node in self.nodes:
            self.daemon("slurmd", "-D", "-N", node, "-f", self.path("slurm.conf"))
        assert harness.wait_until(lambda: self.run("sinfo", "-h", "-o", "%D %t").stdout.split() == [str(len(self.nodes)), "idle"]), self.logs()

    def run(self, *words, timeout=harness.PATIENCE_S, **variables):
        """Runs one of Slurm's commands."""
        return subprocess.run(words, capture_output=True, text=True, env=self.environment(**variables), cwd=self.folder, timeout=timeout,
                              stdin=subprocess.DEVNULL, check=False)

    def submit(self, *words):
        """Submits a job with words of sbatch. Returns its number."""
        result = self.run("sbatch", "--parsable", "-o", self.path("job-%j.txt"), *words)
        assert result.returncode == 0, result.stderr
        return result.stdout.strip()

    def state(self, job):
        """Returns a job's state and why it waits: "PENDING Licenses"."""
        text = self.run("scontrol", "show", "job", job).stdout
        return " ".join(re.search(r"JobState=(\S+) Reason=(\S+)", text).groups())

    def batch(self, *words, script, state="COMPLETED"):
        """Runs a script as a job to its end. Returns what it printed."""
        self.write("script", "#!/bin/sh\n" + script + "\n")
        job = self.submit(*words, self.path("script"))
        assert harness.wait_until(lambda: self.state(job).split()[0] not in ("PENDING", "RUNNING", "COMPLETING")), self.logs()
        with open(self.path(f"job-{job}.txt"), encoding="utf-8") as file:
            text = file.read()
        assert self.state(job).startswith(state), self.state(job) + text + self.logs()
        return text

    def logs(self):
        texts = []
        for name in sorted(os.listdir(self.folder)):
            if name.endswith((".log", ".out")):
                with open(self.path(name), encoding="utf-8", errors="replace") as file:
                    texts.append(f"== {name}\n" + "".join(file.readlines()[-12:]))
        return "\n".join(texts)

    def left(self):
        """The ids of processes of jobs, and of slurmstepd, which outlives slurmd: their environment names our folder."""
        found, ours = [], ("SLURM_CONF=" + self.path("slurm.conf")).encode()
        for name in os.listdir("/proc"):
            with contextlib.suppress(OSError):
                if name.isdigit() and int(name) != os.getpid():
                    with open(f"/proc/{name}/environ", "rb") as file:
                        if ours in file.read().split(b"\0"):
                            found.append(int(name))
        daemons = [process.pid for process in self.processes]
        return [pid for pid in found if pid not in daemons]

    def stop(self):
        atexit.unregister(self.stop)
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            self.run("scancel", "--user=root", timeout=10)
            harness.wait_until(lambda: not self.run("squeue", "-h", timeout=10).stdout, 10)
        for process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(20)
            if process.poll() is None:
                process.kill()
                process.wait()
        for pid in self.left():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)
