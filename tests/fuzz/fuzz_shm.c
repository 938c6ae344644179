/*
 * Fuzzes both sides of shared memory: an input is what the other side does. A client asks the
 * server to map memory of many kinds and to let it go, and writes any bytes and positions into the
 * rings. A server gives rings of any kind, and answers the client's requests for memory with
 * anything.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/host_budget.h"
#include "remote/transport/ring.h"
#include "remote/transport/shm.h"

#include "fuzz.h"

enum {
    STEPS_MAX = 24,
    FRAME_MAX = 1 << 20,
    FRAMES_MAX = 64,
    REPLIES = 3,
    RINGS_BYTES = 2 * sizeof(struct ath_ring_shared),
    BUDGET = 8 << 20, /* ASan marks all bytes that are mapped */
};

/* ---- the host's memory ---- */

static int64_t taken;

static bool take(void *context, enum ath_host_kind kind, int64_t amount)
{
    (void)context;
    if (kind == ATH_HOST_BYTES && (amount < 0 || amount > BUDGET - taken))
        return false;
    taken += kind == ATH_HOST_BYTES ? amount : 0;
    return true;
}

static void give(void *context, enum ath_host_kind kind, int64_t amount)
{
    (void)context;
    taken -= kind == ATH_HOST_BYTES ? amount : 0;
    insist(taken >= 0, "no more is given back than was taken");
}

/* ---- memory of every kind ---- */

enum memory_kind { NOTHING, SEALED, UNSEALED, ON_TMPFS, DEVICE, SOCKET, MEMORY_KINDS };

static int make_memfd(size_t bytes, bool is_sealed)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    insist(fd >= 0, "there is a descriptor");
    (void)!ftruncate(fd, (off_t)bytes);
    if (is_sealed)
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    return fd;
}

static int make_memory(enum memory_kind kind, size_t bytes, int other_fd)
{
    switch (kind) {
    case SEALED:
    case UNSEALED:
        return make_memfd(bytes, kind == SEALED);
    case ON_TMPFS: {
        int fd = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (fd >= 0)
            (void)!ftruncate(fd, (off_t)bytes);
        return fd;
    }
    case DEVICE:
        return open("/dev/zero", O_RDWR | O_CLOEXEC);
    case SOCKET:
        return dup(other_fd);
    default:
        return -1;
    }
}

/* ---- a client that lies ---- */

/* As in shm.c: the wire between two processes of one host. */
struct request {
    uint64_t id, address, bytes, offset, is_file;
};

struct reply {
    uint64_t id;
    int64_t status;
};

/* A number of pages, or any number. */
static uint64_t take_bytes(struct fuzz_input *input)
{
    uint64_t pages = fuzz_take(input, 1);
    return pages < 0xf0 ? pages * 4096 : fuzz_take(input, 8);
}

/* An address where memory is wanted, where this process has memory already, or any. */
static uint64_t take_address(struct fuzz_input *input)
{
    uint64_t which = fuzz_take(input, 1), on_stack = (uintptr_t)&which / 4096 * 4096;
    if (which < 0xc0)
        return UINT64_C(0x200000000000) + which * 4096;
    return which < 0xe0 ? on_stack - which % 32 * 4096 : fuzz_take(input, 8);
}

/* All of sealed memory must be there: the first byte of each share and the last one. */
static void touch(struct ath_stream *stream, uint64_t id, const struct request *request)
{
    size_t bytes = 0;
    volatile uint8_t *memory = ath_shm_find(stream, id, &bytes);
    if (!memory)
        return;
    insist(bytes == request->bytes, "a share has the bytes that were asked for");
    memory[0] = memory[bytes - 1] = 1;
}

static bool ask_to_share(struct ath_stream *stream, int client, struct fuzz_input *input)
{
    uint64_t kind = fuzz_take(input, 1);
    struct request request = { .id = fuzz_take(input, 1) % 8, .is_file = kind >> 4 & 1 };
    struct reply reply;
    request.bytes = kind >> 5 & 1 ? 0 : take_bytes(input);
    request.address = take_address(input);
    request.offset = kind >> 6 & 1 ? take_bytes(input) : 0;
    enum memory_kind memory_kind = (enum memory_kind)(kind % MEMORY_KINDS);
    size_t there = kind >> 7 & 1 ? (size_t)request.bytes : (size_t)take_bytes(input);
    int memory = make_memory(memory_kind, there, client);
    insist(!ath_shm_send(client, &request, sizeof request, memory), "a request is sent");
    if (memory >= 0)
        close(memory);
    if (ath_shm_serve_share(stream))
        return false;
    insist(recv(client, &reply, sizeof reply, MSG_DONTWAIT) == sizeof reply &&
               reply.id == request.id,
           "a request is answered");
    if (!reply.status && request.bytes && memory_kind == SEALED && !request.is_file)
        touch(stream, request.id, &request);
    return true;
}

/* ---- rings ---- */

static struct fuzz_input lies; /* positions that the other side tells while this side waits */
static struct ath_ring_shared *lied_about;

static void tell_lies(void *context)
{
    (void)context;
    uint64_t before = atomic_load(&lied_about->read), lie = fuzz_take(&lies, 4);
    atomic_store(&lied_about->read, lie == before ? UINT64_MAX : lie); /* so that no side sleeps */
}

