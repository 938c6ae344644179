/* Writes what the driver wrote in the server to the program's standard output or standard error. */
#include "config.h"

#include "cuda/client/kernel_output.h"

#include <errno.h>
#include <stdio.h>

#include "proto/cuda-wire.h"

int ath_kernel_output_write(const struct ath_frame *frame)
{
    struct ath_cuda_wire_answer answer;
    if (ath_cuda_wire_answer_open(ath_frame_message(frame), ath_frame_message_length(frame),
                                  &answer))
        return -EBADMSG;
    struct ath_wire_bytes text = ath_cuda_wire_answer_printed(answer);
    FILE *to = ath_cuda_wire_answer_is_error_text(answer) ? stderr : stdout;
    fwrite(text.data, 1, text.length, to); /* after the program's own buffered output */
    fflush(to);
    return 0;
}
