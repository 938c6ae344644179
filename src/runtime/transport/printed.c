/* From an answer to standard output. */
#include "config.h"

#include "runtime/transport/printed.h"

#include <errno.h>
#include <stdio.h>

#include "proto/cuda-wire.h"

int ath_printed_write(const struct ath_frame *frame)
{
    struct ath_cuda_wire_answer answer;
    if (ath_cuda_wire_answer_open(ath_frame_message(frame), ath_frame_message_length(frame),
                                  &answer))
        return -EBADMSG;
    struct ath_wire_bytes text = ath_cuda_wire_answer_printed(answer);
    fwrite(text.data, 1, text.length, stdout); /* behind what the program printed itself */
    fflush(stdout);
    return 0;
}
