#!/usr/bin/env python3
"""Fills a man page's template (man/*.in) from the command table, as `aitherion help --json` prints it.

    generate.py FACTS.json VERSION DATE PAGE TEMPLATE > PAGE

PAGE is the name of the page, such as aitherion-discover.1. @WORD@ in a template is replaced by text of the command table; a @WORD@
alone on a line may become several lines.
"""
import json
import re
import sys


def escape(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line[:1] in ".'" else line for line in text.split("\n"))


def prose(text):
    """Formats paragraphs: lines that begin with two blanks are kept as they are, `words` become bold."""
    out = []
    for paragraph in text.split("\n\n"):
        body = "\n".join("\\&" + line if line.startswith("  ") else line for line in escape(paragraph).split("\n"))
        out.append(re.sub(r"`([^`]*)`", r"\\fB\1\\fR", body))
    return "\n.PP\n".join(out)


def rows(pairs):
    return "\n".join(".TP\n%s\n%s" % (term, prose(text)) for term, text in pairs)


def option_term(option):
    names = ([r"\fB\-%s\fR, " % option["letter"]] if option.get("letter") else [])
    names.append(r"\fB\-\-%s\fR" % escape(option["name"]))
    if option["choices"]:
        names.append(r" " + "|".join(escape(choice) for choice in option["choices"]))
    elif option.get("value"):
        names.append(r" \fI%s\fR" % escape(option["value"]))
    return "".join(names)


def options(table):
    return rows((option_term(option), option["help"]) for option in table)


def argument(entry):
    text = r"\fI%s\fR%s" % (escape(entry["name"]), "..." if entry["is_repeated"] else "")
    return "[%s]" % text if entry["is_optional"] else text


def synopsis(command):
    words = [r"\fBaitherion %s\fR" % command["path"], r"[\fIOPTIONS\fR]"]
    if command["commands"]:
        words.append(r"\fICOMMAND\fR")
    return " ".join(words + [argument(entry) for entry in command["arguments"]])


def section(title, body):
    return ".SH %s\n%s" % (title, body) if body else ""


def key_rows(keys):
    out = []
    for key in keys:
        facts = [key.get("allowed") or key["type"]]
        if key["is_required"]:
            facts.append("required")
        elif key.get("default") is not None:
            facts.append("default: " + key["default"])
        elif key.get("otherwise"):
            facts.append("if left out: " + key["otherwise"])
        out.append(".TP\n.B %s\n%s.\n.br\nValue: %s." %
                   (escape(key["path"]), prose(key["help"]), prose("; ".join(facts))))
    return "\n".join(out)


def page_of(command):
    """Returns the page's name: aitherion-roce-test."""
    return "-".join(["aitherion"] + command["path"].split())


def find(command, name):
    """Returns the command whose page has this name, at or below `command`, or None."""
    if page_of(command) == name:
        return command
    return next(filter(None, (find(child, name) for child in command["commands"])), None)


def page_rows(commands):
    return rows((r"\fB%s\fR(1)" % escape(page_of(c)), c["summary"]) for c in commands)


def values(facts, version, date, page):
    root = facts["command"]
    name = page.rsplit(".", 1)[0]
    command = find(root, name) or root
    examples = rows((r"\fB%s\fR" % escape(e["command"]), e["meaning"]) for e in command["examples"])
    arguments = rows((argument(a), a["help"]) for a in command["arguments"])
    return {
        "DATE": date,
        "VERSION": version,
        "NAME": escape(name),
        "TITLE": escape(name.upper()),
        "SUMMARY": prose(command["summary"]),
        "SYNOPSIS": synopsis(command),
        "DESCRIPTION": prose(command.get("description") or command["summary"]),
        "COMMANDS": page_rows(root["commands"]),
        "SUBCOMMANDS_SECTION": section("COMMANDS", page_rows(command["commands"])),
        "ARGUMENTS_SECTION": section("ARGUMENTS", arguments),
        "OPTIONS": options(command["options"]),
        "OPTIONS_SECTION": section("OPTIONS", options(command["options"])),
        "GLOBAL_OPTIONS": options(facts["global_options"]),
        "MACHINE_OPTIONS": options(facts["machine_options"]),
        "EXIT_CODES": rows((r"\fB%s\fR" % f["name"], f["meaning"]) for f in facts["exit_codes"]),
        "ERRORS": rows((r"\fB%s\fR" % escape(f["name"]), f["meaning"]) for f in facts["errors"]),
        "ENVIRONMENT": rows((r"\fB%s\fR" % f["name"], f["meaning"]) for f in facts["environment"]),
        "SWITCHES": rows((r"\fB%s\fR (%s)" % (escape(s["name"]), s["side"]), s["meaning"]) for s in facts["switches"]),
        "EXAMPLES": examples,
        "EXAMPLES_SECTION": section("EXAMPLES", examples),
        "SEE_ALSO": ",\n".join(r".BR %s (1)" % escape(page_of(c)) for c in root["commands"]),
        "KEYS": key_rows(facts["document_keys"]),
        "FAULTS": rows((r"\fB%s\fR" % escape(f["name"]), f["meaning"]) for f in facts["document_faults"]),
    }


def main():
    facts_path, version, date, page, template_path = sys.argv[1:]
    with open(facts_path, encoding="utf-8") as file:
        table = values(json.load(file), version, date, page)
    with open(template_path, encoding="utf-8") as file:
        template = file.read()
    text = re.sub(r"@([A-Z_]+)@", lambda match: table[match.group(1)], template)
    text = re.sub(r"\n{2,}", "\n", text).replace(",,\n", ",\n")
    sys.stdout.write('.\\" Made by man/generate.py from %s and the command table.\n' % template_path.rsplit("/", 1)[-1])
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
