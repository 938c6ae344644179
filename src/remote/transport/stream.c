/* Functions for all transports. */
#include "config.h"

#include "remote/transport/stream.h"

#include <endian.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "remote/switches.h"

static int processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) ? (int)sysconf(_SC_NPROCESSORS_ONLN)
                                                  : CPU_COUNT(&set);
}

uint32_t ath_stream_patience_us(enum ath_stream_wait wait)
{
    enum { MANY = 4 }; /* enough processors that a few may poll */
    static const uint32_t of_few[] = { [ATH_STREAM_IDLE] = 20, [ATH_STREAM_BUSY] = 50 };
    static const uint32_t of_many[] = { [ATH_STREAM_IDLE] = 500, [ATH_STREAM_BUSY] = 20000 };
    int count = ath_is_off(ATH_SWITCH_SPINNING) ? 1 : processors();
    return count >= MANY ? of_many[wait] : count > 1 ? of_few[wait] : 0;
}

unsigned int ath_stream_more_pollers(void)
{
    enum { MOST = 7 };
    int more = processors() / 2 - 1;
    return more > MOST ? MOST : more > 0 ? (unsigned int)more : 0;
}

static int replace_bytes(struct ath_frame *frame, size_t length)
{
    if (length <= frame->capacity)
        return 0;
    free(frame->bytes); /* the old content is not needed, so nothing is copied */
    *frame = (struct ath_frame){ .bytes = malloc(length) };
    if (!frame->bytes)
        return -ENOMEM;
    frame->capacity = length;
    return 0;
}

int ath_stream_read_head(struct ath_stream *stream, size_t max_bytes, size_t *out_length)
{
    uint32_t head[2]; /* number of segments less one, number of words */
    _Static_assert(sizeof head == ATH_FRAME_HEAD, "a frame's head");

    int status = stream->ops->read(stream, head, sizeof head);
    if (status)
        return status;
    if (head[0])
        return -EBADMSG;
    *out_length = ATH_FRAME_HEAD + (size_t)le32toh(head[1]) * 8;
    return *out_length > max_bytes ? -EMSGSIZE : 0;
}

int ath_stream_read_rest(struct ath_stream *stream, size_t length, struct ath_frame *frame)
{
    const uint32_t head[2] = { 0, htole32((uint32_t)((length - ATH_FRAME_HEAD) / 8)) };
    frame->length = 0;
    int status = replace_bytes(frame, length);
    if (status)
        return status;
    memcpy(frame->bytes, head, sizeof head);
    bool is_large = stream->large_bytes && length >= stream->large_bytes;
    status = (is_large ? stream->ops->read_large : stream->ops->read)(
        stream, frame->bytes + sizeof head, length - sizeof head);
    if (status)
        return status == -ENODATA ? -EBADMSG : status;
    frame->length = length;
    return 0;
}

int ath_stream_read_frame(struct ath_stream *stream, size_t max_bytes, struct ath_frame *frame)
{
    size_t length;
    frame->length = 0;
    int status = ath_stream_read_head(stream, max_bytes, &length);
    return status ? status : ath_stream_read_rest(stream, length, frame);
}

void ath_path_cost_add(struct ath_path_cost *cost, uint64_t bytes, uint64_t time_ns)
{
    const double keeps = 0.75;
    cost->moved_bytes = cost->moved_bytes * keeps + (double)bytes;
    cost->moving_s = cost->moving_s * keeps + (double)time_ns / 1e9;
    if (cost->moving_s > 0)
        atomic_store_explicit(&cost->bytes_per_s, (uint64_t)(cost->moved_bytes / cost->moving_s),
                              memory_order_relaxed);
}

uint64_t ath_path_cost_ns(const struct ath_path_cost *cost, uint64_t bytes)
{
    const uint64_t speed = atomic_load_explicit(&cost->bytes_per_s, memory_order_relaxed);
    return speed ? cost->latency_ns + (uint64_t)((double)bytes * 1e9 / (double)speed) : 0;
}

static int write_frame(struct ath_stream *stream, struct iovec ahead,
                       const struct iovec parts[ATH_FRAME_PARTS], size_t length)
{
    struct iovec all[] = { ahead, parts[0], parts[1], parts[2] };
    _Static_assert(ATH_FRAME_PARTS == 3, "all has them");

    if (!stream->large_bytes || length < stream->large_bytes)
        return stream->ops->write(stream, all, sizeof all / sizeof *all);
    all[1].iov_len = ATH_FRAME_HEAD;
    int status = stream->ops->write(stream, all, 2);
    all[1] = parts[0];
    all[1].iov_base = (uint8_t *)all[1].iov_base + ATH_FRAME_HEAD;
    all[1].iov_len -= ATH_FRAME_HEAD;
    return status ? status : stream->ops->write_large(stream, all + 1, ATH_FRAME_PARTS);
}

static uint64_t unsent(const struct ath_stream *stream)
{
    return stream->ops->unsent ? stream->ops->unsent(stream) : 0;
}

int ath_stream_write_frame(struct ath_stream *stream, struct iovec ahead,
                           const struct iovec parts[ATH_FRAME_PARTS])
{
    const size_t length = parts[0].iov_len + parts[1].iov_len + parts[2].iov_len;
    if (length < ATH_STRIPED_BYTES)
        return write_frame(stream, ahead, parts, length);
    const uint64_t before = unsent(stream), begin_ns = ath_now_ns();
    int status = write_frame(stream, ahead, parts, length);
    const uint64_t given = before + length, left = unsent(stream);
    if (!status)
        ath_path_cost_add(&stream->cost, given > left ? given - left : 0, ath_now_ns() - begin_ns);
    return status;
}
