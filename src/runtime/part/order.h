/*
 * The order between the null stream and the streams that were made without CU_STREAM_NON_BLOCKING:
 * each waits for earlier work of the other. The driver keeps no such order inside a green context,
 * so events do. The caller has the part's lock.
 */
#pragma once
#include "runtime/part/state.h"

/* Notes a stream that is in the order. Returns false without memory. */
bool ath_part_order_add(struct ath_part *part, CUstream stream);

/* A stream ends. */
void ath_part_order_drop(struct ath_part *part, CUstream stream);

/* All end, with the green context. */
void ath_part_order_clear(struct ath_part *part);

/* Before work of a named stream: it waits for the null stream's, if it is in the order. Any thread,
 * without the lock. */
CUresult ath_part_order_enter(CUstream stream);

/* Before work of the null stream, which waits for that of all streams in the order. The green
 * context is current. gives_work: they wait for it from now on. */
CUresult ath_part_order_enter_null(struct ath_part *part, bool gives_work);
