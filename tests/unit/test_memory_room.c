/* Memory that NVML shows to a program: the least of all limits, by the sessions of its process. */
#include "config.h"

#include "runtime/memory_room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unknown.h"
#include "proto/gpu-control.h"
#include "runtime/server.h"
#include "runtime/session_board.h"
#include "unit.h"

enum { DEVICE = 1, TOTAL = 1000, ASKS = 0 /* the slot of NVML's session */ };

static struct ath_server server;

static void setup(void)
{
    server = (struct ath_server){ .vram_fraction = 1, .identity = "alice" };
    server.board = ath_session_board_make();
    ck_assert_ptr_nonnull(server.board);
    server.devices.count = 2;
    server.devices.items[DEVICE].memory_total_bytes = TOTAL;
}

static void teardown(void)
{
    ath_session_board_free(server.board);
}

static struct ath_session_board_entry *add(size_t slot, uint32_t process, const char *host,
                                           const char *identity, int purpose)
{
    struct ath_session_board_entry *entry =
        ath_session_board_add(server.board, slot, slot + 1, "test");
    ath_session_board_note(server.board, slot, purpose, identity);
    snprintf(entry->host, sizeof entry->host, "%s", host);
    entry->process = process;
    return entry;
}

/* Adds a program's session with a limit and bytes that it has. */
static void add_program(size_t slot, uint32_t process, const char *host, const char *identity,
                        int64_t limit_bytes, int64_t used_bytes)
{
    struct ath_session_board_entry *entry =
        add(slot, process, host, identity, ATH_GPU_PURPOSE_CUDA);
    ath_session_board_limit(entry, DEVICE, limit_bytes, ATH_GPU_LIMIT_SOURCE_ASKED);
    atomic_store(&entry->used_bytes[DEVICE], used_bytes);
}

static void add_asker(void)
{
    server.entry = add(ASKS, 70, "host", "alice", ATH_GPU_PURPOSE_CONTROL);
}

/* Expects the whole device if limit_bytes is negative. */
static void expect_room(int64_t asked_bytes, int64_t limit_bytes, int64_t left_bytes)
{
    const struct ath_memory_limit asked = { .bytes = asked_bytes };
    int64_t limit = 0, left = 0;
    ck_assert_int_eq(ath_memory_room_find(&server, DEVICE, &asked, &limit, &left),
                     limit_bytes >= 0);
    if (limit_bytes < 0)
        return;
    ck_assert_int_eq(limit, limit_bytes);
    ck_assert_int_eq(left, left_bytes);
}

FIXTURE(setup, teardown);

TEST(a_program_without_a_session_has_what_it_asks_for)
{
    add_asker();
    expect_room(0, -1, 0);
    expect_room(400, 400, 400);
    server.vram_fraction = 0.25; /* the server's share is less */
    expect_room(400, 250, 250);
    server.only_counts = true;
    expect_room(400, -1, 0);
}

/* The least limit and the least rest may be those of different sessions. */
TEST(all_sessions_of_the_process_count)
{
    add_asker();
    add_program(1, 70, "host", "alice", 500, 100);
    expect_room(50, 500, 400); /* the session's limit counts in place of the asked one */
    add_program(2, 70, "host", "alice", 700, 650);
    expect_room(0, 500, 50);
    add_program(3, 70, "host", "alice", 300, 0);
    expect_room(0, 300, 50);
    add_program(4, 70, "host", "alice", 200, 250); /* a limit that was lowered */
    expect_room(0, 200, 0);
}

TEST(sessions_of_others_do_not_count)
{
    add_asker();
    add_program(1, 71, "host", "alice", 100, 0);
    add_program(2, 70, "another", "alice", 100, 0);
    add_program(3, 70, "host", "bob", 100, 0);
    expect_room(0, -1, 0);
    expect_room(600, 600, 600);
}

/* Memory of all programs is taken from the share of the server. */
TEST(the_servers_share_is_for_all)
{
    add_asker();
    server.vram_fraction = 0.5;
    add_program(1, 71, "host", "bob", ATH_UNKNOWN, 420);
    add_program(2, 70, "host", "alice", 300, 10);
    expect_room(0, 300, 70);
}
