"""The Cap'n Proto compiler's description of schemas (a CodeGeneratorRequest, schema.capnp), as plain Python objects.

The message is read here, since `capnp convert binary:json` cannot show the AnyPointer fields that it holds. Encoding:
capnproto.org/encoding.html; where each field of schema.capnp lies: `capnp compile -ocapnp schema.capnp`.
"""
import dataclasses
import struct

NO_DISCRIMINANT = 0xFFFF
# The kinds of schema.capnp's Type, by its union's tag.
KINDS = ("void", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
         "text", "data", "list", "enum", "struct", "interface", "anyPointer")
# Where Value holds the number of a kind, in bytes, and its form.
NUMBERS = {"int8": (2, "b"), "int16": (2, "h"), "int32": (4, "i"), "int64": (8, "q"), "uint8": (2, "B"),
           "uint16": (2, "H"), "uint32": (4, "I"), "uint64": (8, "Q"), "float32": (4, "f"), "float64": (8, "d"),
           "enum": (2, "H")}


class Fault(Exception):
    """A request that cannot be read, or a schema that uses what the generator does not write."""


# ---- the encoding ----

class Message:
    def __init__(self, data):
        if len(data) < 8:
            raise Fault("the compiler said nothing")
        count = struct.unpack_from("<I", data)[0] + 1
        sizes = struct.unpack_from(f"<{count}I", data, 4)
        at = (4 + 4 * count + 7) // 8 * 8
        self.segments = []
        for size in sizes:
            self.segments.append(data[at:at + 8 * size])
            at += 8 * size

    def word(self, segment, index):
        return struct.unpack_from("<Q", self.segments[segment], 8 * index)[0]

    def follow(self, segment, index):
        """The pointer at a word as (segment, word it leads to, pointer), over far pointers where there are some."""
        pointer = self.word(segment, index)
        if pointer & 3 != 2:
            return segment, index + 1 + _signed30(pointer), pointer
        far_segment, far_index = pointer >> 32, pointer >> 3 & 0x1FFFFFFF
        if not pointer & 4:
            return self.follow(far_segment, far_index)
        landing, tag = self.word(far_segment, far_index), self.word(far_segment, far_index + 1)
        return landing >> 32, landing >> 3 & 0x1FFFFFFF, tag

    def root(self):
        return self.struct_at(0, 0)

    def struct_at(self, segment, index):
        if not self.word(segment, index):
            return Struct(self, segment, 0, 0, 0)
        segment, at, pointer = self.follow(segment, index)
        return Struct(self, segment, at, pointer >> 32 & 0xFFFF, pointer >> 48)

    def list_at(self, segment, index):
        """A list of structs, all that schema.capnp has."""
        if not self.word(segment, index):
            return []
        segment, at, _ = self.follow(segment, index)
        tag = self.word(segment, at)
        data, pointers = tag >> 32 & 0xFFFF, tag >> 48
        return [Struct(self, segment, at + 1 + i * (data + pointers), data, pointers) for i in range(tag >> 2 & 0x3FFFFFFF)]

    def enums_at(self, segment, index):
        """The numbers of a list of enumerants, or None for a list of anything that is not 16 bits wide."""
        if not self.word(segment, index):
            return []
        segment, at, pointer = self.follow(segment, index)
        is_short = pointer >> 32 & 7 == 3
        return list(struct.unpack_from(f"<{pointer >> 35}H", self.segments[segment], 8 * at)) if is_short else None

    def bytes_at(self, segment, index):
        if not self.word(segment, index):
            return b""
        segment, at, pointer = self.follow(segment, index)
        return self.segments[segment][8 * at:8 * at + (pointer >> 35)]


def _signed30(pointer):
    value = pointer >> 2 & 0x3FFFFFFF
    return value - (1 << 30) if value >> 29 else value


