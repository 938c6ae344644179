/* A table of identities and their user ids. */
#include "config.h"

#include "runtime/sandbox/users.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum {
    LEAST_IDS = 1024, /* a namespace with fewer ids has none to spare */
    NOBODY = 65534,   /* the user without files, and -1 of 16 bits */
};

static const uint32_t unassigned_first = 0x70000000, unassigned_count = 0x0ffe0000;

/* Finds the largest range of a map. Returns true if the map has the whole unassigned range. */
static bool read_map(const char *map, uint64_t *out_first, uint64_t *out_count)
{
    uint64_t first, outside, count;
    int length;
    *out_count = 0;
    /* NOLINTNEXTLINE(cert-err34-c): numbers that do not fit are left out */
    for (; sscanf(map, " %" SCNu64 " %" SCNu64 " %" SCNu64 "%n", &first, &outside, &count,
                  &length) == 3;
         map += length) {
        if (first > UINT32_MAX || count > UINT32_MAX)
            continue;
        if (first <= unassigned_first &&
            first + count >= (uint64_t)unassigned_first + unassigned_count)
            return true;
        if (count > *out_count) {
            *out_first = first;
            *out_count = count;
        }
    }
    return false;
}

void ath_sandbox_users_init(struct ath_sandbox_users *users, const char *uid_map)
{
    uint64_t first = 0, count;
    *users = (struct ath_sandbox_users){ .first = unassigned_first, .count = unassigned_count };
    if (read_map(uid_map, &first, &count))
        return;
    users->count = 0;
    if (count < LEAST_IDS || first + count > UINT32_MAX)
        return;
    uint64_t begin = first + count / 2, end = first + count;
    if (begin <= NOBODY && end > NOBODY)
        end = NOBODY;
    users->first = (uid_t)begin;
    users->count = (uid_t)(end - begin);
}

void ath_sandbox_users_free(struct ath_sandbox_users *users)
{
    free(users->items);
    *users = (struct ath_sandbox_users){ 0 };
}

/* FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/). */
static uint64_t hash(const char *text)
{
    uint64_t value = 0xcbf29ce484222325u;
    for (; *text; text++)
        value = (value ^ (unsigned char)*text) * 0x100000001b3u;
    return value;
}

static bool is_taken(const struct ath_sandbox_users *users, uid_t id)
{
    for (size_t i = 0; i < users->item_count; i++)
        if (users->items[i].id == id)
            return true;
    return false;
}

uid_t ath_sandbox_users_find(struct ath_sandbox_users *users, const char *identity)
{
    for (size_t i = 0; i < users->item_count; i++)
        if (!strcmp(users->items[i].identity, identity))
            return users->items[i].id;
    if (users->item_count >= users->count)
        return (uid_t)-1;
    uint32_t at = (uint32_t)(hash(identity) % users->count);
    while (is_taken(users, users->first + at))
        at = (at + 1) % users->count;
    struct ath_sandbox_user *user = ath_push(&users->items, &users->item_count, sizeof *user);
    snprintf(user->identity, sizeof user->identity, "%s", identity);
    user->id = users->first + at;
    return user->id;
}
