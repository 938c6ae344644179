"""Writes the client's side of CUDA's functions: cuda-client.h, cuda-client.c and cuda-symbols.c.

    CUresult ath_cuda_do_NAME(...)        puts the parameters into a message, sends it as the class says, takes the results
    CUresult ath_cuda_by_hand_NAME(...)   declared for the methods whose client side is written by hand
    CUresult cuNAME(...)                  the exported function, which is one of these or refuses
"""
import re

from cuda_structs import bits_of, from_wire, has_lists, item_of, kind_name, to_wire
from cuda_table import NUMBER_HANDLES, TRACKED, Group, in_c
from generate import snake

SENDERS = {"async": "ath_cuda_post", "sync": "ath_cuda_ask", "cached": "ath_cuda_ask_cached", "custom": "ath_cuda_ask"}
MEMO_GIVEN, MEMO_TAKEN = 4, 2  # as in cuda/client/thread_cache.h
NOTE = "/* Written by proto/cuda_generate.py from cuda.capnp; a change there is a change here. */"


def signature(function, name):
    return f"CUresult {name}({', '.join(one.type.c(one.name) for one in function.parameters) or 'void'})"


def arguments(function):
    return ", ".join(one.name for one in function.parameters)


def is_pointer(field):
    return "handle" in field.marks and field.ctype.name not in NUMBER_HANDLES


def number_of(field, value):
    return f"(uint64_t){'(uintptr_t)' if is_pointer(field) else ''}{value}"


