/* The table of channels. A channel is freed by its last user. */
#include "config.h"

#include "remote/transport/channels_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "remote/transport/team.h"

enum {
    /* Bytes that wait in a channel's socket before its path can take them. More of them would make
     * a slow path take pieces that a fast one would have carried sooner. */
    UNSENT_MOST = 256 * 1024,
};

static void prepare(int fd, long wait_ms)
{
    const struct timeval wait = { .tv_sec = wait_ms / 1000, .tv_usec = wait_ms % 1000 * 1000 };
    ath_tcp_tune(fd);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
}

static struct ath_channel *make_channel(struct ath_socket socket, uint32_t generation)
{
    struct ath_channel *channel = malloc(sizeof *channel);
    if (!channel)
        return NULL;
    *channel = (struct ath_channel){ .socket = socket, .generation = generation, .users = 1 };
    prepare(socket.fd, ATH_CHANNEL_LOOK_MS);
    setsockopt(socket.fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &(int){ UNSENT_MOST }, sizeof(int));
    return channel;
}

/* Ends one use. The caller has the lock. */
static void leave(struct ath_channel *channel)
{
    if (--channel->users)
        return;
    ath_socket_close(&channel->socket);
    free(channel);
}

static void free_without_sockets(struct ath_channels *channels)
{
    ath_team_free(channels->readers);
    ath_team_free(channels->writers);
    for (size_t i = 0; i < channels->count; i++)
        free(channels->now[i]);
    pthread_mutex_destroy(&channels->lock);
    free(channels);
}

struct ath_channels *ath_channels_make(struct ath_stream *stream, const struct ath_socket *sockets,
                                       size_t count)
{
    enum { BACK_MS = 1000 };
    struct ath_channels *channels = calloc(1, sizeof *channels);
    if (!channels)
        return NULL;
    pthread_mutex_init(&channels->lock, NULL);
    channels->stream = stream;
    channels->readers = ath_team_make(count - 1);
    channels->writers = ath_team_make(count - 1);
    bool is_made = channels->readers && channels->writers;
    for (; is_made && channels->count < count - 1; channels->count++)
        is_made = (channels->now[channels->count] = make_channel(sockets[channels->count], 1));
    if (!is_made) {
        free_without_sockets(channels);
        return NULL;
    }
    channels->back = sockets[count - 1];
    prepare(channels->back.fd, BACK_MS);
    return channels;
}

void ath_channels_shut(struct ath_channels *channels)
{
    channels->is_shut = true;
    pthread_mutex_lock(&channels->lock);
    for (size_t i = 0; i < channels->count; i++)
        shutdown(channels->now[i]->socket.fd, SHUT_RDWR);
    pthread_mutex_unlock(&channels->lock);
    shutdown(channels->back.fd, SHUT_RDWR);
}

void ath_channels_abandon(struct ath_channels *channels)
{
    channels->is_shut = true;
    for (size_t i = 0; i < channels->count; i++)
        close(channels->now[i]->socket.fd);
    close(channels->back.fd);
    channels->count = 0;
}

void ath_channels_free(struct ath_channels *channels)
{
    if (channels->watcher.end)
        channels->watcher.end(channels->watcher.context);
    for (size_t i = 0; i < channels->count; i++)
        ath_socket_close(&channels->now[i]->socket);
    if (channels->count)
        ath_socket_close(&channels->back);
    free_without_sockets(channels);
}

/* ---- channels that are lost, and come again ---- */

void ath_channels_watch(struct ath_channels *channels, const struct ath_channels_watcher *watcher)
{
    channels->watcher = *watcher;
}

/* Adds the counts of connections that were in a place before. */
static void add_counts(const struct ath_stripe_state *before, struct ath_stripe_state *to)
{
    if (to->sent_again >= 0)
        to->sent_again += before->sent_again;
#define X(name) to->datagrams.name += before->datagrams.name;
    ATH_UDP_FIGURES(X)
#undef X
}

static void keep_counts(const struct ath_channel *channel, struct ath_stripe_state *before)
{
    struct ath_stripe_state state = { 0 };
    ath_stripe_state_of_socket(channel->socket.fd, &state);
    if (state.sent_again < 0)
        state.sent_again = 0;
    add_counts(before, &state);
    *before = state;
}

int ath_channels_offer(struct ath_channels *channels, size_t slot, uint32_t generation,
                       struct ath_socket socket)
{
    struct ath_channel *channel = slot < channels->count ? make_channel(socket, generation) : NULL;
    if (!channel)
        return slot < channels->count ? -ENOMEM : -EINVAL;
    pthread_mutex_lock(&channels->lock);
    struct ath_channel *old = channels->now[slot];
    bool is_newer = generation > old->generation && !channels->is_shut;
    if (is_newer) {
        channels->now[slot] = channel;
        keep_counts(old, &channels->before[slot]);
        old->is_out = true; /* the peer has given it up, whatever this side knows */
        shutdown(old->socket.fd, SHUT_RDWR);
        leave(old);
    }
    pthread_mutex_unlock(&channels->lock);
    if (!is_newer)
        free(channel);
    return is_newer ? 0 : -EINVAL;
}

uint64_t ath_channels_bytes_per_s(const struct ath_channels *channels, enum ath_channels_way way)
{
    const struct ath_path_cost *cost =
        way == ATH_CHANNELS_READ ? &channels->read_cost : &channels->stream->cost;
    return atomic_load_explicit(&cost->bytes_per_s, memory_order_relaxed);
}

