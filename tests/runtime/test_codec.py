#!/usr/bin/env python3
"""Our codec against Cap'n Proto's own tool: for every struct of the schemas, random messages that capnp encodes are read by
our readers as capnp reads them, and what our builders make of them is read by capnp the same."""
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "tools"))
sys.path.insert(0, os.path.join(SOURCE, "proto"))

import harness  # noqa: E402
import request  # noqa: E402

SCHEMAS = [os.path.join(SOURCE, path) for path in ("proto/common.capnp", "proto/control.capnp", "proto/gpu-control.capnp",
                                                   "proto/nvml-wire.capnp", "tests/wire/everything.capnp")]
SEGMENT = "--segment-size=1000000"  # in words: one for each message
MESSAGES = 60  # of each struct
DEPTH = 3      # of structs that hold themselves
RANGES = {f"{sign}int{bits}": (0 if sign else -(1 << (bits - 1)), (1 << bits) - 1 if sign else (1 << (bits - 1)) - 1)
          for sign in ("", "u") for bits in (8, 16, 32, 64)}


def tool():
    path = os.path.join(harness.build(), "tests", "tools", "wire_copy")
    return path if os.access(path, os.X_OK) else None


def capnp(*arguments, data):
    return subprocess.run(["capnp", *arguments], input=data, stdout=subprocess.PIPE, check=True).stdout


class Maker:
    """Random values of a schema's types, in the JSON that `capnp convert` takes."""

    def __init__(self, asked, seed):
        self.asked, self.random = asked, random.Random(seed)

    def number(self, kind):
        low, high = RANGES[kind]
        value = self.random.choice([low, high, 0, 1, self.random.randint(low, high)])
        return str(value) if kind.endswith("64") else value

    def text(self):  # without braces: by them `capnp convert` parts a stream of JSON, also in strings
        return "".join(self.random.choice("abc \"\\\n\t€中'[],:") for _ in range(self.random.choice([0, 1, 7, 8, 30])))

    def value(self, type_, depth):
        kind, pick = type_.kind, self.random
        if kind in RANGES:
            return self.number(kind)
        if kind == "list":
            count = pick.choice([0, 1, 2, 9]) if depth < DEPTH else 0
            return [self.value(type_.item, depth + 1) for _ in range(count)]
        if kind == "struct":
            return self.struct(self.asked.nodes[type_.type_id], depth + 1)
        return {"void": lambda: None, "bool": lambda: pick.random() < 0.5, "text": self.text,
                "data": lambda: list(pick.randbytes(pick.choice([0, 1, 8, 33]))),
                "float32": lambda: struct.unpack("f", struct.pack("f", pick.uniform(-1e6, 1e6)))[0],
                "float64": lambda: pick.choice([0.0, -1e300, 5e-300, pick.uniform(-1, 1)]),
                "enum": lambda: pick.choice(self.asked.nodes[type_.type_id].enumerants)}[kind]()

    def struct(self, node, depth=0):
        members = [field for field in node.fields if field.tag is not None]
        chosen = self.random.choice(members) if members else None
        made = {}
        for field in node.fields:
            if field.tag is None or field is chosen:
                made[field.name] = self.struct(self.asked.nodes[field.group_id], depth) if field.group_id else \
                    self.value(field.type, depth)
        return made


