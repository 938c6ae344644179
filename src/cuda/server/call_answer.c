/* Serves a call by its function in the generated table, and sends the answer. */
#include "config.h"

#include "cuda/server/call_answer.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/unknown.h"
#include "cuda/server/call_rooms.h"
#include "cuda/server/deferred_copy.h"
#include "cuda/server/kernel_output.h"
#include "cuda/server/regions.h"
#include "proto/cuda-wire.h"
#include "remote/switches.h"

enum {
    LARGE_BYTES = 2 * 1024 * 1024,
    KEPT_BYTES = 1024 * 1024,     /* memory for messages that an idle thread keeps */
    ROOM_BYTES = 8 * 1024 * 1024, /* the same for data: one part of a copy (cuda/client/copy.c) */
    PRINTED_BYTES = 64 * 1024,    /* of what kernels printed, in a message */
};

bool ath_call_is_large(size_t bytes)
{
    return bytes >= LARGE_BYTES && !ath_is_off(ATH_SWITCH_OVERLAP);
}

/* The message as it travels: as ath_wire_finish() has made it, its lent bytes and their padding. */
static void write_parts(const struct ath_answer_writer *writer,
                        const struct ath_wire_builder *builder, const uint8_t *bytes, size_t length)
{
    static uint8_t padding[ATH_WIRE_WORD];
    struct ath_calls *calls = writer->calls;
    struct ath_wire_bytes lent = builder->lent;
    struct iovec parts[ATH_FRAME_PARTS] = { { (void *)(uintptr_t)bytes, length },
                                            { (void *)(uintptr_t)lent.data, lent.length },
                                            { padding, ath_wire_lent_padding(lent) } };
    int status = ath_stream_write_frame(calls->stream, (struct iovec){ 0 }, parts);
    ath_count(&calls->counts->sent_bytes, length + parts[1].iov_len + parts[2].iov_len);
    if (status)
        calls->over(calls, status);
}

static void write_out(struct ath_answer_writer *writer, struct ath_wire_builder *builder)
{
    size_t length;
    int status;
    const uint8_t *bytes = ath_wire_finish(builder, &length, &status);
    if (!bytes)
        writer->calls->over(writer->calls, status);
    write_parts(writer, builder, bytes, length);
}

/* Sends what kernels printed ahead of the answer to the call that made the driver print it. The
 * caller has write_lock. */
static void write_stream(struct ath_answer_writer *writer, enum ath_kernel_stream stream)
{
    uint8_t text[PRINTED_BYTES];
    for (size_t length; (length = ath_kernel_output_take(stream, text, sizeof text));) {
        struct ath_cuda_wire_answer_builder answer = ath_cuda_wire_answer_start(&writer->printed);
        ath_cuda_wire_answer_set_printed(answer, (struct ath_wire_bytes){ text, length });
        ath_cuda_wire_answer_set_is_error_text(answer, stream == ATH_KERNEL_ERRORS);
        write_out(writer, &writer->printed);
        if (stream == ATH_KERNEL_ERRORS && writer->calls->complained)
            writer->calls->complained(writer->calls, (const char *)text, length);
    }
}

static void write_printed(struct ath_answer_writer *writer)
{
    write_stream(writer, ATH_KERNEL_OUTPUT);
    write_stream(writer, ATH_KERNEL_ERRORS);
}

/* Sends the data of deferred copies, and what the GPU changed in host memory, ahead of the answer
 * to a call that synchronizes. The caller has write_lock: the client applies the changes in this
 * order. */
static void write_changes(struct ath_answer_writer *writer)
{
    int found;
    for (struct ath_cuda_deferred *copy; (copy = ath_cuda_deferred_tell(&writer->changes));) {
        write_out(writer, &writer->changes);
        ath_cuda_deferred_told(copy);
    }
    while ((found = ath_cuda_changes(writer->calls->session, &writer->changes)) > 0)
        write_out(writer, &writer->changes);
    if (found < 0)
        writer->calls->over(writer->calls, found);
    if (writer->changes.capacity * ATH_WIRE_WORD > KEPT_BYTES) {
        ath_wire_builder_free(&writer->changes);
        writer->changes.max_bytes = ATH_CALL_MAX;
    }
}

