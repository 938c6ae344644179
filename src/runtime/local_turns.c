/* Two threads that copy wishes and grants between the program's private page and the board. */
#include "config.h"

#include "runtime/local_turns.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "turns/private_page.h"

enum { LOOK_MS = 100 };

/* One for the process, which has one session. */
static struct {
    const struct ath_turn_grant *grant;
    const _Atomic uint64_t *beat_ms;
    struct ath_turn_wish *wish; /* on the board */
    struct ath_turn_private_page *page;
    uint64_t devices;
    int arbiter_fd, read_fd;
} relay;

/* The program writes what it wants before what it gives back, so this is read the other way round:
 * a turn that was given back never hides a wish for the next one. */
static void bring_wish(void)
{
    const struct ath_turn_wish *from = &relay.page->wish;
    const uint32_t returned = atomic_load(&from->returned), left = atomic_load(&from->left);
    atomic_store(&relay.wish->devices, atomic_load(&from->devices) & relay.devices);
    atomic_store(&relay.wish->wants, atomic_load(&from->wants));
    atomic_store(&relay.wish->left, left);
    atomic_store(&relay.wish->returned, returned);
}

static void *bring_wishes(void *unused)
{
    char bytes[256];
    ssize_t count;
    while ((count = read(relay.read_fd, bytes, sizeof bytes)) > 0 || (count && errno == EINTR)) {
        bring_wish();
        (void)!write(relay.arbiter_fd, bytes, 1);
    }
    return unused;
}

static void bring_grant(void)
{
    struct ath_turn_grant *to = &relay.page->grant;
    uint32_t word = atomic_load(&relay.grant->word);
    atomic_store(&relay.page->beat_ms, atomic_load(relay.beat_ms));
    atomic_store(&to->session, atomic_load(&relay.grant->session));
    if (atomic_exchange(&to->word, word) != word)
        syscall(SYS_futex, &to->word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Returns whether the word has changed, or may have. */
static bool await_grant(uint32_t word)
{
    const struct timespec period = { .tv_nsec = LOOK_MS * 1000000L };
    return !syscall(SYS_futex, &relay.grant->word, FUTEX_WAIT, word, &period, NULL, 0) ||
           errno == EAGAIN || errno == EINTR || errno == ETIMEDOUT;
}

static void *bring_grants(void *unused)
{
    do
        bring_grant();
    while (await_grant(atomic_load(&relay.page->grant.word)));
    return unused;
}

static int make_page(struct ath_local_turns *out)
{
    enum { BYTES = sizeof(struct ath_turn_private_page) };
    out->memory = memfd_create("aitherion-turns", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (out->memory < 0 || ftruncate(out->memory, BYTES) ||
        fcntl(out->memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
        return -errno;
    void *page = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, out->memory, 0);
    if (page == MAP_FAILED)
        return -errno;
    relay.page = page;
    return 0;
}

static int make_pipe(struct ath_local_turns *out)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return -errno;
    out->read_fd = ends[0];
    out->write_fd = ends[1];
    relay.read_fd = dup(ends[0]);
    return relay.read_fd < 0 || fcntl(ends[1], F_SETFL, O_NONBLOCK) ? -errno : 0;
}

int ath_local_turns_begin(const struct ath_server *server, struct ath_session_board_entry *entry,
                          uint64_t devices, struct ath_local_turns *out)
{
    struct ath_session_board *board = server->board;
    pthread_t thread;
    *out = (struct ath_local_turns){ -1, -1, -1 };
    relay.grant = &board->turns.grants[ath_session_board_slot_of(board, entry)];
    relay.beat_ms = &board->turns.beat_ms;
    relay.wish = &entry->turn;
    relay.devices = devices;
    relay.arbiter_fd = server->turns_fd;
    int status = make_page(out);
    if (!status)
        status = make_pipe(out);
    if (!status)
        bring_grant();
    if (!status)
        status = -pthread_create(&thread, NULL, bring_wishes, NULL);
    return status ? status : -pthread_create(&thread, NULL, bring_grants, NULL);
}
