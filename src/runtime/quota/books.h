/*
 * The books in which the wrapping functions write what a session takes. The server's sessions have
 * the board itself (runtime/board_books.h); a program with the GPU in its own process asks the
 * server by messages (cuda/local/remote_books.h).
 *
 * Devices have the server's numbers. Any thread may call these functions.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The owner of a limit: the session, all sessions of its identity, all sessions. The narrowest
 * first. */
enum ath_books_owner { ATH_BOOKS_SESSION, ATH_BOOKS_IDENTITY, ATH_BOOKS_ALL, ATH_BOOKS_OWNERS };

struct ath_books_room {
    int64_t used_bytes, limit_bytes; /* limit_bytes negative: no limit */
};

/* An answer of the books about a device. */
struct ath_books_page {
    struct ath_books_room of[ATH_BOOKS_OWNERS];
    uint32_t sessions; /* that have memory of the device */
};

/* Events of the server's log. */
enum ath_books_event {
    ATH_BOOKS_SHARE_REACHED,         /* a limit has no room */
    ATH_BOOKS_NO_MEMORY_FOR_CONTEXT, /* the GPU has none left for a context */
};

/* Groups of a device's multiprocessors that a session wants for itself, and what they are. */
struct ath_books_part {
    uint32_t groups;            /* into which the driver divides the device, at most 64 */
    uint32_t wanted;            /* of them; 0: gives its part back */
    uint32_t processors, total; /* in the wanted groups and in the device, for people */
};

struct ath_books {
    /* Takes bytes of a device. Returns false if a limit has no room for them, and the server
     * enforces limits. */
    bool (*take)(size_t device, int64_t bytes);
    /* Gives bytes back. Negative: takes what the driver has taken already, beyond limits, too. */
    void (*give)(size_t device, int64_t bytes);
    /* Notes that the session uses a device. */
    void (*note)(size_t device);
    void (*look)(size_t device, struct ath_books_page *out);
    void (*log)(enum ath_books_event event, size_t device, int64_t asked_bytes);
    /* Takes groups that no other session has. Returns a bit for each; 0: too few are free. A
     * session has one part of a device, and each call forgets the one before. */
    uint64_t (*take_part)(size_t device, const struct ath_books_part *part);

    /*
     * Shares: memory that several sessions have, which counts once. share_make() makes one of
     * memory that this session has taken, whose bytes count to the share from now on, and returns
     * its id, or 0 if there are too many. Name 0 removes the name. share_find() returns 0 if no
     * share has the name. share_hold() returns false if there is no such share any more.
     */
    uint64_t (*share_make)(size_t device, int64_t bytes);
    void (*share_name)(uint64_t share, uint64_t name);
    uint64_t (*share_find)(uint64_t name);
    bool (*share_hold)(uint64_t share);
    void (*share_drop)(uint64_t share);
    bool only_counts;         /* limits refuse nothing, and the program does not see them */
    bool has_unseen_contexts; /* primary contexts may be made past the driver's table */
};