bool ath_channels_are_shut(const struct ath_channels *channels)
{
    return channels->is_shut;
}

bool ath_channels_state(struct ath_channels *channels, size_t slot, struct ath_stripe_state *out)
{
    if (slot >= channels->count)
        return false;
    pthread_mutex_lock(&channels->lock);
    const struct ath_channel *channel = channels->now[slot];
    *out = (struct ath_stripe_state){ .is_lost = channel->is_out,
                                      .sent_bytes = channels->bytes[slot].sent,
                                      .received_bytes = channels->bytes[slot].received };
    ath_stripe_state_of_socket(channel->socket.fd, out);
    add_counts(&channels->before[slot], out);
    pthread_mutex_unlock(&channels->lock);
    return true;
}

/* ---- the channels of a frame ---- */

enum { MARKS = UINT8_MAX };

/* The byte that stands for a generation; 0 stands for none. */
static uint8_t mark_of(uint32_t generation)
{
    return (uint8_t)((generation - 1) % MARKS + 1);
}

/* The caller has the lock, as for the next function. */
static void use(struct ath_channel_frame *frame, size_t slot)
{
    struct ath_channel *channel = frame->channels->now[slot];
    if (channel->is_out)
        return;
    channel->users++;
    frame->used[slot] = channel;
}

uint64_t ath_channel_frame_choose(struct ath_channel_frame *frame)
{
    struct ath_channels *channels = frame->channels;
    uint64_t generations = 0;
    pthread_mutex_lock(&channels->lock);
    for (size_t i = 0; i < channels->count; i++) {
        use(frame, i);
        const struct ath_channel *channel = frame->used[i];
        if (!channel) {
            channels->paces[i].fd = -1;
            continue;
        }
        generations |= (uint64_t)mark_of(channel->generation) << 8 * i;
        frame->named |= 1u << i;
        if (channels->paced[i] != channel->generation || channels->paces[i].fd < 0)
            ath_pace_init(&channels->paces[i], channel->socket.fd);
        channels->paced[i] = channel->generation;
    }
    pthread_mutex_unlock(&channels->lock);
    return generations;
}

/* Returns whether the peer is ahead: it has offered a connection that this side is about to. */
static bool take(struct ath_channel_frame *frame, size_t slot, uint8_t mark)
{
    struct ath_channels *channels = frame->channels;
    pthread_mutex_lock(&channels->lock);
    int ahead = (mark - mark_of(channels->now[slot]->generation) + MARKS) % MARKS;
    if (!ahead)
        use(frame, slot);
    pthread_mutex_unlock(&channels->lock);
    return ahead > 0 && ahead <= MARKS / 2;
}

void ath_channel_frame_take(struct ath_channel_frame *frame, uint64_t generations)
{
    enum { PATIENCE_MS = 300, PAUSE_NS = 1000 * 1000 };
    const struct ath_channels *channels = frame->channels;
    const uint64_t deadline_ms = ath_now_ms() + PATIENCE_MS;
    for (size_t i = 0; i < ATH_CHANNELS_MAX; i++) {
        uint8_t mark = (uint8_t)(generations >> 8 * i);
        if (!mark)
            continue;
        frame->named |= 1u << i;
        while (i < channels->count && take(frame, i, mark) && !channels->is_shut &&
               ath_now_ms() < deadline_ms)
            nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
    }
}

void ath_channel_frame_drop(struct ath_channel_frame *frame, unsigned int slots)
{
    pthread_mutex_lock(&frame->channels->lock);
    for (size_t i = 0; i < ATH_CHANNELS_MAX; i++) {
        if (!(slots >> i & 1u) || !frame->used[i])
            continue;
        leave(frame->used[i]);
        frame->used[i] = NULL;
    }
    pthread_mutex_unlock(&frame->channels->lock);
}

void ath_channel_frame_put_out(struct ath_channel_frame *frame, size_t slot)
{
    struct ath_channels *channels = frame->channels;
    struct ath_channel *channel = frame->used[slot];
    if (channels->is_shut || atomic_exchange(&channel->is_out, true))
        return;
    shutdown(channel->socket.fd, SHUT_RDWR);
    if (channels->watcher.lost)
        channels->watcher.lost(channels->watcher.context, slot);
}

void ath_channel_frame_note(struct ath_channel_frame *frame, int status)
{
    int none = 0;
    if (status && atomic_compare_exchange_strong(&frame->failure, &none, status))
        frame->channels->stream->ops->shut(frame->channels->stream);
}

void ath_channel_frame_tell(const struct ath_channel_frame *frame, enum ath_channels_way way)
{
    const struct ath_channels_watcher *watcher = &frame->channels->watcher;
    for (size_t i = 0; i < ATH_CHANNELS_MAX; i++)
        if (frame->loses[i] && watcher->loses)
            watcher->loses(watcher->context, way, i, (double)frame->loses[i] / ATH_PIECE_PARTS);
    if (watcher->moved)
        watcher->moved(watcher->context, way);
}

size_t ath_channel_frame_bits(const struct ath_channel_frame *frame)
{
    return ((size_t)frame->pieces.units + 63) / 64 * sizeof(uint64_t);
}
