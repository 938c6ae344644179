"""The table of CUDA's driver functions: proto/cuda.capnp joined with the C of src/cuda/api/cuda_*.h.

Table(request, header, symbols, texts of errors) reads and checks, and raises request.Fault with the method's name for anything that does not fit.
It has the methods and structs, each field with its C counterpart, for the writers in cuda_generate.py and its neighbors.
"""
import dataclasses
import re

import cuda_header
from generate import snake
from request import Fault

CLASSES = ("sync", "async", "cached", "local", "custom", "refused")
SIDES = ("client", "server", "both")
# C's numbers and how each travels.
NUMBERS = {"int": "int32", "unsigned int": "uint32", "size_t": "uint64", "unsigned long long": "uint64", "uint64_t": "uint64",
           "uint32_t": "uint32", "float": "float32", "char": "int8", "unsigned char": "uint8", "unsigned short": "uint16",
           "CUlogIterator": "uint32"}
# Handles that are numbers in C.
NUMBER_HANDLES = {"CUdevice": "int32", "CUtexObject": "uint64", "CUsurfObject": "uint64", "CUmemGenericAllocationHandle": "uint64",
                  "CUgraphConditionalHandle": "uint64"}
ADDRESSES = {"CUdeviceptr": "uint64", "CUdeviceptr_v1": "uint32"}
# Handles of which the client knows each one (src/cuda/client/handles.h).
TRACKED = ("CUstream", "CUevent", "CUgraphExec")
# Handles of memory.
MEMORY = ("CUarray", "CUmipmappedArray", "CUmemGenericAllocationHandle")
SILENT = ("reserved", "pad", "_internal", "_oversize")  # members that are always zero


def letters(name):
    """A name without what C and the schema write differently: srcXInBytes, src_x_in_bytes."""
    return name.replace("_", "").lower()


def in_c(method, expression):
    """An expression of $count, $bytesOf or $capacity with the names that the parameters have in C."""
    names = {letters(parameter.name): parameter.name for parameter in method.parameters}
    return re.sub(r"\b[a-zA-Z]\w*\b", lambda found: names.get(letters(found.group(0)), found.group(0)), expression)


@dataclasses.dataclass
class Field:
    """A parameter, a result, or a member of a structure other than a group."""
    name: str          # in the schema
    ordinal: int
    type: object       # request.Type
    marks: dict        # annotations by name
    c: str = None      # in C
    ctype: cuda_header.Type = None
    tag: int = None    # of a union's member

    @property
    def snake(self):
        return snake(self.name)

    @property
    def item(self):
        return self.type.item if self.type.kind == "list" else self.type


@dataclasses.dataclass
class Group:
    """A structure or a union within a structure."""
    name: str
    marks: dict
    members: list      # [Field or Group]
    is_union: bool
    c: str = None      # the member, "" if it has no name
    tag: int = None

    @property
    def snake(self):
        return snake(self.name)


@dataclasses.dataclass
class Struct:
    id: int
    name: str
    c: str             # None: only hand-written calls use it
    members: list
    snake: str


@dataclasses.dataclass
class Parameter:
    """How a parameter of the C function travels: in one of these ways or in two."""
    name: str
    ctype: cuda_header.Type
    given: Field = None   # goes
    result: Field = None  # comes back
    length_of: Field = None  # is only how long this given one is


@dataclasses.dataclass
class Method:
    name: str
    ordinal: int
    c: str
    kind: str                 # one of CLASSES
    by_hand: str              # one of SIDES, or None
    since: int
    marks: dict
    does: tuple               # what $does states, without 'plain'
    given: list               # [Field]
    results: list
    parameters: list = None   # [Parameter] in C's order; None if both sides are written by hand
    function: object = None   # cuda_header.Function
    variants: list = dataclasses.field(default_factory=list)  # [("ptsz", since)]

    @property
    def snake(self):
        return snake(self.name)

    @property
    def travels(self):
        return self.kind not in ("local", "refused")

    @property
    def is_cached(self):
        return self.kind == "cached" or "isCached" in self.marks

    @property
    def subject(self):
        """The type in C of what the first parameter names; None if it is no handle."""
        if not self.given or "handle" not in self.given[0].marks or not self.function:
            return None
        named = [one.type.name for one in self.function.parameters if letters(one.name) == letters(self.given[0].name)]
        return named[0] if named else None

    @property
    def ends_subject(self):
        """Whether the method ends the object that its only parameter names, or one reference to the object."""
        return "ends" in self.does and len(self.given) == 1 and self.subject not in (None, "CUdevice")

    @property
    def client_by_hand(self):
        return self.kind == "local" or self.by_hand in ("client", "both")

    @property
    def server_by_hand(self):
        return self.by_hand in ("server", "both")

    @property
    def is_internal(self):
        return "internal" in self.marks


