#!/usr/bin/env python3
"""A small validator for the JSON Schemas in docs/schema (draft 2020-12, the keywords that they use).

A keyword that the validator does not know is an error of the schema, so that no check is silently missing.
    jsonschema.py SCHEMA-FOLDER [OUTPUT.json...]   checks the schemas, then each output against the one it names
"""
import json
import os
import re
import sys

TYPES = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "integer": lambda value: not isinstance(value, bool)
    and (isinstance(value, int) or (isinstance(value, float) and value.is_integer())),
}
# Keywords that describe the schema and say nothing about the value.
NOTES = {"$schema", "$id", "$defs", "$comment", "title", "description", "examples", "default"}


class SchemaError(Exception):
    """The schema itself is wrong."""


def equal(one, other):
    """JSON equality: true is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    return type(one) is type(other) and one == other or (
        isinstance(one, (int, float)) and isinstance(other, (int, float)) and one == other)


def show(value):
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 80 else text[:77] + "..."


class Validator:
    """Checks values against one schema document."""

    def __init__(self, document):
        self.document = document

    def faults(self, value):
        """Returns the faults of a value: ["$.numa_nodes[0].id: ...", ...]."""
        return list(self._check(value, self.document, "$"))

    def _resolve(self, reference):
        if not reference.startswith("#"):
            raise SchemaError(f"$ref '{reference}': only references into the same file are supported")
        place = self.document
        for part in reference[1:].split("/")[1:]:
            part = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(place, dict) or part not in place:
                raise SchemaError(f"$ref '{reference}' does not exist")
            place = place[part]
        return place

    def _check(self, value, schema, where):
        if isinstance(schema, bool):
            if not schema:
                yield f"{where}: no value is allowed here"
            return
        if not isinstance(schema, dict):
            raise SchemaError(f"{where}: a schema is an object or a boolean")
        for keyword, wanted in schema.items():
            if keyword in NOTES:
                continue
            check = KEYWORDS.get(keyword)
            if not check:
                raise SchemaError(f"{where}: unknown schema keyword '{keyword}'")
            yield from check(self, value, wanted, schema, where)

    # One method for each keyword: (value, the keyword's value, its schema, where).

    def _ref(self, value, wanted, schema, where):
        yield from self._check(value, self._resolve(wanted), where)

    def _type(self, value, wanted, schema, where):
        names = wanted if isinstance(wanted, list) else [wanted]
        for name in names:
            if name not in TYPES:
                raise SchemaError(f"{where}: unknown type '{name}'")
        if not any(TYPES[name](value) for name in names):
            yield f"{where}: {show(value)} is not of type {' or '.join(names)}"

    def _const(self, value, wanted, schema, where):
        if not equal(value, wanted):
            yield f"{where}: {show(value)} is not {show(wanted)}"

    def _enum(self, value, wanted, schema, where):
        if not any(equal(value, one) for one in wanted):
            yield f"{where}: {show(value)} is not one of {show(wanted)}"

    def _pattern(self, value, wanted, schema, where):
        if isinstance(value, str) and not re.search(wanted, value):
            yield f"{where}: {show(value)} does not match '{wanted}'"

    def _min_length(self, value, wanted, schema, where):
        if isinstance(value, str) and len(value) < wanted:
            yield f"{where}: {show(value)} is shorter than {wanted}"

    def _max_length(self, value, wanted, schema, where):
        if isinstance(value, str) and len(value) > wanted:
            yield f"{where}: {show(value)} is longer than {wanted}"

    def _minimum(self, value, wanted, schema, where):
        if TYPES["number"](value) and value < wanted:
            yield f"{where}: {value} is below {wanted}"

    def _maximum(self, value, wanted, schema, where):
        if TYPES["number"](value) and value > wanted:
            yield f"{where}: {value} is above {wanted}"

    def _exclusive_minimum(self, value, wanted, schema, where):
        if TYPES["number"](value) and value <= wanted:
            yield f"{where}: {value} is not above {wanted}"

    def _exclusive_maximum(self, value, wanted, schema, where):
        if TYPES["number"](value) and value >= wanted:
            yield f"{where}: {value} is not below {wanted}"

    def _required(self, value, wanted, schema, where):
        if isinstance(value, dict):
            for key in wanted:
                if key not in value:
                    yield f"{where}: '{key}' is missing"

    def _properties(self, value, wanted, schema, where):
        if isinstance(value, dict):
            for key, below in wanted.items():
                if key in value:
                    yield from self._check(value[key], below, f"{where}.{key}")

    def _pattern_properties(self, value, wanted, schema, where):
        if isinstance(value, dict):
            for pattern, below in wanted.items():
                for key in value:
                    if re.search(pattern, key):
                        yield from self._check(value[key], below, f"{where}.{key}")

    def _additional_properties(self, value, wanted, schema, where):
        if not isinstance(value, dict):
            return
        for key in value:
            if key in schema.get("properties", {}) or any(
                    re.search(pattern, key) for pattern in schema.get("patternProperties", {})):
                continue
            if wanted is False:
                yield f"{where}: '{key}' is not known"
            else:
                yield from self._check(value[key], wanted, f"{where}.{key}")

    def _property_names(self, value, wanted, schema, where):
        if isinstance(value, dict):
            for key in value:
                yield from self._check(key, wanted, f"{where} (the name '{key}')")

    def _items(self, value, wanted, schema, where):
        if isinstance(value, list):
            for index, item in enumerate(value):
                yield from self._check(item, wanted, f"{where}[{index}]")

    def _min_items(self, value, wanted, schema, where):
        if isinstance(value, list) and len(value) < wanted:
            yield f"{where}: {len(value)} items, fewer than {wanted}"

    def _max_items(self, value, wanted, schema, where):
        if isinstance(value, list) and len(value) > wanted:
            yield f"{where}: {len(value)} items, more than {wanted}"

    def _unique_items(self, value, wanted, schema, where):
        if wanted and isinstance(value, list):
            for index, item in enumerate(value):
                if any(equal(item, other) for other in value[:index]):
                    yield f"{where}[{index}]: {show(item)} occurs twice"

    def _any_of(self, value, wanted, schema, where):
        tries = [list(self._check(value, one, where)) for one in wanted]
        if all(tries):
            yield f"{where}: {show(value)} matches nothing in anyOf ({'; '.join(faults[0] for faults in tries)})"

    def _one_of(self, value, wanted, schema, where):
        fits = sum(not list(self._check(value, one, where)) for one in wanted)
        if fits != 1:
            yield f"{where}: {show(value)} matches {fits} schemas of oneOf, not one"

    def _all_of(self, value, wanted, schema, where):
        for one in wanted:
            yield from self._check(value, one, where)


KEYWORDS = {
    "$ref": Validator._ref, "type": Validator._type, "const": Validator._const, "enum": Validator._enum,
    "pattern": Validator._pattern, "minLength": Validator._min_length, "maxLength": Validator._max_length,
    "minimum": Validator._minimum, "maximum": Validator._maximum,
    "exclusiveMinimum": Validator._exclusive_minimum, "exclusiveMaximum": Validator._exclusive_maximum,
    "required": Validator._required, "properties": Validator._properties,
    "patternProperties": Validator._pattern_properties,
    "additionalProperties": Validator._additional_properties, "propertyNames": Validator._property_names,
    "items": Validator._items, "minItems": Validator._min_items, "maxItems": Validator._max_items,
    "uniqueItems": Validator._unique_items, "anyOf": Validator._any_of, "oneOf": Validator._one_of,
    "allOf": Validator._all_of,
}
# Keywords that hold one schema, a list of them, or a map of them.
HOLD_ONE = {"additionalProperties", "items", "propertyNames"}
HOLD_LIST = {"anyOf", "oneOf", "allOf"}
HOLD_MAP = {"properties", "patternProperties", "$defs"}


def check_schema(schema, document=None, where="$"):
    """Raises SchemaError if any part of a schema is wrong, even a part that no value reaches."""
    document = schema if document is None else document
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        raise SchemaError(f"{where}: a schema is an object or a boolean")
    for keyword, value in schema.items():
        if keyword not in KEYWORDS and keyword not in NOTES:
            raise SchemaError(f"{where}: unknown schema keyword '{keyword}'")
        if keyword == "$ref":
            Validator(document)._resolve(value)
        elif keyword in ("pattern",):
            re.compile(value)
        elif keyword == "type":
            list(Validator(document)._type(None, value, schema, where))
        elif keyword in HOLD_ONE:
            check_schema(value, document, f"{where}.{keyword}")
        elif keyword in HOLD_LIST:
            for index, one in enumerate(value):
                check_schema(one, document, f"{where}.{keyword}[{index}]")
        elif keyword in HOLD_MAP:
            for name, one in value.items():
                check_schema(one, document, f"{where}.{keyword}.{name}")
        elif keyword == "required":
            unknown = [name for name in value if name not in schema.get("properties", {name: True})]
            if unknown:
                raise SchemaError(f"{where}: required, but not a property: {', '.join(unknown)}")


def no_doubles(pairs):
    """Refuses a JSON object that has a key twice."""
    result = {}
    for key, value in pairs:
        if key in result:
            raise ValueError(f"the key '{key}' occurs twice")
        result[key] = value
    return result


def no_constant(word):
    raise ValueError(f"{word} is not JSON")


def parse(text):
    """Parses JSON strictly: no repeated keys, no NaN."""
    return json.loads(text, object_pairs_hook=no_doubles, parse_constant=no_constant)


def load_folder(folder):
    """Loads all files as {"aitherion.machine/1": schema}; the word is the const of their property "schema"."""
    found = {}
    for name in sorted(os.listdir(folder) if os.path.isdir(folder) else []):
        if not name.endswith(".json"):
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            schema = parse(file.read())
        try:
            check_schema(schema)
        except (SchemaError, re.error) as error:
            raise SchemaError(f"{name}: {error}") from None
        word = schema.get("properties", {}).get("schema", {}).get("const")
        if not word:
            raise SchemaError(f"{name}: no const for the property 'schema'")
        if word in found:
            raise SchemaError(f"{name}: a second schema for {word}")
        found[word] = schema
    return found


def check_output(text, schemas):
    """Returns (value, [faults]) of a JSON output."""
    try:
        value = parse(text)
    except ValueError as error:
        return None, [f"not JSON: {error}"]
    word = value.get("schema") if isinstance(value, dict) else None
    if word not in schemas:
        return value, [f"no file in docs/schema for {show(word)}"]
    return value, Validator(schemas[word]).faults(value)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    try:
        schemas = load_folder(sys.argv[1])
    except (SchemaError, ValueError) as error:
        sys.exit(f"jsonschema: {error}")
    print(f"{len(schemas)} schemas: {', '.join(sorted(schemas))}")
    bad = not schemas
    for name in sys.argv[2:]:
        with open(name, encoding="utf-8") as file:
            for fault in check_output(file.read(), schemas)[1]:
                print(f"{name}: {fault}")
                bad = True
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
