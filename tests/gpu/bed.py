"""The surroundings of the tests on a real GPU: the build under test, environments, servers, processes with a time limit.

Needs Python's standard library alone. A build is a build folder, or what tests/gpu/pack has filled: both have aitherion,
aitherion-runtime and lib/aitherion/ in the same places.
"""
import glob
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
NATIVE, TRANSPORTS = "native", ["shm", "tcp", "udp"]
USUAL = ["shm", "tcp"]
START_S = 90  # of a server: cuInit() of eight GPUs takes its time
OUTPUT_BYTES = 64 << 10  # kept of one process
VISIBLE = "CUDA_VISIBLE_DEVICES"  # the caller's choice: of native programs and of servers, whose clients count what is left from 0


def find_build(told):
    """The folder with aitherion-runtime, or None."""
    candidates = [told, os.environ.get("AITHERION_BUILD"), SOURCE, os.path.join(SOURCE, "build"), os.getcwd()]
    for folder in candidates:
        if folder and os.access(os.path.join(folder, "aitherion-runtime"), os.X_OK):
            return os.path.abspath(folder)
    return None


def tail(path, size=OUTPUT_BYTES):
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.path.getsize(path) - size))
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def save(path, value):
    """Saves a value as JSON. The file is whole at any time, even if this process is killed."""
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)
    os.replace(path + ".new", path)


def concerns(meaning, transport):
    """Whether an optimisation is about a transport: what is about one alone says so in front, "tcp: ...". By UDP only data goes, calls
    go by TCP."""
    return all(not meaning.startswith(other + ":") for other in USUAL if other != transport.replace("udp", "tcp"))


