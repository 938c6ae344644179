/* Measures the speed of connections, and shares a frame by it. */
#include "config.h"

#include "remote/transport/pace.h"

#include <linux/sockios.h>
#include <math.h>
#include <sys/ioctl.h>

#include "base/clock.h"

static const double margin = 1.125;

enum {
    WINDOW_NS = 4 * 1000 * 1000,   /* of one measurement */
    MEMORY_NS = 100 * 1000 * 1000, /* of the measurements that count whole */
    SECOND_NS = 1000 * 1000 * 1000,
};

uint64_t ath_pace_waiting(int fd, const struct ath_udp_place *udp)
{
    int bytes = 0;
    const uint64_t behind = ath_udp_place_waiting(udp);
    return (ioctl(fd, SIOCOUTQ, &bytes) || bytes < 0 ? 0 : (uint64_t)bytes) + behind;
}

static uint64_t waiting(const struct ath_pace *pace)
{
    return ath_pace_waiting(pace->fd, &pace->udp);
}

static void begin_window(struct ath_pace *pace, uint64_t left)
{
    pace->since_ns = ath_now_ns();
    pace->gone = pace->given - (left < pace->given ? left : pace->given);
}

void ath_pace_init(struct ath_pace *pace, int fd)
{
    pace->fd = fd;
    (void)ath_udp_place_find(fd, &pace->udp);
    atomic_init(&pace->rate, 0);
    atomic_init(&pace->pending, 0);
    pace->given = pace->since_ns = pace->gone = 0;
    pace->moved_bytes = pace->moved_ns = 0;
}

void ath_pace_begin_frame(struct ath_pace *pace)
{
    uint64_t left = waiting(pace);
    if (!left || !pace->since_ns)
        begin_window(pace, left);
}

void ath_pace_begin_piece(struct ath_pace *pace, size_t bytes)
{
    atomic_store_explicit(&pace->pending, bytes, memory_order_relaxed);
}

static void add_measurement(struct ath_pace *pace, double bytes, double passed_ns)
{
    pace->moved_bytes += bytes;
    pace->moved_ns += passed_ns;
    atomic_store_explicit(&pace->rate, (uint64_t)(pace->moved_bytes * SECOND_NS / pace->moved_ns),
                          memory_order_relaxed);
    if (pace->moved_ns < MEMORY_NS)
        return;
    pace->moved_bytes /= 2;
    pace->moved_ns /= 2;
}

void ath_pace_end_piece(struct ath_pace *pace, size_t bytes)
{
    const uint64_t left = waiting(pace), passed_ns = ath_now_ns() - pace->since_ns;
    pace->given += bytes;
    atomic_store_explicit(&pace->pending, 0, memory_order_relaxed);
    const uint64_t gone = pace->given - (left < pace->given ? left : pace->given);
    /* Links get rid of bytes in lumps: a window ends with one. */
    if (passed_ns < WINDOW_NS || gone <= pace->gone)
        return;
    const double moved = (double)(gone - pace->gone), passed = (double)passed_ns;
    /* A socket that is empty may have been so for a while. */
    if (left || moved * SECOND_NS / passed > (double)pace->rate)
        add_measurement(pace, moved, passed);
    begin_window(pace, left);
}

/* Whether a connection that holds bytes already has sent some more of them before the others have
 * sent these and all that is left, with a margin for errors of its speed: one that ends late holds
 * up the frame, and the others need little time for its bytes. The others cannot be done before the
 * first of them has sent as many more; without a margin, so that always one takes the bytes. */
static bool is_sooner(const struct ath_pace *paces, size_t count, size_t which, double held,
                      double more, double left)
{
    double others = left, rates = 0, first_s = INFINITY;
    for (size_t i = 0; i < count; i++) {
        if (i == which || paces[i].fd < 0)
            continue;
        const double holds = (double)(waiting(&paces[i]) + paces[i].pending);
        const double rate = (double)paces[i].rate, until_s = (holds + more) / rate;
        others += holds;
        rates += rate;
        first_s = until_s < first_s ? until_s : first_s;
    }
    const double own_s = (held + more) / (double)paces[which].rate;
    return !(rates > 0) || own_s <= first_s || own_s * margin <= others / rates;
}

size_t ath_pace_room(const struct ath_pace *paces, size_t count, size_t which, size_t left,
                     size_t unit)
{
    const size_t least = left < unit ? left : unit;
    double rates = 0;
    for (size_t i = 0; i < count; i++) {
        if (paces[i].fd >= 0 && !paces[i].rate)
            return left;
        rates += paces[i].fd >= 0 ? (double)paces[i].rate : 0;
    }
    const double held = (double)waiting(&paces[which]);
    const double part = (double)left * (double)paces[which].rate / rates;
    if (part < held + (double)least) /* others may hold more, which costs more calls to know */
        return is_sooner(paces, count, which, held, (double)least, (double)left) ? least : 0;
    const size_t half = (size_t)((part - held) / 2);
    return half > least ? half : least;
}

uint64_t ath_pace_ns(const struct ath_pace *pace, size_t bytes)
{
    const uint64_t rate = pace->rate;
    const double all = (double)(waiting(pace) + bytes);
    return rate ? (uint64_t)(all * SECOND_NS / (double)rate) : 0;
}
