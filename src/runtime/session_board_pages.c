/* Makes the memory of the board, and leaves each process only its own pages of it to write. */
#include "config.h"

#include "runtime/session_board.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Opens the memory again: a mapping by this descriptor cannot be made writable (mprotect(2)). */
static int reopen_read_only(int fd)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* Reserves addresses for a board, whose slots are aligned to more than the kernel's page. Returns
 * MAP_FAILED if there are none. */
static void *reserve(void)
{
    size_t bytes = sizeof(struct ath_session_board);
    char *start = mmap(NULL, bytes + ATH_SESSION_BOARD_PAGE, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED)
        return start;
    size_t before = -(uintptr_t)start % ATH_SESSION_BOARD_PAGE;
    if (before)
        munmap(start, before);
    munmap(start + before + bytes, ATH_SESSION_BOARD_PAGE - before);
    return start + before;
}

struct ath_session_board *ath_session_board_make(void)
{
    struct ath_session_board *board;
    ath_auto_close int fd = memfd_create("aitherion-board", MFD_CLOEXEC);
    ath_auto_close int read_only_fd = fd < 0 ? -1 : reopen_read_only(fd);
    if (read_only_fd < 0 || ftruncate(fd, sizeof *board))
        return NULL;
    void *place = reserve();
    board = place == MAP_FAILED
                ? place
                : mmap(place, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
    if (board == MAP_FAILED)
        return NULL;
    board->fd = ath_steal_fd(&fd);
    board->read_only_fd = ath_steal_fd(&read_only_fd);
    ath_samples_init(&board->samples);
    return board;
}

void ath_session_board_free(struct ath_session_board *board)
{
    if (!board)
        return;
    close(board->fd);
    close(board->read_only_fd);
    munmap(board, sizeof *board);
}

/* Leaves only these pages of the board writable; NULL: none. Returns 0 or a negative errno. */
static int confine(struct ath_session_board *board, void *pages, size_t bytes)
{
    ath_auto_close int fd = board->fd;
    ath_auto_close int read_only_fd = board->read_only_fd;
    if (mmap(board, sizeof *board, PROT_READ, MAP_SHARED | MAP_FIXED, read_only_fd, 0) ==
        MAP_FAILED)
        return -errno;
    if (pages && mmap(pages, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
                      (char *)pages - (char *)board) == MAP_FAILED)
        return -errno;
    return 0;
}

int ath_session_board_confine(struct ath_session_board *board,
                              struct ath_session_board_entry *entry)
{
    return confine(board, entry, sizeof(struct ath_session_board_slot));
}

/* The parts behind the counts of UDP, the samples and the turns begin with pages of their own. */
int ath_session_board_confine_udp(struct ath_session_board *board)
{
    return confine(board, &board->udp, (size_t)((char *)&board->samples - (char *)&board->udp));
}

int ath_session_board_confine_sampler(struct ath_session_board *board)
{
    return confine(board, &board->samples,
                   (size_t)((char *)&board->turns - (char *)&board->samples));
}

int ath_session_board_confine_arbiter(struct ath_session_board *board)
{
    return confine(board, &board->turns, (size_t)((char *)board->slots - (char *)&board->turns));
}