class Table:
    def __init__(self, asked, header, symbols, texts=None):
        self.asked, self.header, self.texts = asked, header, texts
        self.marks = {node.id: node.short_name for node in asked.nodes.values() if node.kind == "annotation"}
        self.file = asked.nodes[asked.files[0].id]
        self.consts = {node.short_name: node.value.value for node in asked.nodes.values() if node.kind == "const"}
        facts = next(node for node in asked.nodes.values() if node.kind == "enum" and node.short_name == "Fact")
        self.facts = facts.enumerants
        # The C type of the first parameter, for each fact that is about what this parameter names.
        self.subjects = {name: self._marks(marks)["about"] for name, marks in zip(facts.enumerants, facts.enumerant_annotations) if marks}
        self.structs = {}
        for node in asked.nodes.values():
            if node.kind == "struct" and node.scope_id == self.file.id:
                self.structs[node.id] = self._struct(node)
        self.methods = []
        for node in asked.nodes.values():
            if node.kind == "interface":
                self.methods += [self._method(method) for method in node.methods]
        for method in self.methods:
            self._check_forgets(method)
        self._check_symbols(symbols)

    @property
    def functions(self):
        """The methods that are functions of CUDA's."""
        return [method for method in self.methods if not method.is_internal]

    def _marks(self, annotations):
        return {self.marks[key]: value.value for key, value in annotations.items() if key in self.marks}

    def kinds(self):
        """The kinds of handles, by C type, in the order of their numbers."""
        return [*sorted(name for name in self.header.aliases if self.header.is_handle(name)), *sorted(NUMBER_HANDLES)]

    # ---- structures ----

    def _struct(self, node):
        marks = self._marks(node.annotations)
        c = marks.get("c")
        if c is not None and c not in self.header.structs:
            raise Fault(f"{node.short_name}: the header has no structure '{c}'")
        members = None if c is None else self.header.structs[c]
        return Struct(node.id, node.short_name, c, self._members(node, members, node.short_name, marks), snake(node.short_name))

    def _members(self, node, c_members, where, marks):
        seen, found = set(), []
        for field in node.fields:
            found.append(self._member(field, c_members, f"{where}.{field.name}", seen))
        if c_members is not None and node.tag_count == 0:
            self._check_all_there(c_members, seen, where, set((marks.get("omits") or "").split()), found)
        return found

    def _check_all_there(self, c_members, seen, where, omitted, found):
        counts = {member.marks["count"] for member in found if "count" in member.marks}
        spread = any(isinstance(member, Group) and member.c == "" for member in found)  # a union that fills the structure
        for member in c_members:
            if member.name.startswith(SILENT) or member.name in omitted | counts or spread:
                continue
            if not member.name:
                self._check_all_there(member.type.members, seen, where, omitted, found)
            elif member.name not in seen:
                raise Fault(f"{where}: the member '{member.name}' of C does not travel; say so with $omits")

    def _member(self, field, c_members, where, seen):
        marks = self._marks(field.annotations)
        if field.group_id:
            return self._group(field, c_members, where, seen, marks)
        made = Field(field.name, field.ordinal, field.type, marks, tag=field.tag)
        if c_members is not None and not (field.name == "otherwise" and field.tag is not None):
            counterpart = self._find(c_members, field.name)
            if not counterpart:
                raise Fault(f"{where}: C has no such member")
            made.c, made.ctype = counterpart.name, counterpart.type
            seen.add(counterpart.name)
            self._check_type(made, where)
        return made

    def _group(self, field, c_members, where, seen, marks):
        node = self.asked.nodes[field.group_id]
        inner, c = c_members, marks.get("c")
        if c_members is not None and c != "":
            counterpart = self._find(c_members, field.name)
            if not counterpart:
                raise Fault(f"{where}: C has no such member")
            c, inner = counterpart.name, self.header.members_of(counterpart.type)
            seen.add(c)
        group = Group(field.name, marks, self._members(node, inner, where, marks), node.tag_count > 0, c, field.tag)
        if group.is_union and c_members is not None:
            self._check_union(group, where, c_members)
        return group

    def _check_union(self, group, where, c_members):
        if not self._find(c_members, group.marks.get("by") or "?"):
            raise Fault(f"{where}: $by must name the member that selects")
        if group.members[-1].name != "otherwise":
            raise Fault(f"{where}: a union ends with 'otherwise', for values of a later CUDA")
        for member in group.members[:-1]:
            for value in member.marks.get("when", "?").split():
                if value not in self.header.values:
                    raise Fault(f"{where}.{member.name}: $when says '{value}', which the header does not have")

    def _find(self, c_members, name):
        for member in c_members:
            if not member.name:
                inner = self._find(member.type.members, name)
                if inner:
                    return inner
            elif letters(member.name) == letters(name):
                return member
        return None

    # ---- types ----

    def wire_kind(self, name):
        """How C's type travels: a kind of request.KINDS, "struct", or None; and whether as a handle or an address."""
        while name in self.header.aliases and name not in NUMBERS and name not in NUMBER_HANDLES and name not in ADDRESSES:
            if self.header.is_handle(name):
                return "uint64", "handle"
            name = self.header.aliases[name].name
        if name in NUMBER_HANDLES:
            return NUMBER_HANDLES[name], "handle"
        if name in ADDRESSES:
            return ADDRESSES[name], "deviceptr"
        if name in NUMBERS:
            return NUMBERS[name], None
        return ("uint32" if name in self.header.enums else "struct" if name in self.header.structs else None), None

    def _check_type(self, field, where):
        """Refuses a field that cannot hold what C has in its place."""
        kind, mark = self.wire_kind(field.ctype.name)
        if field.ctype.stars and "deviceptr" in field.marks and field.ctype.name not in ADDRESSES:
            kind, mark = "uint64", "deviceptr"  # a pointer that leads to the GPU's memory
        if field.ctype.stars and "hostptr" in field.marks:
            kind, mark = "uint64", None
        if field.type.kind == "data":
            return
        if field.type.kind == "text":
            if field.ctype.name != "char":
                raise Fault(f"{where}: a text is 'char' in C, not '{field.ctype.c()}'")
            return
        if field.item.kind != kind:
            raise Fault(f"{where}: '{field.ctype.c()}' travels as {kind}, not as {field.item.kind}")
        if kind == "struct" and self.structs[field.item.type_id].c != field.ctype.name:
            raise Fault(f"{where}: '{field.ctype.c()}' is another structure than {self.structs[field.item.type_id].name}")
        for word in ("handle", "deviceptr"):
            if (word in field.marks) != (mark == word):
                raise Fault(f"{where}: '{field.ctype.c()}' is {'a' if mark == word else 'no'} {word}; mark it so")

    # ---- methods ----

    def _fields(self, struct_id):
        return [Field(field.name, field.order, field.type, self._marks(field.annotations))
                for field in self.asked.nodes[struct_id].fields]

    def _method(self, method):
        marks = self._marks(method.annotations)
        if "c" not in marks or "class" not in marks or "since" not in marks:
            raise Fault(f"{method.name}: $c, $class and $since must be there")
        made = Method(method.name, method.ordinal, marks["c"], CLASSES[marks["class"]],
                      SIDES[marks["byHand"]] if "byHand" in marks else None, marks["since"], marks, self._does(method.name, marks),
                      self._fields(method.parameters_id), self._fields(method.results_id))
        made.function = self.header.functions.get(made.c)
        if made.is_internal:
            if made.by_hand != "both":
                raise Fault(f"{method.name}: an internal method is written by hand on both sides")
        elif not made.function:
            raise Fault(f"{method.name}: the header has no function '{made.c}'")
        made.variants = [(word, marks[word]) for word in ("ptsz", "ptds") if word in marks]
        self._check_class(made)
        if made.travels and made.by_hand != "both":
            made.parameters = self._parameters(made)
        self._check_does(made)
        return made

    def _check_class(self, method):
        if method.kind == "async" and method.results:
            raise Fault(f"{method.name}: an async method has no results, and this has '{method.results[0].name}'")
        if method.kind in ("local", "refused") and (method.given or method.results):
            raise Fault(f"{method.name}: a {method.kind} method has no parameters and no results: it does not travel")
        may_be_by_hand = method.kind == "custom" or (method.kind in ("sync", "async") and method.by_hand == "client")
        if (method.by_hand and not may_be_by_hand) or (method.kind == "custom" and not method.by_hand):
            raise Fault(f"{method.name}: $byHand belongs to a custom method, and to each; $byHand(client) may belong to one that is sent")
        if (method.kind == "refused") != bool(method.marks.get("reason")):
            raise Fault(f"{method.name}: a refused method has a reason, and no other has one")
        if "askedIf" in method.marks and method.kind != "async":
            raise Fault(f"{method.name}: $askedIf belongs to an async method: each other waits for its answer")
        if "onStream" in method.marks and ("ptds" not in method.marks or method.marks["onStream"] not in self.header.functions):
            raise Fault(f"{method.name}: $onStream names the function that NAME_ptds is")

    # ---- what a method does ----

    def _does(self, name, marks):
        """The facts that $does states. A method about which nothing is stated is refused: silence would mean that it does nothing."""
        if CLASSES[marks["class"]] == "refused":
            if "does" in marks:
                raise Fault(f"{name}: a refused method does nothing; leave $does out")
            return ()
        if not marks.get("does"):
            raise Fault(f"{name}: nothing is stated about what it does; add $does([...]) with the facts that hold for {marks['c']}() "
                        "(enum Fact in cuda.capnp), or $does([plain])")
        facts = [self.facts[number] for number in marks["does"]]
        if len(set(facts)) < len(facts) or ("plain" in facts and len(facts) > 1):
            raise Fault(f"{name}: $does states a fact twice, or 'plain' beside another fact")
        return tuple(fact for fact in facts if fact != "plain")

    def _check_does(self, method):
        """Refuses facts that contradict the parameters: results must be stated, and a fact needs the parameters that it is about."""
        where, does = f"{method.name}: {method.c}()", set(method.does)
        for field in method.results:
            if field.marks.keys() & {"handle", "deviceptr"} and not does & {"makes", "gets"}:
                raise Fault(f"{where} returns '{field.name}'; add 'makes' to $does if it makes what it returns, 'gets' if that existed before")
        made = [field.name for field in method.results if "makes" in does and self._is_memory(method, field)]
        if made and not does & {"takes", "uncounted"}:
            raise Fault(f"{where} makes '{made[0]}', which is memory or an address; add 'takes' to $does if that is GPU memory, and write "
                        f"ath_quota_{method.c}() in src/runtime/quota, or add 'uncounted' if it takes none of a GPU's share")
        if "maps" in does and not self.addresses(method):
            raise Fault(f"{where} has no address that could be pinned memory's, so $does must not state 'maps'")
        for fact, subject in self.subjects.items():
            if fact in does and method.subject != subject:
                raise Fault(f"{where} states '{fact}', so its first parameter must be a {subject}")
        if "barred" in does and not does & {"takes", "gives", "counts"}:
            raise Fault(f"{where} states 'barred', which is about 'takes', 'gives' and 'counts', and states none of them")
        for fact in ("anyContext", "ofSettings", "ofStream", "refusalIsAnswer"):
            if fact in does and not method.is_cached:
                raise Fault(f"{where} states '{fact}', which is about cached answers, and is not cached")
        for word, fact in (("placed", "makes or gets"), ("unplaced", "ends")):
            if word in method.marks and not does & set(fact.split(" or ")):
                raise Fault(f"{where} has ${word}, so $does must state {fact}")

    def _is_memory(self, method, field):
        """Whether a result is an address or a handle of memory."""
        in_c = [one.type.name for one in method.function.parameters if letters(one.name) == letters(field.name)] if method.function else []
        return "deviceptr" in field.marks or bool(set(in_c) & set(MEMORY))

    def addresses(self, method):
        """The parameters that are addresses of the GPU's memory, by their names in C."""
        return [field.c for field in method.given if "deviceptr" in field.marks and field.ctype
                and field.ctype.name == "CUdeviceptr" and not field.ctype.stars]

    def forgets(self, method):
        """The cached methods whose answers are stale after a method; "*" for all."""
        words = (method.marks.get("forgets") or "").split()
        return words if words == ["*"] else [one for word in words for one in self.methods if word == one.name or word in one.does]

    def _check_forgets(self, method):
        for word in (method.marks.get("forgets") or "").split():
            named = [one for one in self.methods if word == one.name or word in one.does]
            if word != "*" and (not named or not all(one.is_cached for one in named)):
                raise Fault(f"{method.name}: $forgets names '{word}', which is no cached method and no fact about cached methods")

    def _check_symbols(self, symbols):
        made = {}
        for method in self.functions:
            for name in [method.c, *(f"{method.c}_{word}" for word, _ in method.variants)]:
                if name in made:
                    raise Fault(f"{method.name}: '{name}' is in the table twice")
                made[name] = method
        for name in symbols:
            if name not in made:
                raise Fault(f"'{name}' is exported by the driver and not in the table")
        for name, method in made.items():
            if name not in symbols:
                raise Fault(f"{method.name}: the driver does not export '{name}'")

    def _parameters(self, method):
        parameters = [Parameter(member.name, member.type) for member in method.function.parameters]
        by_letters = {letters(parameter.name): parameter for parameter in parameters}
        for field, is_result in [*((one, False) for one in method.given), *((one, True) for one in method.results)]:
            where = f"{method.name}.{field.name}"
            if "wants" in field.marks:
                continue
            parameter = by_letters.get(letters(field.name))
            if not parameter:
                raise Fault(f"{where}: {method.c}() has no such parameter")
            field.c, field.ctype = parameter.name, parameter.ctype
            if is_result and not parameter.ctype.stars:
                raise Fault(f"{where}: a result is a pointer in C, and '{parameter.ctype.c()}' is none")
            if is_result:
                parameter.result = field
            else:
                parameter.given = field
            self._check_type(field, where)
            self._check_length(field, where, is_result)
        self._lengths(method, parameters)
        self._check_kept(method)
        return parameters

    def _check_length(self, field, where, is_result):
        words = [word for word in ("count", "upTo", "bytesOf", "capacity", "kept") if word in field.marks]
        if field.type.kind == "list" and not {"count", "upTo"} & set(words):
            raise Fault(f"{where}: a list says how long it is in C, $count or $upTo")
        if field.type.kind == "data" and "bytesOf" not in words:
            raise Fault(f"{where}: bytes say how many there are in C, $bytesOf")
        if field.type.kind == "text" and is_result and not {"capacity", "kept"} & set(words):
            raise Fault(f"{where}: a text that comes back says how much room there is, $capacity or $kept")

    def _check_kept(self, method):
        """A structure that comes back with lists needs memory for them that outlives the call."""
        given = {letters(field.name) for field in method.given}
        for field in method.results:
            if field.type.kind == "struct" and letters(field.name) not in given and "kept" not in field.marks:
                lists = [one for one in self.structs[field.type.type_id].members if "count" in one.marks]
                if lists:
                    raise Fault(f"{method.name}.{field.name}: the list '{lists[0].name}' in it must stay somewhere, $kept")

    def _lengths(self, method, parameters):
        """Finds the parameters that are only lengths, and refuses parameters that are left over."""
        by_name = {parameter.name: parameter for parameter in parameters}
        by_name.update({letters(parameter.name): parameter for parameter in parameters})
        for field in method.given:
            length = field.marks.get("count") or field.marks.get("bytesOf")
            parameter = by_name.get(letters(length or "")) if length and re.fullmatch(r"\w+", length) else None
            if parameter and not parameter.given and not parameter.result and not parameter.length_of:
                parameter.length_of = field
        for parameter in parameters:
            if not parameter.given and not parameter.result and not parameter.length_of:
                raise Fault(f"{method.name}: the parameter '{parameter.name}' of {method.c}() does not travel")
