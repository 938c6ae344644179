/* The table: a row's place follows from the inode number, or is the next free one behind it. */
#include "config.h"

#include "remote/udp_figures.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

enum { OWN_ROWS = 64 };

static const uint64_t in_work = UINT64_MAX; /* a row that is being filled */

static struct ath_udp_row own_rows[OWN_ROWS];
static struct {
    struct ath_udp_row *rows;
    size_t count;
} table = { own_rows, OWN_ROWS };

void ath_udp_rows_use(struct ath_udp_row *rows, size_t count)
{
    table.rows = rows ? rows : own_rows;
    table.count = rows ? count : OWN_ROWS;
}

void ath_udp_rows_clear(void)
{
    for (size_t i = 0; i < table.count; i++)
        if (table.rows[i].socket)
            table.rows[i].socket = 0;
}

/* The inode number of a socket, which all processes see; 0: unknown. */
static uint64_t number_of(int fd)
{
    struct stat status;
    return fstat(fd, &status) ? 0 : (uint64_t)status.st_ino;
}

static struct ath_udp_row *row_at(uint64_t socket, size_t step)
{
    return &table.rows[(socket + step) % table.count];
}

static void copy_address(const struct sockaddr *from, union ath_udp_address *out)
{
    memset(out, 0, sizeof *out);
    if (from->sa_family == AF_INET)
        memcpy(&out->in, from, sizeof out->in);
    else if (from->sa_family == AF_INET6)
        memcpy(&out->in6, from, sizeof out->in6);
}

struct ath_udp_row *ath_udp_row_take(int fd, const struct sockaddr *local,
                                     const struct sockaddr *peer)
{
    const uint64_t socket = number_of(fd);
    for (size_t step = 0; socket && step < table.count; step++) {
        struct ath_udp_row *row = row_at(socket, step);
        uint64_t none = 0;
        if (!atomic_compare_exchange_strong(&row->socket, &none, in_work))
            continue;
        copy_address(local, &row->local);
        copy_address(peer, &row->peer);
        ath_udp_row_write(row, 0, &(struct ath_udp_figures){ 0 });
        row->socket = socket;
        return row;
    }
    return NULL;
}

void ath_udp_row_leave(struct ath_udp_row *row)
{
    if (row)
        row->socket = 0;
}

void ath_udp_row_write(struct ath_udp_row *row, uint64_t waiting,
                       const struct ath_udp_figures *figures)
{
    if (!row)
        return;
    atomic_store_explicit(&row->waiting, waiting, memory_order_relaxed);
    atomic_store_explicit(&row->trip_ns, figures->trip_ns, memory_order_relaxed);
#define X(name) atomic_store_explicit(&row->name, figures->name, memory_order_relaxed);
    ATH_UDP_FIGURES(X)
#undef X
}

bool ath_udp_place_find(int fd, struct ath_udp_place *out)
{
    int family = 0;
    socklen_t length = sizeof family;
    *out = (struct ath_udp_place){ 0 };
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &length) || family != AF_UNIX)
        return false;
    out->socket = number_of(fd);
    for (size_t step = 0; out->socket && step < table.count && !out->row; step++)
        if (row_at(out->socket, step)->socket == out->socket)
            out->row = row_at(out->socket, step);
    return out->row;
}

uint64_t ath_udp_place_waiting(const struct ath_udp_place *place)
{
    const uint64_t waiting =
        place->row ? atomic_load_explicit(&place->row->waiting, memory_order_relaxed) : 0;
    return place->row && place->row->socket == place->socket ? waiting : 0;
}

bool ath_udp_place_read(const struct ath_udp_place *place, struct ath_udp_figures *out)
{
    if (!place->row)
        return false;
    out->trip_ns = atomic_load_explicit(&place->row->trip_ns, memory_order_relaxed);
#define X(name) out->name = atomic_load_explicit(&place->row->name, memory_order_relaxed);
    ATH_UDP_FIGURES(X)
#undef X
    return place->row->socket == place->socket;
}
