/* Measures the speed of connections, and shares a frame by it. */
#include "config.h"

#include "remote/transport/pace.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

#include "base/clock.h"

enum { WINDOW_NS = 4 * 1000 * 1000, SECOND_NS = 1000 * 1000 * 1000, WEIGHT = 4 };

uint64_t ath_pace_waiting(int fd)
{
    int bytes = 0;
    return ioctl(fd, SIOCOUTQ, &bytes) || bytes < 0 ? 0 : (uint64_t)bytes;
}

static uint64_t waiting(const struct ath_pace *pace)
{
    return ath_pace_waiting(pace->fd);
}

static void begin_window(struct ath_pace *pace, uint64_t left)
{
    pace->since_ns = ath_now_ns();
    pace->gone = pace->given - (left < pace->given ? left : pace->given);
}

void ath_pace_init(struct ath_pace *pace, int fd)
{
    pace->fd = fd;
    atomic_init(&pace->rate, 0);
    atomic_init(&pace->pending, 0);
    pace->given = pace->since_ns = pace->gone = 0;
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

void ath_pace_end_piece(struct ath_pace *pace, size_t bytes)
{
    uint64_t left = waiting(pace), now_ns = ath_now_ns(), rate = pace->rate;
    uint64_t passed_ns = now_ns - pace->since_ns;
    pace->given += bytes;
    atomic_store_explicit(&pace->pending, 0, memory_order_relaxed);
    if (passed_ns < WINDOW_NS)
        return;
    uint64_t gone = pace->given - (left < pace->given ? left : pace->given);
    uint64_t moved = gone > pace->gone ? gone - pace->gone : 0;
    uint64_t seen = (uint64_t)((double)moved * SECOND_NS / (double)passed_ns);
    /* A socket that is empty may have been so for a while. */
    if (seen && (left || seen > rate))
        pace->rate = rate ? (rate * (WEIGHT - 1) + seen) / WEIGHT : seen;
    begin_window(pace, left);
}

/* The bytes that a connection has by the time when all are done, if they are done together. */
static double part_of(const struct ath_pace *paces, size_t count, size_t which, double bytes)
{
    double total = 0;
    for (size_t i = 0; i < count; i++)
        if (paces[i].fd >= 0)
            total += (double)paces[i].rate;
    return bytes * (double)paces[which].rate / total;
}

size_t ath_pace_room(const struct ath_pace *paces, size_t count, size_t which, size_t left)
{
    double all = (double)left, own = (double)waiting(&paces[which]);
    for (size_t i = 0; i < count; i++)
        if (paces[i].fd >= 0 && !paces[i].rate)
            return left;
    double part = part_of(paces, count, which, all);
    if (part <= own) { /* the others may have more, which costs more calls to know */
        all += own;
        for (size_t i = 0; i < count; i++)
            if (i != which && paces[i].fd >= 0)
                all += (double)(waiting(&paces[i]) + paces[i].pending);
        part = part_of(paces, count, which, all);
    }
    return part > own ? (size_t)(part - own) + 1 : 0;
}
