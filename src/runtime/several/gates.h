/* Stops of streams that this side opens: see copies.h. Any thread. */
#pragma once
#include "runtime/several/several.h"

struct ath_several_gate {
    struct lane *lane;
    uint32_t slot, value;
};

/* Takes a gate for a stream of a server that has been entered. It is open; whoever closes it or
 * not, it must be opened at last. */
CUresult ath_several_take_gate(struct ath_several *to, CUstream stream,
                               struct ath_several_gate *out);
CUresult ath_several_close_gate(struct ath_several *to, CUstream stream,
                                const struct ath_several_gate *gate);
void ath_several_open_gate(const struct ath_several_gate *gate);

/* A stream of the switch's own in a context, ordered with no other of the program's, and back.
 * Whoever has it is alone with it. */
CUresult ath_several_take_stream(struct ath_several *to, CUcontext context, CUstream *out);
void ath_several_return_stream(CUcontext context, CUstream stream);

/* Whether a stream captures. */
bool ath_several_captures(const struct ath_several *to, CUstream stream);
