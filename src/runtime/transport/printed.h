/*
 * What kernels print: it comes from the server as answers to no call (number 0), ahead of the
 * answer to the call that made the driver write it.
 */
#pragma once
#include "runtime/wire/frame.h"

/*
 * Writes what an answer brings to the program's standard output, and has it written out: the
 * program may look for it there as soon as its call returns. Returns 0 or -EBADMSG; an output that
 * takes nothing is no failure. One thread at a time.
 */
int ath_printed_write(const struct ath_frame *answer);