class Client:
    def __init__(self, table):
        self.table = table

    def header(self):
        lines = [NOTE, "#pragma once", '#include "proto/cuda-methods.h"', '#include "cuda/api/cuda_api.h"', ""]
        for method in self.table.methods:
            if method.parameters is not None:
                lines.append(signature(method.function, f"ath_cuda_do_{method.c}") + ";")
        lines += ["", "/* ath_cuda_check_handle() for the streams, events and executable graphs of a structure. */", "struct ath_cuda_exchange;"]
        lines += [f"{self.checker(struct)};" for struct in self.table.structs.values() if self.is_checked(struct)]
        lines += ["", "/* Written by hand. */"]
        for method in self.table.functions:
            if method.client_by_hand:
                lines.append(signature(method.function, f"ath_cuda_by_hand_{method.c}") + ";")
        return "\n".join(lines) + "\n"

    def source(self):
        lines = [NOTE, '#include "config.h"', "", '#include "proto/cuda-client.h"', "", '#include "proto/cuda-structs.h"',
                 '#include "proto/cuda-wire.h"', '#include "cuda/client/mirror.h"', '#include "cuda/common/bytes.h"',
                 '#include "cuda/client/client.h"', '#include "cuda/client/thread_cache.h"', ""]
        for struct in self.table.structs.values():
            if self.is_checked(struct):
                lines += [self.checker(struct), "{", *self.check_members(struct.members, "from->"), "}", ""]
        for method in self.table.methods:
            if method.parameters is not None:
                lines += self.function(method)
        return "\n".join(lines)

    # ---- handles that the client knows ----

    def is_checked(self, struct):
        return struct.c is not None and bool(self.check_members(struct.members, "from->"))

    def checker(self, struct):
        return f"void ath_cuda_check_{struct.snake}(struct ath_cuda_exchange *exchange, const {struct.c} *from)"

    def check_members(self, members, c):
        lines = []
        for member in members:
            if not isinstance(member, Group):
                lines += self.check_value(member, f"{c}{member.c}", f"{c}{member.marks.get('count')}", "exchange")
                continue
            into = c if member.c == "" else f"{c}{member.c}."
            if not member.is_union:
                lines += self.check_members(member.members, into)
                continue
            for one in member.members[:-1]:
                inner = self.check_members([one], into)
                if inner:
                    wanted = " || ".join(f"{c}{member.marks['by']} == {value}" for value in one.marks["when"].split())
                    lines += [f"    if ({wanted}) {{", *("    " + line for line in inner), "    }"]
        return lines

    def check_value(self, field, value, count, exchange):
        """Lines that check what one field names; none if the client knows nothing in it."""
        if field.ctype is None:
            return []
        inner = self.table.structs[field.item.type_id] if field.item.kind == "struct" else None
        if inner and self.is_checked(inner):
            call = f"ath_cuda_check_{inner.snake}({exchange}, &{value}{'[i]' if field.type.kind == 'list' else ''});"
        elif field.ctype.name in TRACKED and "handle" in field.marks:
            call = f"ath_cuda_check_handle({exchange}, {kind_name(field.ctype.name)}, (uintptr_t){value}{'[i]' if field.type.kind == 'list' else ''});"
        else:
            return []
        if field.type.kind == "list":
            return [f"    for (size_t i = 0; {value} && i < {count}; i++)", f"        {call}"]
        return [f"    {call}"]

    def check_handles(self, method):
        """Lines that check a call's handles before they are converted."""
        lines = []
        for field in method.given:
            if "wants" in field.marks:
                continue
            if field.ctype.name in ("CUfunction", "CUkernel") and "handle" in field.marks and field.type.kind != "list":
                lines.append(f"    exchange.kernel = (uintptr_t){field.c};")
            if field.ctype.name == "CUfunction_attribute" and "ofSettings" in method.does:
                lines.append(f"    exchange.attribute = (uint64_t){field.c} + 1;")
            is_pointer = field.item.kind == "struct" and field.type.kind != "list" and field.ctype.stars
            value, count = f"(*{field.c})" if is_pointer else field.c, f"(size_t)({in_c(method, field.marks.get('count', '0'))})"
            checked = self.check_value(field, value, count, "&exchange")
            checked = [line.replace(f"&(*{field.c})", field.c) for line in checked]
            if checked and "nullable" in field.marks and field.type.kind != "list":
                checked = [f"    if ({field.c})", *("    " + line for line in checked)]
            lines += checked
        return lines

    def is_noted(self, method, field):
        """Whether the client remembers a handle that comes back."""
        names = ("CUkernel", "CUfunction", "CUmodule", *(TRACKED if "makes" in method.does else ()))
        return "handle" in field.marks and field.ctype.name in names

    def note(self, field, value):
        return f"ath_cuda_note_result(&exchange, {kind_name(field.ctype.name)}, (uintptr_t){value});"

    # ---- one function ----

    def function(self, method):
        has_results = bool(method.results)
        memo = self.memo(method)
        uses_side = any("handle" in field.marks or "deviceptr" in field.marks or field.item.kind == "struct"
                        for field in method.given + method.results)
        lines = [signature(method.function, f"ath_cuda_do_{method.c}"), "{", "    struct ath_cuda_exchange exchange;"]
        mapped = self.mapped(method)
        lines += mapped + self.recalled(method, memo)
        lines += [f"    {'' if mapped else 'CUresult '}outcome = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_{method.c});",
                  "    if (outcome)", "        return outcome;"]
        if uses_side:
            lines.append("    struct ath_cuda_side *side = &exchange.side;")
        if "askedIf" in method.marks:
            lines += [f"    if ({in_c(method, method.marks['askedIf'])})", "        exchange.is_told_on = true;"]
        lines += self.checks(method) + self.rooms(method) + self.check_handles(method)
        wire = f"ath_cuda_wire_{method.snake}"
        if method.given:
            lines.append(f"    struct {wire}_builder call = ath_cuda_wire_call_init_{method.snake}(exchange.call);")
            for field in method.given:
                lines += self.give(method, field, wire)
        else:
            lines.append(f"    ath_cuda_wire_call_set_{method.snake}(exchange.call);")
        sender = "ath_cuda_ask_cached" if "isCached" in method.marks else SENDERS[method.kind]
        lines.append(f"    outcome = {sender}(&exchange);")
        if has_results:
            lines.append("    if (exchange.is_answered) {" if "evenFailed" in method.marks else "    if (outcome == CUDA_SUCCESS) {")
            lines.append(f"        struct {wire}_result answer = ath_cuda_wire_answer_{method.snake}(exchange.answer);")
            for field in method.results:
                lines += ["    " + line for line in self.take(method, field, f"{wire}_result")]
            lines += self.kept(memo) + ["    }"]
        return lines + ["    return ath_cuda_end(&exchange, outcome);", "}", ""]

    # ---- answers that programs ask for very often ----

    def memo(self, method):
        """The numbers that determine such an answer and the numbers in it, ([C], [Field]); None if it has other things."""
        fields = method.given + method.results
        if not method.is_cached or len(method.given) > MEMO_GIVEN or not 0 < len(method.results) <= MEMO_TAKEN:
            return None
        if any(field.type.kind in ("list", "text", "data", "struct") or field.marks.keys() & {"nullable", "wants"} for field in fields):
            return None
        return [number_of(field, field.c) for field in method.given], method.results

    def recalled(self, method, memo):
        if not memo:
            return []
        given, results = memo
        lines = [f"    struct ath_cuda_thread_answer memo = {{ .method = ATH_CUDA_METHOD_{method.c}, .given = {{ {', '.join(given)} }} }};".replace("{  }", "{ 0 }"),
                 f"    if ({' && '.join([*(one.c for one in results), 'ath_cuda_thread_cache_find(&memo)'])}) {{"]
        lines += [f"        *{one.c} = ({one.ctype.name}){'(uintptr_t)' if is_pointer(one) else ''}memo.taken[{i}];" for i, one in enumerate(results)]
        return lines + ["        return CUDA_SUCCESS;", "    }"]

    def kept(self, memo):
        if not memo:
            return []
        return [f"        memo.taken[{i}] = {number_of(one, '*' + one.c)};" for i, one in enumerate(memo[1])] + ["        ath_cuda_thread_cache_add(&memo);"]

    def mapped(self, method):
        """Lines for a method that maps: an address of pinned memory is the GPU's, too, so the server must know the memory first."""
        if "maps" not in method.does:
            return []
        addresses = self.table.addresses(method)
        lines = [f"    CUresult outcome = ath_cuda_host_map((const void *)(uintptr_t){addresses[0]});"]
        for address in addresses[1:]:
            lines += ["    if (!outcome)", f"        outcome = ath_cuda_host_map((const void *)(uintptr_t){address});"]
        return lines + ["    if (outcome)", "        return outcome;"]

    def checks(self, method):
        """Lines that refuse null pointers and lengths that are none."""
        wrong = []
        for parameter in method.parameters:
            wanted = {field.marks["wants"] for field in method.given if "wants" in field.marks}
            fields = [field for field in (parameter.given, parameter.result) if field]
            if not parameter.ctype.stars or not fields or any(field.name in wanted or "nullable" in field.marks for field in fields):
                continue
            if parameter.given and not parameter.result and parameter.given.type.kind == "list":
                wrong.append(f"(!{parameter.name} && ({in_c(method, parameter.given.marks['count'])}))")
            elif parameter.given and parameter.given.type.kind == "data" and not self.is_fixed(parameter.given):
                wrong.append(f"(!{parameter.name} && ({in_c(method, parameter.given.marks['bytesOf'])}))")
            elif not ("deviceptr" in fields[0].marks and parameter.ctype.name == "void"):
                wrong.append(f"!{parameter.name}")
        for field in method.given + method.results:
            if self.is_fixed(field) and "ath_cuda_bytes_of" in field.marks["bytesOf"]:
                wrong.append(f"!{in_c(method, field.marks['bytesOf'])}")
        if not wrong:
            return []
        return [f"    if ({' || '.join(wrong)})", "        return ath_cuda_end(&exchange, CUDA_ERROR_INVALID_VALUE);"]

    def is_fixed(self, field):
        """Whether an expression, not a parameter, gives the number of bytes."""
        return "bytesOf" in field.marks and not re.fullmatch(r"\w+", field.marks["bytesOf"])

    def rooms(self, method):
        """Lines that compute the room for results before anything is changed."""
        lines = []
        for field in method.results:
            if "bytesOf" in field.marks:
                guard = f"{field.c} ? " if "nullable" in field.marks else ""
                bytes_ = f"(size_t)({in_c(method, field.marks['bytesOf'])})"
                lines.append(f"    size_t {field.snake}_room = {guard}{bytes_}{' : 0' if guard else ''};")
            elif field.type.kind == "list" and "kept" not in field.marks:
                count = field.marks.get("count")
                expression = in_c(method, count) if count else f"*{in_c(method, field.marks['upTo'])}"
                lines.append(f"    uint64_t {field.snake}_room = {field.c} ? (uint64_t)({expression}) : 0;")
        return lines

    # ---- parameters ----

    def give(self, method, field, wire):
        name, value = field.snake, field.c
        if "wants" in field.marks:
            return [f"    {wire}_set_{name}(call, {snake(field.marks['wants'])} != NULL);"]
        if field.type.kind == "list":
            return self.give_list(method, field, wire)
        if field.type.kind == "text":
            return [f"    {wire}_set_{name}(call, {value});"]
        if field.type.kind == "data":
            place = f"&{value}" if not field.ctype.stars else value
            length = f"(size_t)({in_c(method, field.marks['bytesOf'])})"
            return [f"    {wire}_set_{name}(call, (struct ath_wire_bytes){{ (const uint8_t *){place}, {length} }});"]
        if field.type.kind == "struct":
            inner, place = self.table.structs[field.type.type_id].snake, value if field.ctype.stars else f"&{value}"
            line = f"    ath_cuda_put_{inner}(side, {wire}_init_{name}(call), {place});"
            return [f"    if ({value})", "    " + line] if "nullable" in field.marks else [line]
        number = f"*{value}" if field.ctype.stars and not self.is_address(field) else value
        return [f"    {wire}_set_{name}(call, {to_wire(field, number)});"]

    def is_address(self, field):
        return "deviceptr" in field.marks and not field.ctype.name.startswith("CUdeviceptr")

    def give_list(self, method, field, wire):
        name = field.snake
        lines = [f"    if ({field.c}) {{",
                 f"        struct ath_wire_array items = {wire}_init_{name}(call, ath_cuda_items((uint64_t)({in_c(method, field.marks['count'])})));",
                 "        for (uint32_t i = 0; i < items.count; i++)"]
        if field.item.kind == "struct":
            inner = self.table.structs[field.item.type_id].snake
            lines.append(f"            ath_cuda_put_{inner}(side, (struct ath_cuda_wire_{inner}_builder){{ ath_wire_array_struct(items, i) }}, "
                         f"&{field.c}[i]);")
        else:
            lines.append(f"            ath_wire_array_set_bits(items, i, {bits_of(field, field.c + '[i]')});")
        return lines + ["    }"]

    # ---- results ----

    def take(self, method, field, wire):
        read, value = f"{wire}_{field.snake}(answer)", field.c
        wanted = {one.marks["wants"] for one in method.given if "wants" in one.marks}
        if field.type.kind == "list":
            return self.take_list(method, field, read)
        if field.type.kind == "data":
            lines = [f"    ath_cuda_copy_bytes({value}, {field.snake}_room, {read});"]
        elif field.type.kind == "text" and "kept" in field.marks:
            lines = [f"    *{value} = ath_cuda_intern({read});"]
        elif field.type.kind == "text":
            lines = [f"    ath_cuda_copy_text({value}, (size_t)({in_c(method, field.marks['capacity'])}), {read});"]
        elif field.type.kind == "struct":
            return self.take_struct(method, field, read)
        else:
            lines = [f"    *{value} = {from_wire(field, read)};"]
            if self.is_noted(method, field):
                lines.append("    " + self.note(field, f"*{value}"))
        if "nullable" in field.marks or field.name in wanted:
            return [f"    if ({value}) {{", *("    " + line for line in lines), "    }"] if len(lines) > 1 else \
                [f"    if ({value})", "    " + lines[0]]
        return lines

    def take_struct(self, method, field, read):
        struct = self.table.structs[field.type.type_id]
        lists = has_lists(struct)
        if not any(one.c == field.c for one in method.given):  # it only comes back
            kept = [f"    ath_cuda_keep_results(&exchange, (uintptr_t){in_c(method, field.marks['kept'])});"] if lists else []
            return kept + [f"    ath_cuda_get_{struct.snake}(side, {field.c}, {read});"]
        lines = [f"    {struct.c} taken;", f"    ath_cuda_get_{struct.snake}(side, &taken, {read});"]
        for member in lists:  # they stay the program's own
            lines += [f"    taken.{member.c} = {field.c}->{member.c};",
                      f"    taken.{member.marks['count']} = {field.c}->{member.marks['count']};"]
        return lines + [f"    *{field.c} = taken;"]

    def take_list(self, method, field, read):
        name = f"{field.snake}_list"
        lines = [f"    struct ath_wire_list {name} = {read};"]
        if "kept" in field.marks:
            lines += [f"    if ({field.c}) {{", f"        ath_cuda_keep_results(&exchange, (uintptr_t){in_c(method, field.marks['kept'])});",
                      f"        {field.ctype.name} *items = ath_cuda_room(&exchange.side, {name}.count, sizeof *items);",
                      f"        for (uint32_t i = 0; items && i < {name}.count; i++)", *self.take_item(method, field, name, "items[i]", 8),
                      f"        *{field.c} = items;", "    }"]
            return lines
        return lines + [f"    for (uint32_t i = 0; i < {field.snake}_room && i < {name}.count; i++)",
                        *self.take_item(method, field, name, f"{field.c}[i]", 4)]

    def take_item(self, method, field, name, place, indent):
        """The body of a loop over the items of a list."""
        start = " " * indent
        if field.item.kind == "struct":
            inner = self.table.structs[field.item.type_id].snake
            return [f"{start}    ath_cuda_get_{inner}(side, &{place}, (struct ath_cuda_wire_{inner}){{ ath_wire_list_struct({name}, i) }});"]
        taken = f"{start}    {place} = {from_wire(field, item_of(field, name))};"
        return [f"{start}{{", taken, f"{start}    {self.note(field, place)}", f"{start}}}"] if self.is_noted(method, field) else [taken]

    # ---- what is exported ----

    def symbols(self):
        lines = [NOTE, '#include "config.h"', "", '#include "cuda/api/symbols.h"', "",
                 "#ifndef ATH_CUDA_SYMBOLS_ONLY /* the simulated driver has functions of its own */",
                 '#include "proto/cuda-client.h"', '#include "cuda/client/client.h"', "",
                 "#pragma GCC visibility push(default)", ""]
        for method in self.table.functions:
            lines += self.exported(method)
            for word, _ in method.variants:
                lines += self.variant(method, word)
        lines += ["#pragma GCC visibility pop", "#endif", "", "const struct ath_cuda_symbol ath_cuda_symbols[] = {"]
        lines += [f"    {{ \"{base}\", \"{name}\", {since}, {is_thread}, (void (*)(void)){name} }},"
                  for base, is_thread, since, name in self.rows()]
        return "\n".join(lines) + "\n};\nconst size_t ath_cuda_symbol_count = sizeof ath_cuda_symbols / sizeof ath_cuda_symbols[0];\n"

    def rows(self):
        """Symbols for cuGetProcAddress(): by plain name, then version."""
        rows = []
        for method in self.table.functions:
            base = re.sub(r"_v\d+$", "", method.c)
            rows.append((base, 0, method.since, method.c))
            rows += [(base, 1, since, f"{method.c}_{word}") for word, since in method.variants]
        return sorted(rows)

    def exported(self, method):
        if method.kind == "refused":
            unused = [f"    (void){one.name};" for one in method.function.parameters]
            return [signature(method.function, method.c), "{", *unused,
                    f"    return ath_cuda_refuse(ATH_CUDA_METHOD_{method.c});", "}", ""]
        side = "by_hand" if method.client_by_hand else "do"
        return [signature(method.function, method.c), "{",
                f"    return ath_cuda_{side}_{method.c}({arguments(method.function)});", "}", ""]

    def variant(self, method, word):
        name = f"{method.c}_{word}"
        function = self.table.header.functions[name]
        lines = [signature(function, name), "{"]
        on_stream = method.marks.get("onStream")
        if word == "ptds" and on_stream:
            call = f"{on_stream}({arguments(function)}, CU_STREAM_PER_THREAD)"
            if method.kind == "async":
                return lines + [f"    return {call};", "}", ""]
            return lines + [f"    CUresult status = {call};",
                            "    return status ? status : cuStreamSynchronize(CU_STREAM_PER_THREAD);", "}", ""]
        for one in function.parameters:
            if one.type.name == "CUstream" and not one.type.stars:
                lines += [f"    if (!{one.name})", f"        {one.name} = CU_STREAM_PER_THREAD;"]
            elif one.type.stars == 1 and one.type.name in self.table.header.structs:
                return self.variant_in_struct(method, function, one, lines)
        return lines + [f"    return {method.c}({arguments(function)});", "}", ""]

    def variant_in_struct(self, method, function, one, lines):
        """The variant of a function whose stream lies in a structure: passes a changed copy, and copies the results back."""
        streams = [member.name for member in self.table.header.structs[one.type.name] if member.type.name == "CUstream"]
        if not streams:
            return lines + [f"    return {method.c}({arguments(function)});", "}", ""]
        stream = streams[0]
        call = ", ".join("&changed" if other is one else other.name for other in function.parameters)
        lines += [f"    if (!{one.name})", "        return CUDA_ERROR_INVALID_VALUE;", f"    {one.type.name} changed = *{one.name};",
                  f"    if (!changed.{stream})", f"        changed.{stream} = CU_STREAM_PER_THREAD;",
                  f"    CUresult status = {method.c}({call});"]
        if not one.type.is_const:
            lines += [f"    changed.{stream} = {one.name}->{stream};", f"    *{one.name} = changed;"]
        return lines + ["    return status;", "}", ""]
