#!/usr/bin/env python3
"""Tests of the test tools: a tool that misses a fault would make the tests that use it worthless."""
import os
import subprocess
import sys
import tempfile

import harness
import jsonschema
import miniyaml
import mkroot
import unittest

sys.path.insert(0, os.path.join(harness.SOURCE, "tests", "runtime"))

import covering  # noqa: E402


def faults(schema, value):
    jsonschema.check_schema(schema)
    return jsonschema.Validator(schema).faults(value)


class MkRoot(unittest.TestCase):
    def load(self, text, **others):
        with tempfile.TemporaryDirectory() as folder:
            for name, content in {"main": text, **others}.items():
                with open(os.path.join(folder, name + ".root"), "w", encoding="utf-8") as file:
                    file.write(content)
            return mkroot.load(os.path.join(folder, "main.root"))

    def test_escapes_come_back(self):
        for data in (b"abc\n", b"", b"\n", b"x \n", b"a\\c\n", b"a\\c", b"a\\", b"\xff\x00\x80", "hé\n".encode(), b"\t\n\n"):
            line = "x = " + mkroot.escape(data)
            self.assertEqual(mkroot.parse_line(line.rstrip(" ")), ("x", "file", data))

    def test_kinds(self):
        entries = self.load("# comment\n\na/b = 1\\n2\na/l -> ../x\na/empty/\n")
        self.assertEqual(entries, {"a/b": ("file", b"1\n2\n"), "a/l": ("link", "../x"), "a/empty": ("folder", None)})

    def test_overlay(self):
        base = "a/b = 1\na/c = 2\nd/e = 3\n"
        entries = self.load("include base.root\na/b = 9\nd !\n", base=base)
        self.assertEqual(entries, {"a/b": ("file", b"9\n"), "a/c": ("file", b"2\n")})

    def test_mistakes(self):
        for text in ("a = 1\na = 2", "../a = 1", "/a = 1", "a//b = 1", "nonsense", "a = \\q", "gone !",
                     "a = 1\ninclude base.root", "include main.root"):
            with self.assertRaises(mkroot.RootError, msg=text):
                self.load(text, base="b = 1\n")

    def test_every_capture_expands(self):
        for name in harness.capture_names():
            if not name.endswith(".xml"):
                self.assertTrue(os.path.isdir(os.path.join(harness.capture(name), "sys")), name)

    def test_links_of_captures_lead_somewhere(self):
        for name in harness.capture_names():
            if name.endswith(".xml"):
                continue
            for folder, folders, files in os.walk(harness.capture(name)):
                for entry in folders + files:
                    path = os.path.join(folder, entry)
                    self.assertTrue(os.path.exists(path), f"{name}: {os.path.relpath(path, harness.capture(name))}")


