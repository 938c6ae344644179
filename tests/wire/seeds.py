#!/usr/bin/env python3
"""Writes inputs for tests/fuzz/fuzz_wire: seeds.py FOLDER. Each is a random right message, once for every type that the first
byte may choose."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "runtime"))

import json  # noqa: E402

import test_codec  # noqa: E402

TYPES = 32  # at least as many as there are
MESSAGES = 4


def main():
    asked = test_codec.request.read(test_codec.capnp("compile", "-o-", *test_codec.SCHEMAS, data=b""))
    for file_name, name in (("control", "Message"), ("everything", "Everything")):
        schema = next(path for path in test_codec.SCHEMAS if path.endswith(f"/{file_name}.capnp"))
        node = next(node for node in asked.nodes.values() if node.display_name.endswith(":" + name))
        maker = test_codec.Maker(asked, name)
        for i in range(MESSAGES):
            text = json.dumps(maker.struct(node), ensure_ascii=False).encode()
            frame = test_codec.capnp("convert", test_codec.SEGMENT, "json:binary", schema, name, data=text)
            for number in range(TYPES):
                with open(os.path.join(sys.argv[1], f"{name}-{i}-{number}"), "wb") as file:
                    file.write(bytes([number]) + frame[8:])


if __name__ == "__main__":
    main()
