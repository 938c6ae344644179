#!/usr/bin/env python3
"""Lists words and sentence openings that make the tree's texts hard to read (docs/development.md, "Plain English").

Usage: tests/words.py [PATH...]

Reads comments, strings and test names of C and CUDA files, comments and strings of Python files, shell scripts, make files,
schemas, man pages and Markdown, and the punctuation of Chinese translations. PATH is a file or a folder, relative to the current folder; without one the whole tree is read.
Prints a line "file:line: 'words found': say ..." for each fault; a file without faults counts as passed.

Quotes and backticks around a word of the list allow it: a text may speak about "anew".
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Words that we do not use, and what to say instead. A space matches any blank, a line break too. Case does not matter.
WORDS = [
    # Old or literary words.
    ("anew", "again"),
    ("afresh", "again"),
    ("once more", "again"),
    ("albeit", "although"),
    ("lest", "so that ... not"),
    ("ere", "before"),
    ("hitherto", "until now"),
    ("hence", "therefore, so"),
    ("thus", "so"),
    ("likewise", "also, in the same way"),
    ("whilst", "while"),
    ("amongst", "among"),
    ("amidst", "among, during"),
    ("upon", "on"),
    ("unto", "to"),
    ("aught|ought|naught|nought", "anything, should, nothing"),
    ("thrice", "three times"),
    ("learnt", "learned"),
    ("shall", "must (a rule), will (what happens)"),
    ("forthwith", "immediately"),
    ("there(?:of|in|by|to|upon|with)", "of it, in it, ...: name the thing"),
    ("where(?:of|in|by|to|upon|with)", "of which, in which, ...: or two sentences"),
    ("here(?:of|in|by|to|upon|with|tofore)", "in this file, with this call, ...: name the thing"),
    ("in vain", "without success; or name the failure"),
    ("for ever", "forever"),
    ("of old", "of earlier versions"),
    ("mend|mends|mended|mending", "fix, repair"),
    ("bears", "has, carries, supports"),
    ("hears|is heard|are heard", "receives, learns, is received"),
    # Pronouns and relative clauses without a noun.
    ("who(?:so)?ever|whom(?:so)?ever|whosever", "name it: the caller, the client, the user"),
    ("nobody|no one", "name it: no process, no caller, no user"),
    ("somebody|someone", "name it: another process, a caller, a user"),
    ("strangers|stranger's", "foreign links, other containers, ..."),
    ("that which", "name the thing"),
    ("those who", "name them: users who, callers that"),
    ("what of", "name the part: the bytes of"),
    ("of it all", "name the thing"),
    ("of such", "of these; or name them"),
    ("the one to the other|the one and the other", "name both"),
    ("what is so", "existing settings, ...: name the thing"),
    # Turns of phrase.
    ("but for", "except"),
    ("save for", "except"),
    ("(?<!,) but that", "except that"),
    ("nothing but|none but", "only"),
    ("all but", "all except; nearly"),
    ("nothing of", "nothing about, no part of"),
    ("(?:is|are|was|were|be|been|being) told", "returns, gets, receives a message"),
    ("(?:is|are|was|were|be|been|being) said", "is reported, is printed"),
    ("(?:is|are|was|were|be|been|being) let", "is allowed"),
    ("(?:is|are) to be", "must be, will be"),
    ("(?:is|are|was|were|be|been|to be) had", "is available, exists"),
    ("(?:does|do|goes|go) without", "needs no, skips"),
    ("as far as(?! possible)", "if, when, for all that; or name the limit"),
    ("as it were", "leave it out"),
    ("so to (?:say|speak)", "leave it out"),
    ("wants? (?:nothing|none)", "needs no"),
    ("(?:minds|knows|needs|asks|takes|makes|gives|sees) not", "does not ..., ignores"),
    ("(?:NULL|true|false|empty|0|-1|-E[A-Z0-9]+) where", "if"),
    ("(?:NULL|list|0|or) without memory|without memory(?:,? (?:the|all|an?|it)| or)", "... if memory runs out"),
]

# First words of a sentence that make a relative clause its subject. "Of course" and questions are not meant.
OPENINGS = {
    "Who": "the noun: The user that ..., A process that ...",
    "Whoever": "the noun: A caller that ...",
    "Whom": "the noun",
    "Whose": "the noun: The owner of ...",
    "What": "the noun: The bytes that ..., Lists ..., Operations of ...",
    "Whatever": "the noun: Any request ..., All input ...",
    "Which": "the noun: The device that ...",
    "Those": "the noun: Entries that ..., Sessions that ...",
    "Where": "If ..., or the noun: The folder in which ...",
    "Of": "the noun: Any one of the shares ...; or: If there are several, ...",
}

SKIPPED_FOLDERS = {".git", "data", "autom4te.cache", "build-aux", "m4", "__pycache__"}
SKIPPED_FILES = {"tests/words.py"}
GENERATED = {"configure", "aclocal.m4", "Makefile.in"}

# Chinese sentences have Chinese punctuation, and RoCE is written so. The words in ALLOWED are YAML's, and two titles of menus.
HAN = "[\u4e00-\u9fff]"
CHINESE = [
    (re.compile(f"{HAN}['\"”’）」]? ?[,;:?!()]|[,;:?!()] ?{HAN}"), "，；：？！（）"),
    (re.compile("ROCE"), "RoCE"),
]
ALLOWED = re.compile("键: 值|添加ROCE网口|ROCE网卡管理")
TRANSLATION = re.compile(r'^msgstr(?:\[\d\])? ("(?:\\.|[^"\\\n])*"(?:\n"(?:\\.|[^"\\\n])*")*)', re.MULTILINE)

WORD_PATTERNS = [
    (re.compile(r"(?<![\w/.-])(?:" + word.replace(" ", r"\s+") + r")(?![\w-])", re.IGNORECASE), better)
    for word, better in WORDS
]
OPENING_PATTERN = re.compile(r"(?:^|[.!?;:)\"']\s)\s*(" + "|".join(OPENINGS) + r")\s+(?!course\b)[a-z]")
SENTENCE_END = re.compile(r"[.?!](?=\s|$)")
# A word that a text speaks about: "anew", `anew`.
MENTION = re.compile(r"`[^`\n]*`|(?<!\w)\"[^\"\s]+(?: [^\"\s]+){0,2}\"")

C_TOKEN = re.compile(r"""(?P<comment>/\*.*?\*/|(?://[^\n]*(?:\n[ \t]*(?=//))?)+)
                       | (?P<string>"(?:\\.|[^"\\\n])*"(?:\s*"(?:\\.|[^"\\\n])*")*)
                       | '(?:\\.|[^'\\\n])+'
                       | \b(?:LOOP_)?TEST\((?P<test>\w+)""", re.DOTALL | re.VERBOSE)
PYTHON_TOKEN = re.compile(r"""(?P<comment>\#[^\n]*(?:\n[ \t]*\#[^\n]*)*)
                            | [rbfRBF]{0,2}(?P<string>\"\"\".*?\"\"\"|'''.*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
                            | \bdef\s+(?P<test>test_\w+)""", re.DOTALL | re.VERBOSE)
HASH_COMMENT = re.compile(r"(?P<comment>(?:(?<=\s)|^)(?:\#|dnl\b)[^\n]*(?:\n[ \t]*(?:\#|dnl\b)[^\n]*)*)", re.MULTILINE)
JSON_STRING = re.compile(r'(?P<string>"(?:\\.|[^"\\\n])*")')


def blank(text):
    """text with every character but line breaks turned into a space, so that offsets stay."""
    return re.sub(r"[^\n]", " ", text)


def without_marks(kind, text):
    """The words of a token at their offsets: quotes, escapes and the marks of comments become blanks."""
    if kind == "test":
        return text.replace("_", " ")
    if kind == "string":
        text = re.sub(r"\\[ntr\"'\\]", "  ", text)
        text = re.sub(r"^\s*(\"\"\"|'''|\"|')|(\"\"\"|'''|\"|')\s*$", lambda match: blank(match[0]), text)
        return re.sub(r"\"(\s*)\"", lambda match: blank(match[0]), text)
    text = re.sub(r"^/\*+<?|\*/$", lambda match: blank(match[0]), text)
    return re.sub(r"^[ \t]*(#!.*|(\*|//+|#+|dnl\b)(?=\s|$))", lambda match: blank(match[0]), text, flags=re.MULTILINE)


def tokens(pattern, text):
    for match in pattern.finditer(text):
        for kind, token in match.groupdict().items():
            # A string of one word is a name, not a text.
            if token and (kind != "string" or " " in token.strip("\"' ")):
                yield match.start(kind), without_marks(kind, token)


def paragraphs(text):
    """Paragraphs, list items and table cells of Markdown; headings and code are left out."""
    text = re.sub(r"^( *)```.*?^ *```", lambda match: blank(match[0]), text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^(#|    ).*$|^[ \t]*([-*+]|\d+\.)(?=\s)", lambda match: "\f" + blank(match[0])[1:], text, flags=re.MULTILINE)
    for match in re.finditer(r"(?:[^\n|\f]|\n(?![ \t]*\n))+", text):
        yield match.start(), match[0]


def roff(text):
    """Paragraphs of a man page: macros end them; font escapes go."""
    text = re.sub(r"\\f[A-Z]|\\-", lambda match: blank(match[0]), text)
    text = re.sub(r"^[.'].*$", lambda match: "\f" + blank(match[0])[1:] if match[0] else "", text, flags=re.MULTILINE)
    for match in re.finditer(r"[^\f]+", text):
        yield match.start(), match[0]


def translations(text):
    """The faults of a catalogue of translations, each with its translation's offset."""
    for match in TRANSLATION.finditer(text):
        words = ALLOWED.sub("", re.sub(r'"\n"', "", match[1])[1:-1])
        for pattern, better in CHINESE:
            for found in pattern.finditer(words):
                yield match.start(), found[0], better


def reader(name, text):
    """How to read a file; None: it is not read."""
    ending = os.path.splitext(name)[1]
    base = os.path.basename(name)
    if base in GENERATED:
        return None
    if ending in (".c", ".h", ".cu", ".cuh"):
        return lambda: tokens(C_TOKEN, text)
    if ending == ".py" or re.match(r"#!.*python", text):
        return lambda: tokens(PYTHON_TOKEN, text)
    if ending == ".md":
        return lambda: paragraphs(text)
    if ending == ".json" and "schema" in name:  # other JSON files are data
        return lambda: tokens(JSON_STRING, text)
    if re.search(r"\.[1-8](\.in)?$", base):
        return lambda: roff(text)
    # The words of a script's messages too; a list of words has no sense as code there.
    if ending == ".sh" or re.match(r"#!.*sh\b", text):
        return lambda: [*tokens(HASH_COMMENT, text), *tokens(JSON_STRING, HASH_COMMENT.sub(lambda m: blank(m[0]), text))]
    if ending in (".mk", ".am", ".ac", ".capnp", ".yaml", ".yml", ".supp") or base.startswith(("Dockerfile", "aitherion.service")):
        return lambda: tokens(HASH_COMMENT, text)
    return None


def faults_of(name, text):
    """Yields the faults of one file as (line, words, better)."""
    if name.endswith(".po"):
        yield from translations(text)
        return
    read = reader(name, text)
    for start, words in read() if read else ():
        words = MENTION.sub(lambda match: blank(match[0]), words)
        for pattern, better in WORD_PATTERNS:
            for match in pattern.finditer(words):
                yield start + match.start(), " ".join(match[0].split()), better
        for match in OPENING_PATTERN.finditer(words):
            end = SENTENCE_END.search(words, match.end())
            if not end or end[0] != "?":
                yield start + match.start(1), match[1] + " ...", "begin with " + OPENINGS[match[1]]


def report(name, text):
    """The lines to print about one file, in its order."""
    return [f"{name}:{text.count(chr(10), 0, offset) + 1}: '{words}': {'' if better.startswith('begin') else 'say: '}{better}\n"
            for offset, words, better in sorted(set(faults_of(name, text)))]


def files_of(path):
    if os.path.isfile(path):
        yield path
        return
    for folder, folders, files in os.walk(path):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS and not name.startswith("."))
        yield from (os.path.join(folder, name) for name in sorted(files))


def check_itself():
    """Exits when a fault would not be noticed, or a good text would be refused."""
    bad = {
        "x.c": ('/* Who asks is\n * told anew. */\nputs("all but " "for it");\nTEST(minds_not_a_thing)\n', [1, 1, 2, 3, 3, 4]),
        "x.h": ("int x; // Fine.\n// Of several, any. NULL where there is none.\n// NULL without memory.\n", [2, 2, 3]),
        "x.py": ('"""Does it.\n\nWhat is so stays."""\n# Whoever reads\ndef test_asks_anew():\n    "one two"\n', [3, 3, 4, 4, 5]),
        "x.sh": ("#!/bin/sh\n# Those that wait.\necho \"try anew\"\n", [2, 3]),
        "x.md": ("# What is there\n\nText `anew`.\n\n| Where it is | of it all |\n", [5, 5]),
        "x.1": (".TH X\nText anew.\n.PP\nWhere it is.\n", [2, 4]),
        "x.po": ('msgid "one: two"\nmsgstr "一: 二 (三)"\n\nmsgid "RoCE"\nmsgstr ""\n"ROCE，"\n', [2, 2, 2, 5]),
        "schema/x.json": ('{"description": "Of several, any"}', [1]),
    }
    good = '/* The word "anew" is not used. Where is it? Of course here. */ int anew, upon; puts("anew");\n'
    if report("x.po", 'msgid "a: b"\nmsgstr "映射（键: 值）：ls; cat，添加ROCE网口"\n'):
        sys.exit("words: the check refuses good punctuation")
    for name, (text, lines) in bad.items():
        found = [int(line.split(":")[1]) for line in report(name, text)]
        if found != lines:
            sys.exit(f"words: the check finds faults of {name} in lines {found}, not in {lines}")
    if report("x.c", good):
        sys.exit("words: the check refuses a good text: " + "".join(report("x.c", good)))


def main():
    check_itself()
    passed = failed = 0
    for path in sys.argv[1:] or [ROOT]:
        if not os.path.exists(path):
            sys.exit(f"words: no file or folder '{path}'")
        for file in files_of(path):
            name = os.path.relpath(os.path.abspath(file), ROOT)
            try:
                with open(file, encoding="utf-8") as stream:
                    text = stream.read()
            except UnicodeDecodeError:
                continue
            if name in SKIPPED_FILES or not (reader(name, text) or name.endswith(".po")):
                continue
            lines = report(name, text)
            print("".join(lines), end="")
            failed += bool(lines)
            passed += not lines
    print(f"{passed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
