"""Writes the client's side of CUDA's functions: cuda-client.h, cuda-client.c and cuda-symbols.c.

    CUresult ath_cuda_do_NAME(...)        puts the parameters into a message, sends it as the class says, takes the results
    CUresult ath_cuda_by_hand_NAME(...)   declared for the methods whose client side is written by hand
    CUresult cuNAME(...)                  the exported function, which is one of these or refuses
"""
import re

from cuda_structs import bits_of, from_wire, has_lists, item_of, to_wire
from cuda_table import NUMBER_HANDLES, in_c
from generate import snake

SENDERS = {"async": "ath_cuda_post", "sync": "ath_cuda_ask", "cached": "ath_cuda_ask_cached", "custom": "ath_cuda_ask"}
MEMO_GIVEN, MEMO_TAKEN = 4, 2  # as in runtime/cuda/memo.h
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
        lines = [NOTE, "#pragma once", '#include "proto/cuda-methods.h"', '#include "runtime/cuda/cuda_api.h"', ""]
        for method in self.table.methods:
            if method.parameters is not None:
                lines.append(signature(method.function, f"ath_cuda_do_{method.c}") + ";")
        lines += ["", "/* Written by hand. */"]
        for method in self.table.functions:
            if method.client_by_hand:
                lines.append(signature(method.function, f"ath_cuda_by_hand_{method.c}") + ";")
        return "\n".join(lines) + "\n"

    def source(self):
        lines = [NOTE, '#include "config.h"', "", '#include "proto/cuda-client.h"', "", '#include "proto/cuda-structs.h"',
                 '#include "proto/cuda-wire.h"', '#include "runtime/cuda/by_hand/host.h"', '#include "runtime/cuda/bytes.h"',
                 '#include "runtime/cuda/client.h"', '#include "runtime/cuda/memo.h"', ""]
        for method in self.table.methods:
            if method.parameters is not None:
                lines += self.function(method)
        return "\n".join(lines)

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
        lines += self.checks(method) + self.rooms(method)
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

    # ---- answers that are asked for very often ----

    def memo(self, method):
        """The numbers that such an answer hangs on, and those that it is: ([C], [Field]); None where there is more to it."""
        is_cached = method.kind == "cached" or "isCached" in method.marks
        fields = method.given + method.results
        if not is_cached or len(method.given) > MEMO_GIVEN or not 0 < len(method.results) <= MEMO_TAKEN:
            return None
        if any(field.type.kind in ("list", "text", "data", "struct") or field.marks.keys() & {"nullable", "wants"} for field in fields):
            return None
        return [number_of(field, field.c) for field in method.given], method.results

    def recalled(self, method, memo):
        if not memo:
            return []
        given, results = memo
        lines = [f"    struct ath_cuda_memo memo = {{ .method = ATH_CUDA_METHOD_{method.c}, .given = {{ {', '.join(given)} }} }};".replace("{  }", "{ 0 }"),
                 f"    if ({' && '.join([*(one.c for one in results), 'ath_cuda_memo_find(&memo)'])}) {{"]
        lines += [f"        *{one.c} = ({one.ctype.name}){'(uintptr_t)' if is_pointer(one) else ''}memo.taken[{i}];" for i, one in enumerate(results)]
        return lines + ["        return CUDA_SUCCESS;", "    }"]

    def kept(self, memo):
        if not memo:
            return []
        return [f"        memo.taken[{i}] = {number_of(one, '*' + one.c)};" for i, one in enumerate(memo[1])] + ["        ath_cuda_memo_keep(&memo);"]

    def mapped(self, method):
        """Pinned memory's address is one of the GPU's too, so the server must know that memory where the GPU reads or writes it."""
        addresses = [field.c for field in method.given if "deviceptr" in field.marks and field.ctype.name == "CUdeviceptr" and not field.ctype.stars]
        if not addresses or not method.c.startswith(("cuMemset", "cuMemcpyDtoD", "cuMemcpyPeer")):
            return []
        lines = [f"    CUresult outcome = ath_cuda_host_map((const void *)(uintptr_t){addresses[0]});"]
        for address in addresses[1:]:
            lines += ["    if (!outcome)", f"        outcome = ath_cuda_host_map((const void *)(uintptr_t){address});"]
        return lines + ["    if (outcome)", "        return outcome;"]

    def checks(self, method):
        """Pointers that must be there, and lengths that are none."""
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
        """Whether how many bytes it has is said by an expression, not by a parameter."""
        return "bytesOf" in field.marks and not re.fullmatch(r"\w+", field.marks["bytesOf"])

    def rooms(self, method):
        """How much may come back, worked out before anything is changed."""
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
        if "nullable" in field.marks or field.name in wanted:
            return [f"    if ({value})", "    " + lines[0]]
        return lines

    def take_struct(self, method, field, read):
        struct = self.table.structs[field.type.type_id]
        lists = has_lists(struct)
        if not any(one.c == field.c for one in method.given):  # it only comes back
            kept = [f"    ath_cuda_keep(&exchange, (uintptr_t){in_c(method, field.marks['kept'])});"] if lists else []
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
            lines += [f"    if ({field.c}) {{", f"        ath_cuda_keep(&exchange, (uintptr_t){in_c(method, field.marks['kept'])});",
                      f"        {field.ctype.name} *items = ath_cuda_room(&exchange.side, {name}.count, sizeof *items);",
                      f"        for (uint32_t i = 0; items && i < {name}.count; i++)", self.take_item(field, name, "items[i]", 12),
                      f"        *{field.c} = items;", "    }"]
            return lines
        return lines + [f"    for (uint32_t i = 0; i < {field.snake}_room && i < {name}.count; i++)",
                        self.take_item(field, name, f"{field.c}[i]", 8)]

    def take_item(self, field, name, place, indent):
        if field.item.kind == "struct":
            inner = self.table.structs[field.item.type_id].snake
            return f"{' ' * indent}ath_cuda_get_{inner}(side, &{place}, (struct ath_cuda_wire_{inner}){{ ath_wire_list_struct({name}, i) }});"
        return f"{' ' * indent}{place} = {from_wire(field, item_of(field, name))};"

    # ---- what is exported ----

    def symbols(self):
        lines = [NOTE, '#include "config.h"', "", '#include "runtime/cuda/symbols.h"', "",
                 "#ifndef ATH_CUDA_SYMBOLS_ONLY /* the simulated driver has functions of its own */",
                 '#include "proto/cuda-client.h"', '#include "runtime/cuda/client.h"', "",
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
        """The stream lies in a structure: a changed copy is used, and what comes back in it is taken over."""
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
