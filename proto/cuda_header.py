"""Reads our own header of CUDA's driver interface (src/cuda/api/cuda_*.h): enumerations, structures, prototypes.

It takes C as those three files write it, no more: typedefs of enum, struct, union and function pointers, unnamed members,
one declarator each, prototypes that give CUresult.
"""
import dataclasses
import os
import re

from request import Fault

FILES = ("cuda_enums.h", "cuda_types.h", "cuda_functions.h")
# Types of one word that are no typedef of the header; type() puts together types of several words.
WORDS = {"void", "char", "short", "int", "long", "unsigned", "float", "double", "const", "size_t", "uint32_t", "uint64_t"}


@dataclasses.dataclass
class Type:
    name: str             # "unsigned int", "CUstream", "" of a structure that is written in place
    stars: int = 0
    is_const: bool = False
    counts: tuple = ()    # of an array
    members: list = None  # of a structure in place, [Member]
    tag: str = None       # "struct" or "union" of that

    def c(self, name=""):
        """A declaration with this type."""
        text = ("const " if self.is_const else "") + self.name + " " + "*" * self.stars + name
        return text.rstrip() + "".join(f"[{count}]" for count in self.counts)


@dataclasses.dataclass
class Member:
    name: str  # "" of an unnamed structure
    type: Type


@dataclasses.dataclass
class Function:
    name: str
    parameters: list  # [Member]


class Header:
    def __init__(self, folder):
        self.enums, self.structs, self.aliases, self.functions = {}, {}, {}, {}
        self.callbacks, self.values, self.tags = set(), {}, {}
        for name in FILES:
            with open(os.path.join(folder, name), encoding="ascii") as file:
                self._read(name, file.read())

    def _read(self, name, text):
        text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
        text = re.sub(r"^[ \t]*#.*$", " ", text, flags=re.M)
        self._file, self._tokens, self._at = name, re.findall(r"0x[0-9a-f]+|-?\d+|\w+|[^\s\w]", text), 0
        while self._at < len(self._tokens):
            if self._peek() == "typedef":
                self._typedef()
            elif self._peek() == "enum":
                self._take("enum")
                self._enumerators()
                self._take(";")
            else:
                self._function()

    # ---- tokens ----

    def _peek(self, ahead=0):
        return self._tokens[self._at + ahead] if self._at + ahead < len(self._tokens) else ""

    def _next(self):
        self._at += 1
        return self._tokens[self._at - 1]

    def _take(self, word):
        if self._next() != word:
            near = " ".join(self._tokens[max(self._at - 8, 0):self._at + 4])
            raise Fault(f"{self._file}: '{word}' expected near '{near}'")

    # ---- declarations ----

    def _typedef(self):
        self._take("typedef")
        if self._peek() == "enum" and self._peek(2) == "{":
            self._take("enum")
            name = self._next()
            self.enums[name] = self._enumerators()
            self._take(name)
        elif self._peek() in ("struct", "union") and self._peek(2) == "{":
            tag = self._next()
            name = self._next()
            self.structs[name], self.tags[name] = self._members(), tag
            self._take(name)
        else:
            type_ = self._type()
            if self._peek() == "(":
                self._take("(")
                self._take("*")
                self.callbacks.add(self._next())
                while self._peek() != ";":
                    self._next()
            else:
                self.aliases[self._next()] = type_
        self._take(";")

    def _enumerators(self):
        values = {}
        self._take("{")
        while self._peek() != "}":
            name = self._next()
            self._take("=")
            values[name] = int(self._next(), 0)
            self._take(",")
        self._take("}")
        self.values.update(values)
        return values

    def _members(self):
        members = []
        self._take("{")
        while self._peek() != "}":
            if self._peek() in ("struct", "union") and self._peek(1) == "{":
                tag = self._next()
                type_ = Type("", members=self._members(), tag=tag)
            else:
                type_ = self._type()
            members.append(Member("" if self._peek() == ";" else self._next(), type_))
            self._counts(type_)
            self._take(";")
        self._take("}")
        return members

    def _type(self):
        words, is_const = [], False
        while self._peek() in WORDS or not words:
            word = self._next()
            if word == "const":
                is_const = True
            elif word == "struct":
                words.append("struct " + self._next())
            else:
                words.append(word)
                if word not in WORDS:
                    break
        type_ = Type(" ".join(words), is_const=is_const)
        while self._peek() == "*":
            self._take("*")
            type_.stars += 1
        return type_

    def _counts(self, type_):
        while self._peek() == "[":
            self._take("[")
            type_.counts += (int(self._next()),)
            self._take("]")

    def _function(self):
        self._take("CUresult")
        name, parameters = self._next(), []
        self._take("(")
        if self._peek() == "void" and self._peek(1) == ")":
            self._take("void")
        while self._peek() != ")":
            type_ = self._type()
            parameters.append(Member(self._next(), type_))
            if self._peek() == ",":
                self._take(",")
        self._take(")")
        self._take(";")
        self.functions[name] = Function(name, parameters)

    # ---- questions of the generators ----

    def is_handle(self, name):
        return name in self.aliases and self.aliases[name].name.startswith("struct ")

    def members_of(self, type_):
        return type_.members if type_.members is not None else self.structs[type_.name]
