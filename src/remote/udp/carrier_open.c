/* Opening channels: a cookie proves that the client receives at its address. */
#include "config.h"

#include "remote/udp/carrier_state.h"

#include <errno.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/thread.h"

enum { COOKIE_SPAN_S = 60 };

static const int64_t ms_ns = 1000000, open_first_ns = 50 * ms_ns, open_most_ns = 400 * ms_ns;

static void make_cookie(const struct ath_carrier *carrier, const struct ath_peer *peer,
                        uint64_t number, uint64_t span, uint8_t out[ATH_COOKIE_BYTES])
{
    struct hmac_sha256_ctx hmac;
    hmac_sha256_set_key(&hmac, sizeof carrier->secret, carrier->secret);
    hmac_sha256_update(&hmac, sizeof number, (const uint8_t *)&number);
    hmac_sha256_update(&hmac, sizeof span, (const uint8_t *)&span);
    hmac_sha256_update(&hmac, peer->length, (const uint8_t *)&peer->address);
    hmac_sha256_digest(&hmac, ATH_COOKIE_BYTES, out);
}

static uint64_t span_of(const struct ath_carrier *carrier)
{
    return (uint64_t)carrier->now_ns / 1000000000 / COOKIE_SPAN_S + 1;
}

static bool has_cookie(const struct ath_carrier *carrier, const struct ath_peer *peer,
                       const struct ath_datagram *datagram)
{
    uint8_t cookie[ATH_COOKIE_BYTES];
    for (uint64_t span = span_of(carrier); span + 1 >= span_of(carrier); span--) {
        make_cookie(carrier, peer, datagram->channel, span, cookie);
        if (memeql_sec(cookie, datagram->payload, sizeof cookie))
            return true;
    }
    return false;
}

static void send_at_once(struct ath_carrier *carrier, const struct ath_peer *to,
                         const struct ath_datagram *datagram)
{
    ath_carrier_send(carrier, to, datagram);
    ath_outgoing_send(&carrier->outgoing, carrier->fd); /* the payload is on a stack */
}

/* Returns whether a source has room for one more channel: it leaves half to others. */
static bool has_room(const struct ath_carrier *carrier, const struct ath_peer *peer)
{
    const struct ath_carrier_settings *settings = &carrier->settings;
    size_t count = 0;
    if (carrier->channel_count >= settings->channels_max)
        return false;
    for (const struct carrier_channel *one = carrier->channels; one && settings->is_same_source;
         one = one->next)
        count += settings->is_same_source(&one->peer, peer);
    return count < (settings->channels_max + 1) / 2;
}

static void accept_channel(struct ath_carrier *carrier, const struct ath_peer *peer,
                           const struct ath_datagram *datagram)
{
    struct carrier_channel *channel = NULL;
    int fd;
    if (has_room(carrier, peer))
        channel = ath_carrier_make_channel(carrier, datagram->channel, peer, &fd);
    if (!channel) {
        send_at_once(
            carrier, peer,
            &(struct ath_datagram){ .kind = ATH_DATAGRAM_CLOSE, .channel = datagram->channel });
        return;
    }
    channel->state = CHANNEL_OPEN;
    ath_flow_ask(channel->flow); /* this probe tells the client that the channel is open */
    ath_carrier_add_channel(carrier, channel);
    carrier->settings.accept(carrier->settings.context, fd, peer);
}

void ath_carrier_take_open(struct ath_carrier *carrier, const struct ath_peer *peer,
                           const struct ath_datagram *datagram)
{
    uint8_t cookie[ATH_COOKIE_BYTES];
    if (!carrier->settings.channels_max || ath_carrier_find_channel(carrier, datagram->channel)) {
        carrier->counters.foreign += !carrier->settings.channels_max;
        return;
    }
    if (has_cookie(carrier, peer, datagram)) {
        accept_channel(carrier, peer, datagram);
        return;
    }
    make_cookie(carrier, peer, datagram->channel, span_of(carrier), cookie);
    send_at_once(carrier, peer,
                 &(struct ath_datagram){ .kind = ATH_DATAGRAM_COOKIE,
                                         .channel = datagram->channel,
                                         .payload = cookie,
                                         .length = sizeof cookie });
}