bool ath_answer_make(struct ath_answer_writer *writer, struct ath_call_thread *thread,
                     const struct ath_frame *frame)
{
    struct ath_calls *calls = writer->calls;
    int served = ath_cuda_serve(&thread->worker, ath_frame_message(frame),
                                ath_frame_message_length(frame), &thread->builder);
    if (served < 0)
        calls->over(calls, served);
    return served;
}

/* Takes the right to write. If another thread has it, the order goes on without this thread. */
static void begin_writing(struct ath_answer_writer *writer, const struct ath_call_thread *thread)
{
    if (pthread_mutex_trylock(&writer->write_lock)) {
        writer->step_aside(writer, thread);
        pthread_mutex_lock(&writer->write_lock);
    }
    writer->thread = thread;
}

/* The stream calls this before a write waits for the client. */
static void before_wait(void *context)
{
    struct ath_answer_writer *writer = context;
    writer->step_aside(writer, writer->thread);
}

void ath_answer_send(struct ath_answer_writer *writer, struct ath_call_thread *thread,
                     const struct ath_frame *frame, int64_t waited_us)
{
    static const struct ath_wire_shape root = { .pointers = NULL };
    struct ath_calls *calls = writer->calls;
    struct ath_cuda_wire_answer answer;
    size_t length;
    int status;

    const uint8_t *bytes = ath_wire_finish(&thread->builder, &length, &status);
    if (!bytes)
        calls->over(calls, status);
    if (ath_wire_open(bytes + ATH_FRAME_HEAD, length - ATH_FRAME_HEAD, &root, &answer.at))
        calls->over(calls, -EIO);
    begin_writing(writer, thread);
    if (waited_us >= 0)
        ath_count_wait(calls->counts, (uint64_t)waited_us);
    write_printed(writer);
    if (!ath_cuda_wire_answer_status(answer) && ath_call_brings_changes(frame))
        write_changes(writer);
    if (ath_call_is_large(thread->builder.lent.length))
        writer->step_aside(writer, thread);
    write_parts(writer, &thread->builder, bytes, length);
    pthread_mutex_unlock(&writer->write_lock);
}

void ath_answer_serve(struct ath_answer_writer *writer, struct ath_call_thread *thread,
                      const struct ath_call_head *head, const struct ath_frame *frame)
{
    uint64_t begin_ns = ath_call_may_last(head) ? ath_now_ns() : 0;
    if (ath_answer_make(writer, thread, frame))
        ath_answer_send(writer, thread, frame,
                        begin_ns ? (int64_t)((ath_now_ns() - begin_ns) / 1000) : ATH_UNKNOWN);
}

struct ath_call_thread ath_call_thread_make(const struct ath_answer_writer *writer)
{
    return (struct ath_call_thread){ .worker = { .session = writer->calls->session,
                                                 .may_lend = !ath_is_off(ATH_SWITCH_LENDING) },
                                     .builder.max_bytes = ATH_CALL_MAX };
}

void ath_call_thread_free(struct ath_call_thread *thread)
{
    ath_call_room_free_frame(&thread->frame);
    ath_call_room_put(thread->worker.pinned);
    ath_wire_builder_free(&thread->builder);
    free(thread->worker.room);
}

void ath_call_thread_rest(struct ath_call_thread *thread)
{
    if (thread->frame.capacity > KEPT_BYTES)
        ath_call_room_free_frame(&thread->frame);
    if (thread->builder.capacity * ATH_WIRE_WORD > KEPT_BYTES) {
        ath_wire_builder_free(&thread->builder);
        thread->builder.max_bytes = ATH_CALL_MAX;
    }
    ath_call_room_put(thread->worker.pinned);
    thread->worker.pinned = NULL;
    if (thread->worker.room_bytes > ROOM_BYTES) {
        free(thread->worker.room);
        thread->worker.room = NULL;
        thread->worker.room_bytes = 0;
    }
}

void ath_answer_writer_init(struct ath_answer_writer *writer, struct ath_calls *calls,
                            void (*step_aside)(struct ath_answer_writer *writer,
                                               const struct ath_call_thread *thread))
{
    *writer = (struct ath_answer_writer){ .calls = calls,
                                          .write_lock = PTHREAD_MUTEX_INITIALIZER,
                                          .printed.max_bytes = (size_t)2 * PRINTED_BYTES,
                                          .changes.max_bytes = ATH_CALL_MAX,
                                          .step_aside = step_aside };
    calls->stream->before_wait = before_wait;
    calls->stream->context = writer;
}