def missing_libraries(program, env):
    """Names of the shared libraries that the loader does not find for a program."""
    result = subprocess.run(["ldd", program], env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return re.findall(r"^\s*(\S+) => not found", result.stdout, re.M)


# ---- processes ----

class Outcome:
    """How a process ended: its exit code (minus the signal), or None where the limit ended it."""

    def __init__(self, code, output, seconds, stuck=""):
        self.code, self.output, self.seconds, self.stuck = code, output, seconds, stuck


def descendants(pid):
    """The ids of a process and of all below it."""
    found = [pid]
    for one in found:
        for path in glob.glob(f"/proc/{one}/task/*/children"):
            found += [int(word) for word in tail(path).split()]
    return found


def stands(pid):
    """The place of each thread of a process in the kernel, and its C stacks if gdb is installed."""
    lines = []
    for task in sorted(glob.glob(f"/proc/{pid}/task/*")):
        facts = [tail(f"{task}/{name}").strip().replace("\n", " <- ") for name in ["comm", "wchan", "syscall", "stack"]]
        lines.append(f"  thread {os.path.basename(task)} " + " | ".join(facts))
    if shutil.which("gdb"):
        try:
            lines.append(subprocess.run(["gdb", "-p", str(pid), "-batch", "-nx", "-ex", "thread apply all bt 24"], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=30, check=False).stdout)
        except subprocess.TimeoutExpired:
            lines.append("  gdb took too long")
    return "\n".join(lines)


def where(pids):
    return "\n".join(f"process {pid} {tail(f'/proc/{pid}/cmdline').replace(chr(0), ' ')[:200]}\n{stands(pid)}" for pid in pids)


def end_group(process):
    """The process and all that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def run(command, env, limit_s, folder, others=lambda: []):
    """One process to its end. `others` gives the processes that are looked at too when it hangs; None: it is not looked at."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"output-{secrets.token_hex(6)}")
    begin = time.monotonic()
    stuck = ""
    with open(path, "wb") as output:
        try:
            process = subprocess.Popen(command, env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=subprocess.STDOUT, start_new_session=True)
        except OSError as error:
            return Outcome(127, f"{command[0]}: {error.strerror}", 0)
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            code = None
            stuck = where(descendants(process.pid) + others()) if others else ""
        end_group(process)
    seconds = time.monotonic() - begin
    text = tail(path)
    os.unlink(path)
    return Outcome(code, text, seconds, stuck)


# ---- servers ----

class Server:
    """One aitherion-runtime, on a unix socket and on TCP's loopback; a server that died is started again."""

    def __init__(self, bed, *options, name="server", variables=None):
        self.bed, self.options, self.variables, self.deaths = bed, options, variables or {}, []
        self.folder = os.path.join(bed.scratch, f"{name}-{secrets.token_hex(3)}")
        os.makedirs(self.folder)
        self.log, self.socket, self.address, self.process = os.path.join(self.folder, "log"), None, None, None
        self.lock = threading.Lock()

    def start(self):
        """Returns why it did not start, or None."""
        told = os.path.join(self.folder, "told")
        self.socket = os.path.join(self.folder, f"{secrets.token_hex(3)}.socket")
        command = [os.path.join(self.bed.build, "aitherion-runtime"), "serve", "--listen", "127.0.0.1:0", "--socket", self.socket,
                   "--key", self.bed.key, *(["--sim"] if self.bed.is_sim else []), *self.options]
        with open(told, "wb") as out, open(self.log, "ab") as log:
            self.process = subprocess.Popen(command, env=self.bed.base_environment(**{**self.bed.chosen, **self.variables}), cwd=self.folder, stdin=subprocess.DEVNULL,
                                            stdout=out, stderr=log, start_new_session=True)
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            found = re.search(r"listening on (127\.0\.0\.1:\d+)", tail(told))
            if found and os.path.exists(self.socket):
                self.address = found.group(1)
                return None
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        return f"the server did not start: {tail(told)}{tail(self.log, 2000)}"

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def died(self):
        """A word about it, where it ended by itself; else None."""
        if not self.process or self.process.poll() is None:
            return None
        return f"the server ended with code {self.process.returncode}: {tail(self.log, 1500)}"

    def check(self):
        """Starts the server again if it died. Returns a sentence about that, or None."""
        with self.lock:
            if self.is_running():
                return None
            word = self.died()
            if word:
                self.deaths.append(word)
            problem = self.start()
            if problem:
                raise RuntimeError(problem)
            return word

    def place(self, transport):
        """What AITHERION_SERVER says."""
        return f"unix:{self.socket}" if transport == "shm" else self.address

    def sessions(self):
        """The processes of its clients."""
        return [pid for pid in descendants(self.process.pid) if pid != self.process.pid] if self.process else []

    def logged(self):
        """The end of its log."""
        return tail(self.log, 1 << 20)

    def crashes(self):
        """The lines of the server's log about sessions that crashed. Their programs go on with an error at each call."""
        return re.findall(r"event=session-crashed .*", self.logged())

    def kill(self):
        """All of it, as a machine that goes down does."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self):
        if self.is_running():
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.deaths.append(f"the server did not end within 10 s of SIGTERM:\n{where([self.process.pid])}")
        if self.process:
            end_group(self.process)

    def __enter__(self):
        self.check()
        return self

    def __exit__(self, *_):
        self.stop()


class Servers:
    """Some of them, for a program that has the devices of all in one list."""

    def __init__(self, members):
        self.members = members

    @property
    def deaths(self):
        return [word for server in self.members for word in server.deaths]

    def is_running(self):
        return all(server.is_running() for server in self.members)

    def died(self):
        return "; ".join(filter(None, [server.died() for server in self.members])) or None

    def check(self):
        return "; ".join(filter(None, [server.check() for server in self.members])) or None

    def place(self, transport):
        return ",".join(server.place(transport) for server in self.members)

    def sessions(self):
        return [pid for server in self.members for pid in server.sessions()]

    def logged(self):
        return "".join(server.logged() for server in self.members)

    def stop(self):
        for server in self.members:
            server.stop()


# ---- environments ----

class Bed:
    """A build, a scratch folder, a key; environments for programs. `disabled`: what AITHERION_DISABLE says in those at a server."""

    def __init__(self, build, scratch, is_sim=False, disabled=None):
        self.build, self.scratch, self.is_sim, self.disabled = build, scratch, is_sim, disabled
        self.libraries = os.path.join(build, "lib", "aitherion")
        self.key = os.path.join(scratch, "key")
        self.chosen = {VISIBLE: os.environ[VISIBLE]} if VISIBLE in os.environ else {}
        self.extra = os.path.join(scratch, "libraries")  # carried ones that this system lacks
        os.makedirs(self.extra, exist_ok=True)
        with open(os.open(self.key, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
            file.write(secrets.token_hex(32))
        self._lend()

    def _lend(self):
        """Only what is missing, so that no program gets another system's libraries in place of its own."""
        carried = os.path.join(self.build, "lib", "carried")
        known = subprocess.run(["/sbin/ldconfig", "-p"], text=True, stdout=subprocess.PIPE, check=False).stdout.split()
        for name in os.listdir(carried) if os.path.isdir(carried) else []:
            if name not in known:
                os.symlink(os.path.join(carried, name), os.path.join(self.extra, name))

    def base_environment(self, libraries=(), **changes):
        """The caller's, without what is aitherion's and the choice of GPUs; `libraries` go before the system's."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("AITHERION_") and name != VISIBLE}
        others = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)  # of a test that starts servers itself: ours among them
        path = [*libraries, self.extra, *(word for word in others if word and not word.startswith(self.libraries))]
        env.update(LD_LIBRARY_PATH=os.pathsep.join(path), srcdir=SOURCE, PYTHONDONTWRITEBYTECODE="1",
                   PYTHONUNBUFFERED="1", XLA_PYTHON_CLIENT_PREALLOCATE="false", TORCHINDUCTOR_COMPILE_THREADS="2",
                   CUBLAS_WORKSPACE_CONFIG=":4096:8", TOKENIZERS_PARALLELISM="false", AITHERION_TEST_BUILD=self.build)
        if self.is_sim:
            env.update(AITHERION_SIM_DEVICES="2")
        env.update({name: str(value) for name, value in changes.items()})
        return env

    def environment(self, mode, server=None, **changes):
        """The environment of a program that runs natively, or with a server by one of the transports."""
        changes.setdefault("AITHERION_TEST_MODE", mode)
        if mode == NATIVE:
            return self.base_environment([os.path.join(self.libraries, "sim")] if self.is_sim else [], **{**self.chosen, **changes})
        folders = [os.path.join(self.libraries, "several"), self.libraries] if isinstance(server, Servers) else [self.libraries]
        changes = {"AITHERION_SERVER": server.place(mode), "AITHERION_KEY_FILE": self.key, "AITHERION_TRANSPORT": mode,
                   "AITHERION_TEST_LIBRARIES": os.pathsep.join(folders),
                   **({"AITHERION_ENCRYPT": "on"} if mode == "udp" else {}),  # a loopback has no UDP without
                   **({"AITHERION_DISABLE": self.disabled} if self.disabled else {}), **changes}
        return self.base_environment(folders, **changes)

    def gpus(self):
        """Devices that may be used: the caller's choice, else those of the driver's own files; the simulated driver is asked for two."""
        if self.is_sim:
            return 2
        if self.chosen:
            return len(self.chosen[VISIBLE].split(","))
        try:
            return len(os.listdir("/proc/driver/nvidia/gpus"))
        except OSError:
            return 0

    def two_servers(self):
        """Not started yet; each serves one GPU: the first and the second, or twice the only one."""
        chosen = [0, min(1, self.gpus() - 1)]
        if self.is_sim:
            variables = [{"AITHERION_SIM_FIRST": i, "AITHERION_SIM_DEVICES": 1} for i in chosen]
        else:
            names = self.chosen[VISIBLE].split(",") if self.chosen else range(self.gpus())
            variables = [{VISIBLE: names[i]} for i in chosen]
        return Servers([Server(self, name=f"server{i}", variables=variables[i]) for i in range(2)])

    def switches(self):
        """{name: what it does} of the optimisations, as the server's program tells them."""
        command = [os.path.join(self.build, "aitherion-runtime"), "switches"]
        text = subprocess.run(command, text=True, stdout=subprocess.PIPE, check=True, env=self.base_environment()).stdout
        return dict(line.split(maxsplit=1) for line in text.splitlines() if line.strip())