void ath_carrier_send_open(struct ath_carrier *carrier, struct carrier_channel *channel)
{
    ath_carrier_send(carrier, &channel->peer,
                     &(struct ath_datagram){ .kind = ATH_DATAGRAM_OPEN,
                                             .channel = channel->number,
                                             .payload = channel->open_payload,
                                             .length = sizeof channel->open_payload });
    channel->pause_ns = channel->pause_ns ? 2 * channel->pause_ns : open_first_ns;
    channel->pause_ns = channel->pause_ns < open_most_ns ? channel->pause_ns : open_most_ns;
    channel->again_ns = carrier->now_ns + channel->pause_ns;
}

void ath_carrier_take_answer(struct ath_carrier *carrier, struct carrier_channel *channel,
                             const struct ath_datagram *datagram)
{
    switch (datagram->kind) {
    case ATH_DATAGRAM_COOKIE:
        memcpy(channel->open_payload, datagram->payload, ATH_COOKIE_BYTES);
        channel->pause_ns = 0;
        ath_carrier_send_open(carrier, channel);
        break;
    case ATH_DATAGRAM_CLOSE:
        ath_carrier_end_channel(carrier, channel, -ECONNREFUSED);
        break;
    default:
        channel->state = CHANNEL_OPEN;
        pthread_cond_broadcast(&carrier->changed);
        ath_flow_receive(channel->flow, datagram, carrier->now_ns);
    }
}

static int random_number(uint64_t *out)
{
    return getrandom(out, sizeof *out, 0) == sizeof *out ? 0 : -EIO;
}

/* Waits for the end of the opening. The lock is held. */
static int await_open(struct ath_carrier *carrier, const struct carrier_channel *channel,
                      uint64_t deadline_ms)
{
    const struct timespec until = ath_moment(deadline_ms);
    int status = 0;
    while (channel->state == CHANNEL_OPENING && !status)
        status = -pthread_cond_timedwait(&carrier->changed, &carrier->lock, &until);
    return channel->state == CHANNEL_OPEN ? 0 : channel->failure ? channel->failure : status;
}

int ath_carrier_begin(struct ath_carrier *carrier, const struct ath_peer *to, uint64_t *out_number,
                      int *out_fd)
{
    uint64_t number;
    int status = random_number(&number);
    if (status)
        return status;
    struct carrier_channel *channel = ath_carrier_make_channel(carrier, number, to, out_fd);
    if (!channel)
        return -errno;
    pthread_mutex_lock(&carrier->lock);
    channel->is_awaited = true;
    ath_carrier_add_channel(carrier, channel);
    ath_carrier_wake(carrier);
    pthread_mutex_unlock(&carrier->lock);
    *out_number = number;
    return 0;
}

int ath_carrier_look(struct ath_carrier *carrier, uint64_t number, uint64_t deadline_ms)
{
    pthread_mutex_lock(&carrier->lock);
    int status = await_open(carrier, ath_carrier_find_channel(carrier, number), deadline_ms);
    pthread_mutex_unlock(&carrier->lock);
    return status;
}

int ath_carrier_await(struct ath_carrier *carrier, uint64_t number, uint64_t deadline_ms)
{
    pthread_mutex_lock(&carrier->lock);
    struct carrier_channel *channel =
        ath_carrier_find_channel(carrier, number); /* it stays while it is awaited */
    int status = await_open(carrier, channel, deadline_ms);
    if (status && channel->state != CHANNEL_OVER)
        ath_carrier_end_channel(carrier, channel, status);
    channel->is_awaited = false;
    ath_carrier_wake(carrier);
    pthread_mutex_unlock(&carrier->lock);
    return status;
}

int ath_carrier_open(struct ath_carrier *carrier, const struct ath_peer *to, uint64_t deadline_ms,
                     int *out_fd)
{
    uint64_t number = 0;
    ath_auto_close int fd = -1;
    int status = ath_carrier_begin(carrier, to, &number, &fd);
    if (!status)
        status = ath_carrier_await(carrier, number, deadline_ms);
    if (!status)
        *out_fd = ath_steal_fd(&fd);
    return status;
}
