/* Text that kernels print. The server sends it in unsolicited answers (number 0), ahead of the
 * answer to the call that made the driver write it. */
#pragma once
#include "remote/wire/frame.h"

/* Writes the text of an answer to the program's standard output and flushes it: the program may
 * read it as soon as its call returns. Returns 0 or -EBADMSG. An output that cannot be written is
 * no failure. One thread at a time. */
int ath_kernel_output_write(const struct ath_frame *answer);