def holds(whole, part):
    """Whether whole has everything of part, and possibly more: null in one is a default in the other."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(name in whole and holds(whole[name], value) for name, value in part.items())
    if isinstance(part, list):
        return isinstance(whole, list) and len(whole) == len(part) and all(map(holds, whole, part))
    if isinstance(part, float) or isinstance(whole, float):
        return float(whole) == float(part) or struct.pack("f", float(whole)) == struct.pack("f", float(part))
    return whole == part and isinstance(whole, bool) == isinstance(part, bool)


def documents(text):
    """The JSON values of a text, which follow each other."""
    decoder, at = json.JSONDecoder(), 0
    text = text.strip()
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        yield value
        at += len(text[at:]) - len(text[at:].lstrip())


@unittest.skipUnless(shutil.which("capnp"), "no capnp (package capnproto)")
@unittest.skipUnless(tool(), "tests/tools/wire_copy is not built: make check TESTS=")
class Codec(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.asked = request.read(capnp("compile", "-o-", *SCHEMAS, data=b""))

    def structs(self):
        """(schema's file, name, node) of all structs except groups."""
        for node in self.asked.nodes.values():
            if node.kind == "struct" and not node.is_group and node.scope_id:
                file, name = node.display_name.split(":")
                yield next(path for path in SCHEMAS if path.endswith("/" + os.path.basename(file))), name, node

    def test_the_tool_knows_every_struct(self):
        listed = subprocess.run([tool(), "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
        # capnp has no name for the parameters and results of a method.
        self.assertIn("Driver.memAlloc$Params", listed)
        listed = [name for name in listed if "$" not in name]
        self.assertEqual(sorted(listed), sorted(name for _, name, _ in self.structs()))

    def check(self, schema, name, wanted):
        encoded = capnp("convert", SEGMENT, "json:binary", schema, name, data="\n".join(json.dumps(value, ensure_ascii=False) for value in wanted).encode())
        ours = subprocess.run([tool(), name], input=encoded, capture_output=True, check=False)
        self.assertEqual(ours.returncode, 0, ours.stderr[-300:])
        read = [json.loads(line) for line in ours.stderr.decode().splitlines()]
        again = list(documents(capnp("convert", "--quiet", "binary:json", schema, name, data=ours.stdout).decode()))
        official = list(documents(capnp("convert", "--quiet", "binary:json", schema, name, data=encoded).decode()))
        self.assertEqual((len(read), len(again)), (len(wanted), len(wanted)))
        for i, value in enumerate(official):
            self.assertTrue(holds(read[i], value), f"{name} {i}: we read {read[i]}\nof {value}")
            self.assertTrue(holds(again[i], value), f"{name} {i}: capnp reads {again[i]}\nin our copy of {value}")
            self.assertTrue(holds(read[i], again[i]), f"{name} {i}: {read[i]}\n{again[i]}")

    def test_random_messages(self):
        for schema, name, node in self.structs():
            with self.subTest(name):
                maker = Maker(self.asked, name)
                self.check(schema, name, [maker.struct(node) for _ in range(MESSAGES)])

    def test_messages_without_any_field_set(self):
        for schema, name, node in self.structs():
            if not any(field.tag is not None for field in node.fields):
                with self.subTest(name):
                    self.check(schema, name, [{}])

    def test_the_comparison_can_fail(self):
        self.assertFalse(holds({"a": 1}, {"a": 2}))
        self.assertFalse(holds({"a": [1]}, {"a": [1, 2]}))
        self.assertFalse(holds({}, {"a": 0}))
        self.assertFalse(holds({"a": 1}, {"a": True}))

    def test_large_messages(self):
        """Lists and texts that take more than any one default segment."""
        schema = SCHEMAS[-1]
        wanted = [{"text": "x" * 200000, "bytes": list(range(256)) * 500, "empty": None,
                   "inners": [{"id": str(i), "title": f"t{i}", "maxSMCount": i % 256} for i in range(5000)],
                   "bools": [bool(i % 3) for i in range(10001)], "matrix": [[i, -i] for i in range(3000)]}]
        self.check(schema, "Everything", wanted)

    def test_a_recorded_stream_is_read_by_capnp(self):
        """Runs `capnp decode` on our frames as they are sent."""
        made = capnp("convert", SEGMENT, "json:binary", SCHEMAS[1], "Message", data=b'{"endSession": "7"}')
        ours = subprocess.run([tool(), "Message"], input=made, capture_output=True, check=True).stdout
        self.assertEqual(capnp("decode", "--short", SCHEMAS[1], "Message", data=ours * 2).decode(),
                         "(endSession = 7)\n(endSession = 7)\n")


@unittest.skipUnless(shutil.which("capnp"), "no capnp (package capnproto)")
class Generator(unittest.TestCase):
    """The generator refuses by name what it cannot write."""

    def generate(self, body):
        folder = os.path.join(harness.scratch(), "schema")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "x.capnp")
        with open(path, "w", encoding="utf-8") as file:
            file.write("@0xbf2ffdbb4b0fd5a9;\n" + body)
        asked = subprocess.run(["capnp", "compile", "-o-", path], stdout=subprocess.PIPE, check=True).stdout
        return subprocess.run([sys.executable, "-B", os.path.join(SOURCE, "proto", "generate.py"), folder], input=asked,
                              capture_output=True, check=False)

    def test_refusals(self):
        for body, word in (("struct A { a @0 :AnyPointer; }", "anyPointer"),
                           ("struct A { a @0 :List(UInt8) = [1]; }", "default of a list"),
                           ("struct A(T) { a @0 :T; }", "generic"),
                           ("interface I {} struct A { a @0 :I; }", "interface")):
            with self.subTest(body):
                result = self.generate(body)
                self.assertEqual(result.returncode, 1)
                self.assertRegex(result.stderr.decode(), re.compile(word))

    def test_two_names_that_collide(self):
        result = self.generate("struct A { xY @0 :UInt8; xy @1 :UInt8; setX @2 :UInt8; x @3 :UInt8; }")
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"ath_x_a_set_x", result.stderr)


if __name__ == "__main__":
    harness.main()