@dataclasses.dataclass
class Struct:
    message: Message
    segment: int
    at: int
    data_words: int
    pointer_count: int

    def number(self, form, offset):
        """A number at an offset in bytes; 0 if the struct ends before."""
        if offset + struct.calcsize(form) > 8 * self.data_words:
            return 0
        return struct.unpack_from("<" + form, self.message.segments[self.segment], 8 * self.at + offset)[0]

    def bit(self, offset):
        return bool(self.number("B", offset // 8) >> offset % 8 & 1)

    def _pointer(self, index, read, missing):
        return read(self.segment, self.at + self.data_words + index) if index < self.pointer_count else missing

    def struct(self, index):
        return self._pointer(index, self.message.struct_at, Struct(self.message, 0, 0, 0, 0))

    def list(self, index):
        return self._pointer(index, self.message.list_at, [])

    def data(self, index):
        return self._pointer(index, self.message.bytes_at, b"")

    def enums(self, index):
        return self._pointer(index, self.message.enums_at, [])

    def text(self, index):
        return self.data(index)[:-1].decode("utf-8")


# ---- the schema ----

@dataclasses.dataclass
class Type:
    kind: str
    item: "Type" = None  # of a list
    type_id: int = 0     # of an enum, a struct or an interface


@dataclasses.dataclass
class Value:
    kind: str
    value: object  # a number, a bool, a text, bytes or [number] for a list of enumerants; None for anything else
    is_null: bool  # a list or struct that is not there


@dataclasses.dataclass
class Field:
    name: str
    order: int
    tag: int        # of a member of a union, else None
    group_id: int   # of a group, else None
    type: Type      # of a slot, with its offset (in units of its size; of a pointer, its index) and default
    offset: int
    default: Value
    annotations: dict
    ordinal: int    # as the schema numbers it; 0 of a group


@dataclasses.dataclass
class Method:
    name: str
    order: int      # in the file
    parameters_id: int
    results_id: int
    annotations: dict
    ordinal: int    # as the schema numbers it


@dataclasses.dataclass
class Node:
    id: int
    display_name: str
    short_name: str
    scope_id: int
    nested: list        # [(name, id)]
    annotations: dict   # {annotation's id: Value}
    kind: str           # "file", "struct", "enum", "interface", "const", "annotation"
    is_generic: bool
    data_words: int = 0
    pointer_count: int = 0
    is_group: bool = False
    tag_count: int = 0
    tag_offset: int = 0  # in units of 16 bits
    fields: list = dataclasses.field(default_factory=list)
    enumerants: list = dataclasses.field(default_factory=list)
    enumerant_annotations: list = dataclasses.field(default_factory=list)  # of each enumerant
    methods: list = dataclasses.field(default_factory=list)
    type: Type = None    # of a const
    value: Value = None


@dataclasses.dataclass
class File:
    id: int
    name: str
    imports: list  # [(id, name as written)]


@dataclasses.dataclass
class Request:
    nodes: dict    # {id: Node}
    files: list    # those to generate

    def inside(self, scope_id):
        """The nodes that lie in a scope, groups and the structs of methods among them, in the request's order."""
        return [node for node in self.nodes.values() if node.scope_id == scope_id]


def _type(at):
    kind = KINDS[at.number("H", 0)]
    if kind == "list":
        return Type(kind, item=_type(at.struct(0)))
    return Type(kind, type_id=at.number("Q", 8))


def _value(at):
    kind = KINDS[at.number("H", 0)]
    value = None
    if kind in NUMBERS:
        offset, form = NUMBERS[kind]
        value = at.number(form, offset)
    elif kind == "bool":
        value = at.bit(16)
    elif kind == "text":
        value = at.text(0)
    elif kind == "data":
        value = at.data(0)
    elif kind == "list":
        value = at.enums(0)
    word = at.at + at.data_words
    return Value(kind, value, not at.pointer_count or not at.message.word(at.segment, word))


def _annotations(items):
    return {item.number("Q", 0): _value(item.struct(0)) for item in items}


def _field(at):
    tag = at.number("H", 2) ^ NO_DISCRIMINANT
    is_group = at.number("H", 8) == 1
    return Field(name=at.text(0), order=at.number("H", 0), tag=None if tag == NO_DISCRIMINANT else tag,
                 group_id=at.number("Q", 16) if is_group else None, type=None if is_group else _type(at.struct(2)),
                 offset=at.number("I", 4), default=None if is_group else _value(at.struct(3)),
                 annotations=_annotations(at.list(1)), ordinal=at.number("H", 12))


def _method(at, ordinal):
    return Method(at.text(0), at.number("H", 0), at.number("Q", 8), at.number("Q", 16), _annotations(at.list(1)), ordinal)


def _node(at):
    name, prefix = at.text(0), at.number("I", 8)
    node = Node(id=at.number("Q", 0), display_name=name, short_name=name[prefix:], scope_id=at.number("Q", 16),
                nested=[(item.text(0), item.number("Q", 0)) for item in at.list(1)], annotations=_annotations(at.list(2)),
                kind=("file", "struct", "enum", "interface", "const", "annotation")[at.number("H", 12)],
                is_generic=at.bit(288))
    if node.kind == "struct":
        node.data_words, node.pointer_count = at.number("H", 14), at.number("H", 24)
        node.is_group, node.tag_count, node.tag_offset = at.bit(224), at.number("H", 30), at.number("I", 32)
        node.fields = sorted((_field(item) for item in at.list(3)), key=lambda field: field.order)
    elif node.kind == "enum":
        node.enumerants = [item.text(0) for item in at.list(3)]
        node.enumerant_annotations = [_annotations(item.list(1)) for item in at.list(3)]
    elif node.kind == "interface":
        node.methods = sorted((_method(item, i) for i, item in enumerate(at.list(3))), key=lambda method: method.order)
    elif node.kind == "const":
        node.type, node.value = _type(at.struct(3)), _value(at.struct(4))
    return node


def read(data):
    """The request in the bytes that `capnp compile -o-` wrote."""
    root = Message(data).root()
    nodes = [_node(item) for item in root.list(0)]
    files = [File(item.number("Q", 0), item.text(0), [(one.number("Q", 0), one.text(0)) for one in item.list(1)])
             for item in root.list(1)]
    return Request({node.id: node for node in nodes}, files)
