/* Memory that NVML shows to a program: the least of all limits, by the sessions of its process. */
#include "config.h"

#include "runtime/memory_room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unknown.h"
#include "proto/gpu-control.h"
#include "runtime/memory_limits.h"
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

/* ---- what a session may have from its first allocation on ---- */

enum { LIMITED = 3, KNOWN = 4 }; /* devices: the memory of the last one is not known */

static struct ath_session_board_entry *limited(const size_t *devices, size_t count,
                                               struct ath_memory_limit asked)
{
    server.devices.count = KNOWN + 1;
    for (size_t i = 0; i < KNOWN; i++)
        server.devices.items[i].memory_total_bytes = (int64_t)(TOTAL * (i + 1));
    server.devices.items[KNOWN].memory_total_bytes = ATH_UNKNOWN;
    struct ath_session_board_entry *entry = add(1, 70, "host", "alice", ATH_GPU_PURPOSE_CUDA);
    ath_memory_limits_begin(&server, entry, devices, count, &asked);
    return entry;
}

static void expect_limits(const struct ath_session_board_entry *entry, const int64_t *wanted)
{
    for (size_t i = 0; i <= KNOWN; i++) {
        ck_assert_int_eq(atomic_load(&entry->limit_bytes[i]), wanted[i]);
        ck_assert_int_eq(atomic_load(&entry->limit_source[i]) == ATH_GPU_LIMIT_SOURCE_ASKED,
                         wanted[i] != ATH_UNKNOWN);
    }
}

TEST(only_the_devices_of_a_program_are_limited)
{
    const size_t devices[] = { 1, LIMITED, KNOWN };
    expect_limits(limited(devices, 2, (struct ath_memory_limit){ .bytes = 50 }),
                  (const int64_t[]){ ATH_UNKNOWN, 50, ATH_UNKNOWN, 50, ATH_UNKNOWN });
    ath_session_board_remove(server.board, 1);
    expect_limits(limited(devices, 3, (struct ath_memory_limit){ .fraction = 0.5 }),
                  (const int64_t[]){ ATH_UNKNOWN, TOTAL, ATH_UNKNOWN, 2 * TOTAL, ATH_UNKNOWN });
    ath_session_board_remove(server.board, 1);
    expect_limits(limited(devices, 3, (struct ath_memory_limit){ 0 }),
                  (const int64_t[]){ -1, -1, -1, -1, -1 });
}

TEST(all_sessions_have_the_servers_share)
{
    int64_t used = 0, limit = 0;
    server.devices.items[0].memory_total_bytes = ATH_UNKNOWN;
    ck_assert_int_eq(ath_memory_limits_all(&server, DEVICE), ATH_UNKNOWN);
    server.vram_fraction = 0.5;
    ck_assert_int_eq(ath_memory_limits_all(&server, DEVICE), TOTAL / 2);
    ck_assert_int_eq(ath_memory_limits_all(&server, 0), ATH_UNKNOWN);
    ck_assert_int_eq(ath_memory_limits_all(&server, server.devices.count), ATH_UNKNOWN);
    add_program(1, 70, "host", "alice", ATH_UNKNOWN, 100);
    add_program(2, 71, "host", "bob", ATH_UNKNOWN, 20);
    ath_memory_limits_of_device(&server, DEVICE, &used, &limit);
    ck_assert_int_eq(used, 120);
    ck_assert_int_eq(limit, TOTAL / 2);
    atomic_store(&server.board->vram_fraction, 0.25); /* set while the server runs */
    ck_assert_int_eq(ath_memory_limits_all(&server, DEVICE), TOTAL / 4);
    atomic_store(&server.board->vram_fraction, 1);
    ck_assert_int_eq(ath_memory_limits_all(&server, DEVICE), ATH_UNKNOWN);
}
