"""Reads the YAML that aitherion writes: blocks of mappings and lists, flow collections on one line, JSON's kinds of values.

The reader is strict: anything outside this subset raises YamlError. Comments on lines of their own are skipped (documents
have them). The standard library has no YAML; the tests compare --yaml with --json through this reader.
"""
import json
import re

NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$")
WORDS = {"null": None, "~": None, "true": True, "false": False}
# A key: double-quoted or plain, then a colon and a blank or the end of the line.
KEY = re.compile(r'("(?:[^"\\]|\\.)*"|[A-Za-z0-9_./()+-][^:#"\'{}\[\],]*?):(?: +|$)')
ESCAPE = re.compile(r'\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)')
SIMPLE = {"0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b",
          " ": " ", '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029"}


class YamlError(ValueError):
    pass


def unquote(text):
    def one(match):
        code = match.group(1)
        if len(code) > 1:
            return chr(int(code[1:], 16))
        if code not in SIMPLE:
            raise YamlError(f"unknown escape \\{code}")
        return SIMPLE[code]

    return ESCAPE.sub(one, text[1:-1])


def scalar(text):
    if text.startswith('"'):
        if not re.fullmatch(r'"(?:[^"\\]|\\.)*"', text):
            raise YamlError(f"bad quoted text: {text}")
        return unquote(text)
    if text.startswith("'"):
        if not re.fullmatch(r"'(?:[^']|'')*'", text):
            raise YamlError(f"bad quoted text: {text}")
        return text[1:-1].replace("''", "'")
    if text in WORDS:
        return WORDS[text]
    if NUMBER.match(text):
        return json.loads(text)
    if not text or text[0] in "[]{},&*!|>%@`#?":
        raise YamlError(f"unexpected: {text}")
    return text


def split_flow(text):
    """Splits the inside of a flow collection at its own commas."""
    parts, depth, quote, start = [], 0, "", 0
    position = 0
    while position < len(text):
        char = text[position]
        if quote:
            if char == "\\" and quote == '"':
                position += 1
            elif char == quote:
                quote = ""
        elif char in "\"'":
            quote = char
        elif char in "[{":
            depth += 1
        elif char in "]}":
            depth -= 1
        elif char == "," and not depth:
            parts.append(text[start:position].strip())
            start = position + 1
        position += 1
    last = text[start:].strip()
    return parts + [last] if last else parts


def flow(text):
    if text.startswith("[") and text.endswith("]"):
        return [flow(part) for part in split_flow(text[1:-1])]
    if text.startswith("{") and text.endswith("}"):
        result = {}
        for part in split_flow(text[1:-1]):
            match = KEY.match(part)
            if not match:
                raise YamlError(f"no key: {part}")
            put(result, match.group(1), flow(part[match.end():].strip()))
        return result
    return scalar(text)


def put(mapping, key, value):
    key = unquote(key) if key.startswith('"') else key
    if key in mapping:
        raise YamlError(f"the key '{key}' occurs twice")
    mapping[key] = value


class Reader:
    def __init__(self, text):
        self.lines = []
        for line in text.split("\n"):
            body = line.lstrip(" ")
            if body.startswith("\t"):
                raise YamlError("a tab is used for indentation")
            if body and not body.startswith("#") and line not in ("---", "..."):
                self.lines.append((len(line) - len(body), body))
        self.at = 0

    def peek(self):
        return self.lines[self.at] if self.at < len(self.lines) else (-1, "")

    def block(self, indent):
        """Reads the value whose lines begin at column indent."""
        body = self.peek()[1]
        if body == "-" or body.startswith("- "):
            return self.sequence(indent)
        if KEY.match(body):
            return self.mapping(indent)
        self.at += 1
        return flow(body)

    def sequence(self, indent):
        items = []
        while self.peek()[0] == indent and (self.peek()[1] == "-" or self.peek()[1].startswith("- ")):
            rest = self.peek()[1][1:]
            inner = rest.lstrip(" ")
            if not inner:
                self.at += 1
                if self.peek()[0] <= indent:
                    raise YamlError("an empty list entry")
                items.append(self.block(self.peek()[0]))
                continue
            column = indent + 1 + len(rest) - len(inner)
            self.lines[self.at] = (column, inner)
            items.append(self.block(column))
        return items

    def mapping(self, indent):
        result = {}
        while self.peek()[0] == indent:
            body = self.peek()[1]
            match = KEY.match(body)
            if not match:
                break
            rest = body[match.end():].strip()
            self.at += 1
            put(result, match.group(1), flow(rest) if rest else self.below(indent))
        return result

    def below(self, indent):
        """Reads the value on the lines after 'key:'; a list may begin at the key's own column."""
        column, body = self.peek()
        if column > indent or (column == indent and (body == "-" or body.startswith("- "))):
            return self.block(column)
        raise YamlError("a key without a value")


def load(text):
    reader = Reader(text)
    if not reader.lines:
        raise YamlError("the text is empty")
    value = reader.block(reader.peek()[0])
    if reader.at != len(reader.lines):
        raise YamlError(f"not understood: {reader.peek()[1]}")
    return value
