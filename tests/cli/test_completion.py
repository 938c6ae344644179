#!/usr/bin/env python3
"""Completions in the real shells: Tab offers the contents of the command table, and values of the machine and the document."""
import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import unittest

import cli
import harness

BREAKS = "=:"  # bash splits words at these (COMP_WORDBREAKS)


def script(shell):
    path = os.path.join(harness.scratch(), f"completion.{shell}")
    if not os.path.exists(path):
        with open(path, "w", encoding="utf-8") as file:
            file.write(harness.run("completion", shell).stdout)
    return path


def shell_run(*command, **options):
    return subprocess.run(command, env=harness.environment(PATH=os.environ["PATH"]), text=True, capture_output=True,
                          timeout=harness.PATIENCE_S, check=False, cwd=options.pop("cwd", harness.scratch()), **options)


def bash(line):
    """Returns what bash offers at the end of a line, by calling the function as bash does."""
    words = []
    for word in line.split(" "):
        start = 0
        for place, char in enumerate(word):
            if char in BREAKS:
                words += [word[start:place], char] if start < place else [char]
                start = place + 1
        words.append(word[start:])
    words = [word for place, word in enumerate(words) if word or place == len(words) - 1]
    program = (f"set -u; source {shlex.quote(script('bash'))}; compopt() {{ :; }}; "
               f"COMP_WORDS=({' '.join(map(shlex.quote, words))}); COMP_CWORD={len(words) - 1}; "
               f"COMP_LINE={shlex.quote(line)}; COMP_POINT={len(line)}; "
               f"_aitherion; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
    result = shell_run("bash", "--norc", "-c", program)
    if result.returncode or result.stderr:
        raise AssertionError(f"{line}: {result.stderr}")
    return sorted(filter(None, result.stdout.split("\n")))


# A real bash on a terminal: reads a line, completes it, and prints the line. insert-completions inserts every candidate.
BASH = r"""
source "$1"; cd "$2"; bind '"\C-t": insert-completions'; bind -x '"\C-x": printf "LINE<%s>\n" "$READLINE_LINE"'; PS1=READY
"""


def typed(line, folder=None, keys="\x14"):
    """Returns the line after completion by readline itself: all candidates with Ctrl-T as here, their common part with Tab."""
    start = os.path.join(harness.scratch(), "bashrc")
    with open(start, "w", encoding="utf-8") as file:
        file.write(BASH.replace("$1", script("bash")).replace("$2", folder or harness.scratch()))
    child, terminal = pty.fork()
    if not child:
        path = harness.build() + ":" + os.environ["PATH"]
        os.execvpe("bash", ["bash", "--rcfile", start, "-i"], harness.environment(PATH=path, TERM="dumb", COLUMNS="5000", INPUTRC="/dev/null"))
    output = b""

    def read_until(word):
        nonlocal output
        while word not in output:
            if not select.select([terminal], [], [], harness.PATIENCE_S)[0]:
                raise AssertionError(f"{line}: bash is silent after {output!r}")
            output += os.read(terminal, 65536)
    read_until(b"READY")
    os.write(terminal, line.encode() + keys.encode() + b"\x18")
    read_until(b">\r\n")
    os.write(terminal, b"\x15exit\n")
    while True:  # until bash has ended
        try:
            if not os.read(terminal, 65536):
                break
        except OSError:
            break
    os.close(terminal)
    os.waitpid(child, 0)
    return re.search(r"LINE<(.*?)>\r\n", output.decode("utf-8", "replace")).group(1)


DOCUMENT = os.path.join(harness.SOURCE, "etc", "ac922_topology.yaml")
GPUS = ["0004:04:00.0", "0004:05:00.0", "0035:03:00.0", "0035:04:00.0"]
# The rest of a line `aitherion -c DOCUMENT ...`, and the values that are offered there: all of them, or with "..." at least these.
VALUES = (
    ("start ", ["0", "1"]),
    ("start 0 ", ["1"]),
    ("numa stop ", ["0", "1"]),
    ("status 0 1 ", []),
    ("configure ", ["0", "1"]),
    ("run --numa ", ["0", "1", "all"]),
    ("run --numa 0,", ["0,1"]),
    ("session list --numa=", ["0", "1", "all"]),
    ("roce remove ", ["0003:01:00.0"]),
    ("roce macvlan ", ["macvlan0", "macvlan1"]),
    ("roce macvlan mv9 ", []),
    ("roce macvlan macvlan0 --root ac922-4gpu --parent enP3", ["enP3p1s0f0", "enP3p1s0f1"]),
    ("roce add --root ac922-4gpu ", ["0003:01:00.0", "0030:01:00.0"]),
    ("roce add mlx5_0 --numa 1,", ["1,0"]),
    ("roce bind --root ac922-4gpu ", [f"mlx5_{i}" for i in range(6)]),
    ("roce bind --root ac922-4gpu mlx5_0 ", ["0", "1"]),
    ("configure 0 --root ac922-4gpu --data-iface enP51", ["enP51p1s0f0", "enP51p1s0f1"]),
    ("configure 0 --root ac922-4gpu --data-iface enP51p1s0f0,enP51", ["enP51p1s0f0,enP51p1s0f1"]),
    ("fingerprint --rates --base a800", ["a800-pcie-80gb", "a800-sxm4-80gb"]),
    ("configure 0 --root ac922-4gpu --gpus ", GPUS),
    ("configure 0 --root ac922-4gpu --gpus=", GPUS),
    ("configure 0 --root ac922-4gpu --gpus 0035:0", GPUS[2:]),
    ("configure 0 --root ac922-4gpu --gpus 0004:04:00.0,0004:", ["0004:04:00.0,0004:05:00.0"]),
    ("configure 0 --root ac922-4gpu --rdma-devices mlx5_1,mlx5_", ["mlx5_1,mlx5_0", "..."]),
    ("configure --set engine.k", ["engine.kind="]),
    ("configure --set engine.kind=", ["engine.kind=auto", "engine.kind=docker", "engine.kind=process"]),
    ("configure --set engine.kind=d", ["engine.kind=docker"]),
    ("configure --set engine.sim=", ["engine.sim=true", "engine.sim=false"]),
    ("configure --set roce.macvlans.macvlan0.mo", ["roce.macvlans.macvlan0.mode="]),
    ("configure --set roce.cards.0003:01:00.0.n", ["roce.cards.0003:01:00.0.numa="]),
    ("configure 1 --set mem", ["memory_nodes=", "memory_percent="]),
    ("configure NUMA1 --set memory_p", ["memory_percent="]),
    ("configure --root ac922-4gpu --set numa.0.data_iface=eth0,enP5p",
     ["numa.0.data_iface=eth0,enP5p1s0f0", "numa.0.data_iface=eth0,enP5p1s0f1"]),
    ("configure --root ac922-4gpu --set numa.0.data_iface=enP5p", ["numa.0.data_iface=enP5p1s0f0", "numa.0.data_iface=enP5p1s0f1"]),
    ("help session ", ["list", "end", "limit"]),
    ("help roce ma", ["macvlan"]),
    ("help ", ["discover", "session", "..."]),
    ("help nonsense ", []),
)


def names(rows):
    return sorted(row["name"] for row in rows)


def check(test, found, wanted, words):
    if "..." in wanted:
        test.assertEqual(set(wanted) - set(found), {"..."}, words)
    else:
        test.assertEqual(sorted(found), sorted(wanted), words)


def flags(row):
    return sorted(["--" + option["name"] for option in cli.options_of(row)]
                  + ["-" + option["letter"] for option in cli.options_of(row) if option.get("letter")])


class Bash(unittest.TestCase):
    def test_commands(self):
        self.assertEqual(bash("aitherion "), names(cli.table()["command"]["commands"]))
        self.assertEqual(bash("aitherion dis"), ["discover"])
        self.assertEqual(bash("aitherion --json --color never dis"), ["discover"])

    def test_options_of_each_command(self):
        for words, row in cli.commands():
            self.assertEqual(bash("aitherion " + " ".join(words) + " -"), flags(row), words)

    def test_nested(self):
        parents = [row for row in cli.places() if row["commands"]]
        self.assertGreater(len(parents), 1)
        for row in parents:
            self.assertEqual(bash(f"aitherion {row['path']} "), names(row["commands"]))
            self.assertEqual(bash(f"aitherion --config x {row['path']} --json "), names(row["commands"]))

    def test_choices(self):
        for words, row in cli.commands():
            for option in row["options"]:
                for choice in option["choices"] or []:
                    line = f"aitherion {' '.join(words)} --{option['name']}"
                    self.assertEqual(bash(f"{line} {choice}"), [choice])
                    self.assertEqual(bash(f"{line}={choice}"), [choice])

    def test_arguments(self):
        self.assertEqual(bash("aitherion completion "), ["bash", "fish", "zsh"])

    def test_a_value_is_not_a_command(self):
        self.assertEqual(bash("aitherion --config discover --roo"), [])
        self.assertEqual(bash("aitherion --config x.yaml discover --roo"), ["--root"])

    def test_files(self):
        folder = os.path.join(harness.scratch(), "files")
        os.makedirs(os.path.join(folder, "captured"), exist_ok=True)
        for name in ("captured.xml", "captured.lock"):  # locks lie beside documents
            with open(os.path.join(folder, name), "w", encoding="utf-8"):
                pass
        for option, wanted in (("--root", "captured "), ("--topology", "captured captured.xml ")):
            self.assertEqual(typed(f"aitherion discover {option} cap", folder), f"aitherion discover {option} {wanted}")

    def offers(self, before, start):
        """Returns the words that readline puts behind `before`, in place of `start`."""
        line = typed(before + start)
        self.assertTrue(line.startswith(before), line)
        return line[len(before):].split()

    def test_values(self):
        for words, wanted in VALUES:
            before, start = f"aitherion -c {DOCUMENT} {words}".rsplit(" ", 1)
            option = re.match("--[^=]*=", start)  # bash keeps it and inserts its values one after another
            found = self.offers(before + " ", start)
            if option:
                self.assertTrue(found[0].startswith(option[0]))
                found[0] = found[0][len(option[0]):]
            elif start and wanted and (":" in start or "=" in start):  # also the part before the last break
                done = start[:max(start.rfind(":"), start.rfind("=")) + 1]
                found = [found[0]] + [done + word for word in found[1:]]
            check(self, found if wanted else [], wanted, words)

    def test_one_key_leaves_the_cursor_behind_the_sign(self):
        self.assertEqual(typed(f"aitherion -c {DOCUMENT} configure --set engine.ki", keys="\t"),
                         f"aitherion -c {DOCUMENT} configure --set engine.kind=")

    def test_programs(self):
        folder = os.path.join(harness.scratch(), "programs")
        os.makedirs(folder, exist_ok=True)
        for name in ("train", "train.py"):
            with open(os.path.join(folder, name), "w", encoding="utf-8"):
                os.chmod(os.path.join(folder, name), 0o755)
        for before in ("run ", "run --numa 0 ", "run -- "):
            self.assertEqual(typed(f"aitherion {before}./tra", folder), f"aitherion {before}./train ./train.py ")
        self.assertEqual(typed("aitherion run python3 tra", folder), "aitherion run python3 train train.py ")
        self.assertEqual(typed("aitherion run python3 train.py --ver", folder), "aitherion run python3 train.py --ver")
        self.assertIn(" bash ", typed("aitherion run ba", folder))

    def test_no_value_is_a_command_of_the_shell(self):
        """A capture may hold any name: one that a shell would interpret is not offered, and none is run."""
        root = os.path.join(harness.scratch(), "hostile")
        for name in ("$(touch ran)", "`touch ran`", "--force", "a b", "harmless0"):
            os.makedirs(os.path.join(root, "sys", "class", "net", name), exist_ok=True)
        os.makedirs(os.path.join(root, "sys/devices/system/node/node0"), exist_ok=True)
        self.assertEqual(typed(f"aitherion configure 0 --root {root} --data-iface "), f"aitherion configure 0 --root {root} --data-iface harmless0 ")
        self.assertFalse(os.path.exists(os.path.join(harness.scratch(), "ran")))

    def test_installed_file_is_the_same(self):
        built = os.path.join(harness.build(), "completions", "aitherion")
        with open(built, encoding="utf-8") as file, open(script("bash"), encoding="utf-8") as ours:
            self.assertEqual(file.read(), ours.read())


class Fish(unittest.TestCase):
    def setUp(self):
        if not shutil.which("fish"):
            self.skipTest("no fish (package fish)")

    def offers(self, line):
        home = os.path.join(harness.scratch(), "fish-home")
        os.makedirs(home, exist_ok=True)
        path = harness.build() + ":" + os.environ["PATH"]
        result = subprocess.run(["fish", "--no-config", "-c", f"source {shlex.quote(script('fish'))}; complete -C {shlex.quote(line)}"],
                                env=harness.environment(HOME=home, PATH=path), text=True, capture_output=True, timeout=harness.PATIENCE_S, check=False)
        self.assertEqual(result.stderr, "")
        return sorted(part.split("\t")[0] for part in result.stdout.splitlines())

    def test_syntax(self):
        result = shell_run("fish", "-n", script("fish"))
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_commands(self):
        self.assertEqual(self.offers("aitherion "), names(cli.table()["command"]["commands"]))
        self.assertEqual(self.offers("aitherion disc"), ["discover"])

    def test_options(self):
        for words, row in cli.commands():
            wanted = sorted("--" + option["name"] for option in cli.options_of(row))
            self.assertEqual(self.offers(f"aitherion {' '.join(words)} --"), wanted, words)

    def test_nested(self):
        for row in cli.places():
            if row["commands"]:
                self.assertEqual(self.offers(f"aitherion -c x {row['path']} "), names(row["commands"]))

    def test_choices(self):
        self.assertEqual(self.offers("aitherion completion "), ["bash", "fish", "zsh"])
        self.assertIn("matrix", self.offers("aitherion discover --format "))

    def test_values(self):
        for words, wanted in VALUES:
            found = self.offers(f"aitherion -c {DOCUMENT} {words}")
            option = re.search("--[^= ]*=$", words)
            check(self, [one[len(option[0]):] if option else one for one in found], wanted, words)

    def test_programs(self):
        folder = os.path.join(harness.scratch(), "programs-for-fish")
        os.makedirs(os.path.join(folder, "train"), exist_ok=True)
        for words in ("run ", "run --numa 0 ", "run python3 "):
            self.assertIn(f"{folder}/train/", self.offers(f"aitherion {words}{folder}/tra"))
        self.assertIn("bash", self.offers("aitherion run ba"))


# Types a line and Tab into a real zsh on a pseudo terminal, and prints what zsh lists.
ZSH = r"""
zmodload zsh/zpty || exit 77
zpty z "zsh -f -i"
zpty -w z "PS1=; unsetopt zle_bracketed_paste; autoload -Uz compinit; compinit -u -D; zstyle ':completion:*' list-separator '#'
LISTMAX=10000; source $1; zstyle ':completion:*' verbose no; setopt list_rows_first; bindkey '^I' list-choices; print READY''NOW"
while zpty -r z line; do [[ $line == *READYNOW* ]] && break; done
zpty -w -n z "$2"$'\t'
sleep $3
zpty -w -n z $'\C-u'"print DONE''NOW"$'\n'
while zpty -r z line; do [[ $line == *DONENOW* ]] && break; print -r -- "$line"; done
zpty -d z
"""


class Zsh(unittest.TestCase):
    def setUp(self):
        if not shutil.which("zsh"):
            self.skipTest("no zsh (package zsh)")

    def check_offers(self, line, wanted):
        """Waits between Tab and the next keys, and longer if zsh on a busy machine has not listed yet."""
        for pause_s in ("0.3", "3", "30"):
            result = subprocess.run(["zsh", "-f", "-c", ZSH, "zsh", script("zsh"), line, pause_s], text=True, capture_output=True,
                                    env=harness.environment(PATH=harness.build() + ":" + os.environ["PATH"], COLUMNS="200"),
                                    timeout=harness.PATIENCE_S, check=False, cwd=harness.scratch())
            if result.returncode == 77:
                self.skipTest("this zsh has no zpty module")
            offers = set(result.stdout.split()) | set(result.stdout.replace("\r", " ").split())
            if set(wanted) <= offers:
                return
        self.assertEqual(set(wanted) - offers, set(), line)

    def test_syntax(self):
        result = shell_run("zsh", "-n", script("zsh"))
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_commands(self):
        self.check_offers("aitherion ", names(cli.table()["command"]["commands"]))

    def test_options(self):
        rows = {tuple(words): row for words, row in cli.commands()}
        for words in (("discover",), ("roce", "test")):
            self.check_offers(f"aitherion {' '.join(words)} --", ["--" + option["name"] for option in cli.options_of(rows[words])])

    def test_nested(self):
        self.check_offers("aitherion roce ", ["test"])

    def test_choices(self):
        self.check_offers("aitherion discover --format ", ["matrix"])
        self.check_offers("aitherion completion ", ["bash", "zsh", "fish"])

    def test_values(self):
        for words, wanted in VALUES:
            if wanted:
                self.check_offers(f"aitherion -c {DOCUMENT} {words}", set(wanted) - {"..."})

    def test_programs(self):
        folder = os.path.join(harness.scratch(), "programs-for-zsh")
        os.makedirs(os.path.join(folder, "trainer"), exist_ok=True)
        for words in ("run ", "run python3 "):
            self.check_offers(f"aitherion {words}{folder}/tra", ["trainer/"])


if __name__ == "__main__":
    harness.main()
