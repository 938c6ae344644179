#!/usr/bin/env python3
"""Completions in the real shells: what Tab offers is what the command table has."""
import os
import shlex
import shutil
import subprocess
import unittest

import cli
import harness

BREAKS = "=:"  # bash takes words apart at these (COMP_WORDBREAKS)


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
    """What bash offers at the end of a line, as it would call the function."""
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
               f"_aitherion; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
    result = shell_run("bash", "--norc", "-c", program)
    if result.returncode or result.stderr:
        raise AssertionError(f"{line}: {result.stderr}")
    return sorted(filter(None, result.stdout.split("\n")))


def names(rows):
    return sorted(row["name"] for row in rows)


def flags(row):
    return sorted(["--" + option["name"] for option in cli.options_of(row)]
                  + ["-" + option["letter"] for option in cli.options_of(row) if option.get("letter")])


class Bash(unittest.TestCase):
    def test_commands(self):
        self.assertEqual(bash("aitherion "), names(cli.table()["command"]["commands"]))
        self.assertEqual(bash("aitherion dis"), ["discover"])
        self.assertEqual(bash("aitherion --json --color never dis"), ["discover"])
        self.assertEqual(bash("aitherion help disc"), ["discover"])

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

    def test_a_value_is_no_command(self):
        self.assertEqual(bash("aitherion --config discover --roo"), [])
        self.assertEqual(bash("aitherion --config x.yaml discover --roo"), ["--root"])

    def test_files(self):
        folder = os.path.join(harness.scratch(), "files")
        os.makedirs(os.path.join(folder, "captured"), exist_ok=True)
        with open(os.path.join(folder, "captured.xml"), "w", encoding="utf-8"):
            pass
        old = os.getcwd()
        os.chdir(folder)
        try:
            program = f"cd {shlex.quote(folder)}; source {shlex.quote(script('bash'))}; compopt() {{ :; }}; "
            for option, wanted in (("--root", "captured"), ("--topology", "captured\ncaptured.xml")):
                result = shell_run("bash", "--norc", "-c", program + f"COMP_WORDS=(aitherion discover {option} cap); "
                                   "COMP_CWORD=3; _aitherion; printf '%s\\n' \"${COMPREPLY[@]}\" | sort")
                self.assertEqual(result.stdout.strip(), wanted, option)
        finally:
            os.chdir(old)

    def test_installed_file_is_the_same(self):
        built = os.path.join(os.path.dirname(harness.binary()), "completions", "aitherion")
        with open(built, encoding="utf-8") as file, open(script("bash"), encoding="utf-8") as ours:
            self.assertEqual(file.read(), ours.read())


class Fish(unittest.TestCase):
    def setUp(self):
        if not shutil.which("fish"):
            self.skipTest("no fish (package fish)")

    def offers(self, line):
        home = os.path.join(harness.scratch(), "fish-home")
        os.makedirs(home, exist_ok=True)
        result = subprocess.run(["fish", "--no-config", "-c", f"source {shlex.quote(script('fish'))}; complete -C {shlex.quote(line)}"],
                                env=harness.environment(HOME=home), text=True, capture_output=True, timeout=harness.PATIENCE_S, check=False)
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


# Types a line and Tab into a real zsh on a pseudo terminal and prints what it lists.
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
        """With a pause between Tab and what is typed behind it, which has no list where the machine is too busy."""
        for pause_s in ("0.3", "3", "30"):
            result = shell_run("zsh", "-f", "-c", ZSH, "zsh", script("zsh"), line, pause_s)
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


if __name__ == "__main__":
    harness.main()