static void spoil_ring(struct ath_ring_shared *ring, struct fuzz_input *input)
{
    struct fuzz_input bytes = fuzz_part(input, (size_t)fuzz_take(input, 2));
    memcpy(ring->bytes, bytes.at, fuzz_left(&bytes));
    uint64_t written = fuzz_take(input, 1);
    atomic_store(&ring->written, written < 0xf0 ? fuzz_left(&bytes) : fuzz_take(input, 8));
}

/* Reads all frames that the other side has written, if they are any. */
static void read_frames(struct ath_stream *stream)
{
    struct ath_frame frame = { 0 };
    for (int i = 0; i < FRAMES_MAX && !ath_stream_read_frame(stream, FRAME_MAX, &frame); i++)
        insist(frame.length <= FRAME_MAX, "no frame is larger than allowed");
    ath_frame_free(&frame);
}

static void write_much(struct ath_stream *stream)
{
    static uint8_t bytes[ATH_RING_BYTES / 4];
    const struct iovec part = { bytes, sizeof bytes };
    for (int i = 0; i < 8 && !stream->ops->write(stream, &part, 1); i++)
        continue;
}

static void use_rings(struct ath_stream *stream, struct ath_ring_shared *in,
                      struct ath_ring_shared *out, struct fuzz_input *input)
{
    spoil_ring(in, input);
    lied_about = out;
    lies = fuzz_part(input, 16);
    stream->before_wait = tell_lies;
    stream->patience_us = 0;
    write_much(stream);
    stream->ops->shut(stream); /* so that no side waits for more */
    read_frames(stream);
}

/* ---- the two sides ---- */

static void serve(struct fuzz_input *input)
{
    int ends[2], memory;
    struct ath_stream *stream;
    insist(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "there are sockets");
    insist(!ath_shm_make(ends[0], &memory, &stream), "there are rings");
    struct ath_ring_shared *rings =
        mmap(NULL, RINGS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    insist(rings != MAP_FAILED, "the client maps the rings");
    close(memory);
    for (uint64_t steps = fuzz_take(input, 1) % STEPS_MAX;
         steps && ask_to_share(stream, ends[1], input); steps--)
        continue;
    use_rings(stream, &rings[0], &rings[1], input);
    stream->ops->close(stream);
    close(ends[1]);
    munmap(rings, RINGS_BYTES);
    taken = 0; /* the session's memory ends with its process */
}

/* Answers a request before it comes, so that one thread is enough. The client asks again while an
 * address is in use, but not after the last answer. */
static void prepare_reply(int server, uint64_t id, bool is_last, struct fuzz_input *input)
{
    uint64_t kind = fuzz_take(input, 1);
    struct reply reply = { .id = kind & 1 ? id : fuzz_take(input, 8) };
    reply.status = kind & 2 ? 0 : -(int64_t)fuzz_take(input, 1);
    if (is_last && (int)reply.status == -EEXIST)
        reply.status = -EINVAL;
    int memory = kind & 4 ? make_memfd(4096, true) : -1;
    (void)!ath_shm_send(server, &reply, sizeof reply, memory);
    if (memory >= 0)
        close(memory);
}

static void share_one(struct ath_stream *stream, int server, uint64_t *ids,
                      struct fuzz_input *input)
{
    uint64_t kind = fuzz_take(input, 1), bytes = take_bytes(input), id = 0;
    void *address = NULL;
    for (int i = REPLIES; i-- > 0;)
        prepare_reply(server, *ids + 1, !i, input);
    if (kind & 1) {
        if (!stream->ops->share(stream, (size_t)(bytes % BUDGET),
                                kind & 2 ? (void *)(uintptr_t)take_address(input) : NULL, &address,
                                &id)) {
            insist(address && id, "a share has an address and a number");
            ((volatile uint8_t *)address)[0] = 1;
            *ids = id;
        }
    } else {
        stream->ops->unshare(stream, fuzz_take(input, 1) % 4);
    }
}

static void drain(int fd)
{
    char bytes[4096];
    while (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        continue;
}

static void be_client(struct fuzz_input *input)
{
    int ends[2];
    struct ath_stream *stream;
    uint64_t kind = fuzz_take(input, 1), last_id = 0;
    insist(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "there are sockets");
    size_t bytes = kind & 1 ? RINGS_BYTES : (size_t)(take_bytes(input) % BUDGET);
    int memory = make_memfd(bytes, kind & 2);
    if (!ath_shm_take(ends[0], memory, &stream)) {
        insist(bytes >= RINGS_BYTES && kind & 2, "rings are whole and sealed");
        struct ath_ring_shared *rings =
            mmap(NULL, RINGS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
        insist(rings != MAP_FAILED, "the server maps the rings");
        for (uint64_t steps = fuzz_take(input, 1) % STEPS_MAX; steps; steps--) {
            share_one(stream, ends[1], &last_id, input);
            drain(ends[0]);
            drain(ends[1]);
        }
        shutdown(ends[1], SHUT_RDWR); /* a client waits until the server has gone */
        use_rings(stream, &rings[1], &rings[0], input);
        stream->ops->close(stream);
        munmap(rings, RINGS_BYTES);
    } else {
        close(ends[0]);
    }
    close(ends[1]);
    close(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct ath_host_budget budget = { .take = take, .give = give };
    struct fuzz_input input = { data, data + size };
    ath_host_budget_set(&budget);
    if (fuzz_take(&input, 1) & 1)
        be_client(&input);
    else
        serve(&input);
    return 0;
}