class Schema(unittest.TestCase):
    RIGHT_AND_WRONG = [
        ({"type": "integer"}, [1, -3, 2.0], [1.5, "1", True, None]),
        ({"type": ["string", "null"]}, ["a", None], [1, False]),
        ({"const": 1}, [1], [True, 2, "1"]),
        ({"enum": ["a", None]}, ["a", None], ["b", 0]),
        ({"pattern": "^a+$"}, ["aa", 5], ["ab"]),
        ({"minimum": 1, "maximum": 3}, [1, 3, "x"], [0, 4]),
        ({"exclusiveMinimum": 1, "exclusiveMaximum": 3}, [2], [1, 3]),
        ({"minLength": 1, "maxLength": 2}, ["ä", "ab"], ["", "abc"]),
        ({"properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False},
         [{"a": "x"}], [{}, {"a": 1}, {"a": "x", "b": 1}]),
        ({"additionalProperties": {"type": "integer"}, "propertyNames": {"pattern": "^[0-9]+$"}},
         [{"8": 1}], [{"8": "x"}, {"x": 1}]),
        ({"patternProperties": {"^x": {"type": "null"}}, "additionalProperties": False}, [{"xa": None}],
         [{"xa": 1}, {"a": None}]),
        ({"items": {"type": "integer"}, "minItems": 1, "maxItems": 2, "uniqueItems": True}, [[1], [1, 2]],
         [[], [1, 2, 3], ["a"], [1, 1]]),
        ({"anyOf": [{"type": "null"}, {"minimum": 3}]}, [None, 3], [2]),
        ({"oneOf": [{"minimum": 3}, {"maximum": 5}]}, [2, 6], [4]),
        ({"allOf": [{"minimum": 3}, {"maximum": 5}]}, [4], [2, 6]),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}}, [None], [1]),
        ({"properties": {"a": False}}, [{}], [{"a": 1}]),
    ]

    def test_each_keyword(self):
        for schema, right, wrong in self.RIGHT_AND_WRONG:
            for value in right:
                self.assertEqual(faults(schema, value), [], f"{schema} {value}")
            for value in wrong:
                self.assertNotEqual(faults(schema, value), [], f"{schema} {value}")

    def test_every_keyword_is_tried(self):
        tried = {keyword for schema, _, _ in self.RIGHT_AND_WRONG for keyword in schema}
        self.assertEqual(set(jsonschema.KEYWORDS) - tried, set())

    def test_bad_schemas(self):
        for schema in ({"typo": 1}, {"properties": {"a": {"minimun": 1}}}, {"type": "text"}, {"$ref": "#/$defs/none"},
                       {"properties": {"a": True}, "required": ["b"]}, {"items": 3}, {"$ref": "other.json"}):
            with self.assertRaises(jsonschema.SchemaError, msg=schema):
                jsonschema.check_schema(schema)

    def test_where(self):
        schema = {"properties": {"a": {"items": {"type": "null"}}}}
        self.assertEqual(faults(schema, {"a": [None, 1]}), ["$.a[1]: 1 is not of type null"])

    def test_strict_json(self):
        for text in ('{"a": 1, "a": 2}', "NaN", "[1,]", ""):
            with self.assertRaises(ValueError):
                jsonschema.parse(text)

    def test_unknown_schema_word(self):
        self.assertTrue(jsonschema.check_output('{"schema": "aitherion.none/1"}', {})[1])

    def test_shipped_schemas_are_right(self):
        self.assertIn("aitherion.machine/1", harness.schemas())


class Yaml(unittest.TestCase):
    def test_what_we_write(self):
        text = 'a: x y\nb: "0-87"\nl:\n- k: 1\n  m:\n  - null\n- k: 2.5\ne: []\nf: {"0": 10, x: [1, "a, b"]}\n"q\\"\\n": true\n'
        self.assertEqual(miniyaml.load(text), {
            "a": "x y", "b": "0-87", "l": [{"k": 1, "m": [None]}, {"k": 2.5}], "e": [],
            "f": {"0": 10, "x": [1, "a, b"]}, 'q"\n': True})

    def test_what_it_refuses(self):
        for text in ("", "a:\nb: 1", "a: 1\n  b: 2", "a: 1\na: 2", "\ta: 1", "a: &x 1", 'a: "\\q"', "- a\nb: 1"):
            with self.assertRaises(miniyaml.YamlError, msg=text):
                miniyaml.load(text)


class Covering(unittest.TestCase):
    def check(self, factors):
        rows = covering.rows(factors)
        self.assertEqual(len(rows), 6)
        self.assertEqual(covering.missing(factors, [set(), set(factors), *rows]), [])

    def test_every_pair_of_settings_occurs(self):
        for count in range(21):
            self.check([f"factor {number}" for number in range(count)])

    def test_one_factor_more_is_refused(self):
        with self.assertRaises(ValueError):
            covering.rows(range(21))

    def test_a_pair_that_is_missing_is_found(self):
        self.assertEqual(covering.missing("ab", [set(), {"a"}, {"a", "b"}]), [("a", False, "b", True)])

    def test_the_optimisations_fit(self):
        program = os.path.join(harness.build(), "aitherion-runtime")
        lines = subprocess.run([program, "switches"], text=True, stdout=subprocess.PIPE, check=True).stdout.splitlines()
        self.check(["tcp", *(line.split()[0] for line in lines)])


if __name__ == "__main__":
    harness.main()
