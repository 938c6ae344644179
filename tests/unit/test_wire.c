/* The wire: messages that are right and wrong, frames, proofs, and a whole session over a socket
 * pair. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "nvml/api/nvml_types.h"
#include "patience.h"
#include "proto/control.h"
#include "proto/nvml-functions.h"
#include "proto/nvml-wire.h"
#include "remote/session/health.h"
#include "remote/session/servers.h"
#include "runtime/process_table.h"
#include "runtime/session.h"
#include "tree.h"
#include "unit.h"

static struct ath_err err;

/* ---- messages ---- */

static struct ath_wire_builder builder;

static void setup(void)
{
    builder = (struct ath_wire_builder){ .max_bytes = 1 << 20 };
    err = (struct ath_err){ 0 };
}

static void teardown(void)
{
    ath_wire_builder_free(&builder);
}

static const uint8_t *built(size_t *out_length)
{
    int status;
    const uint8_t *bytes = ath_wire_finish(&builder, out_length, &status);
    ck_assert_ptr_nonnull(bytes);
    return bytes;
}

static void build_hello(uint32_t protocol)
{
    static const uint8_t nonce[ATH_NONCE_BYTES] = { 1, 2, 3 };
    struct ath_control_hello_builder hello =
        ath_control_message_init_hello(ath_control_message_start(&builder));
    ath_control_hello_set_protocol(hello, protocol);
    ath_control_hello_set_software(hello, "test");
    ath_control_hello_set_nonce(hello, (struct ath_wire_bytes){ nonce, sizeof nonce });
}

/* The bytes that capnp 0.9 writes for (failure = (code = notFound, message = "no")), spelt out. */
FIXTURE(setup, teardown);

TEST(writes_what_the_encoding_says)
{
    static const uint8_t wanted[] = {
        0,   0,   0, 0, 7,  0, 0, 0, /* one segment of 7 words */
        0,   0,   0, 0, 2,  0, 1, 0, /* root: 2 words of data, 1 pointer */
        15,  0,   0, 0, 0,  0, 0, 0, /* the union's tag: failure */
        0,   0,   0, 0, 0,  0, 0, 0, /* no other data */
        0,   0,   0, 0, 1,  0, 1, 0, /* failure: 1 word of data, 1 pointer */
        2,   0,   0, 0, 0,  0, 0, 0, /* notFound */
        1,   0,   0, 0, 26, 0, 0, 0, /* text of 3 bytes */
        'n', 'o', 0, 0, 0,  0, 0, 0,
    };
    struct ath_common_failure_builder failure =
        ath_control_message_init_failure(ath_control_message_start(&builder));
    size_t length;
    ath_common_failure_set_code(failure, ATH_COMMON_FAILURE_CODE_NOT_FOUND);
    ath_common_failure_set_message(failure, "no");
    const uint8_t *bytes = built(&length);
    ck_assert_uint_eq(length, sizeof wanted);
    ck_assert_mem_eq(bytes, wanted, length);
}

/* Lent data lies behind the rest of the message, as data that is copied last does, so the bytes are
 * the same. */
TEST(lends_its_end)
{
    static const uint8_t data[] = "thirty-five bytes, no whole words..";
    static const uint8_t zeros[ATH_WIRE_WORD];
    uint8_t wanted[256], parts[256];
    size_t length = 0, own = 0;

    for (int is_lent = 0; is_lent < 2; is_lent++) {
        struct ath_control_hello_builder hello =
            ath_control_message_init_hello(ath_control_message_start(&builder));
        ath_control_hello_set_software(hello, "test");
        if (is_lent)
            ath_wire_lend(&builder, sizeof data - 1);
        ath_control_hello_set_nonce(hello, (struct ath_wire_bytes){ data, sizeof data - 1 });
        size_t *to = is_lent ? &own : &length;
        const uint8_t *bytes = built(to);
        memcpy(is_lent ? parts : wanted, bytes, *to);
    }
    size_t padding = ath_wire_lent_padding(builder.lent);
    ck_assert_ptr_eq(builder.lent.data, data);
    ck_assert_uint_eq(own + sizeof data - 1 + padding, length);
    memcpy(parts + own, data, sizeof data - 1);
    memcpy(parts + length - padding, zeros, padding);
    ck_assert_mem_eq(parts, wanted, length);
    /* Data below the given size is copied, and the next message lends nothing. */
    build_hello(1);
    built(&own);
    ck_assert_uint_eq(builder.lent.length, 0);
}

TEST(takes_a_finished_message_in_place_of_its_own)
{
    static uint8_t wanted[1024];
    size_t length, again;
    build_hello(1);
    const uint8_t *bytes = built(&length);
    ck_assert_uint_le(length, sizeof wanted);
    memcpy(wanted, bytes, length);
    (void)ath_control_message_start(&builder);
    ath_wire_replace(&builder, wanted, length);
    bytes = built(&again);
    ck_assert_uint_eq(again, length);
    ck_assert_mem_eq(bytes, wanted, length);
}

TEST(takes_no_message_of_another_shape)
{
    static uint8_t other[1024];
    size_t length;
    int status;
    build_hello(1);
    memcpy(other, built(&length), sizeof(uint64_t) * 4);
    for (int step = 0; step < 3; step++) {
        (void)ath_control_message_start(&builder);
        if (step == 2)
            other[ATH_WIRE_WORD] ^= 4;
        ath_wire_replace(&builder, other, step == 0 ? ATH_WIRE_WORD : step == 1 ? 33 : length);
        ck_assert_ptr_null(ath_wire_finish(&builder, &length, &status));
        ck_assert_int_eq(status, -EMSGSIZE);
    }
    size_t small = builder.max_bytes;
    builder.max_bytes = 64;
    (void)ath_control_message_start(&builder);
    other[ATH_WIRE_WORD] ^= 4;
    ath_wire_replace(&builder, other, 128);
    ck_assert_ptr_null(ath_wire_finish(&builder, &length, &status));
    ck_assert_int_eq(status, -EMSGSIZE);
    builder.max_bytes = small;
}

TEST(refuses_to_lend_more_than_a_message_can_have)
{
    static const uint8_t data[64];
    int status;
    size_t length;
    builder.max_bytes = 64;
    struct ath_control_hello_builder hello =
        ath_control_message_init_hello(ath_control_message_start(&builder));
    ath_wire_lend(&builder, 1);
    ath_control_hello_set_nonce(hello, (struct ath_wire_bytes){ data, sizeof data });
    ck_assert_ptr_null(ath_wire_finish(&builder, &length, &status));
    ck_assert_int_eq(status, -EMSGSIZE);
}

TEST(reads_what_it_wrote)
{
    struct ath_control_message message;
    size_t length;

    build_hello(77);
    const uint8_t *bytes = built(&length);
    ck_assert_int_eq(ath_control_message_open(bytes + 8, length - 8, &message), 0);
    ck_assert_int_eq(ath_control_message_which(message), ATH_CONTROL_MESSAGE_HELLO);
    struct ath_control_hello hello = ath_control_message_hello(message);
    ck_assert_uint_eq(ath_control_hello_protocol(hello), 77);
    ck_assert_str_eq(ath_control_hello_software(hello), "test");
    ck_assert_uint_eq(ath_control_hello_nonce(hello).length, ATH_NONCE_BYTES);
    ck_assert_uint_eq(ath_control_hello_nonce(hello).data[2], 3);
    /* Another member of the union is not there, and has its defaults. */
    ck_assert_str_eq(ath_control_refusal_message(ath_control_message_refusal(message)), "");
    struct ath_control_health health = ath_control_message_health(message);
    ck_assert_double_eq(ath_control_health_vram_fraction(health), 1.0);
}

TEST(gives_defaults_for_what_an_older_peer_did_not_send)
{
    static const uint8_t empty_root[8] = { 0xfc, 0xff, 0xff, 0xff };
    static const uint8_t null_root[8];
    struct ath_control_health health;
    ck_assert_int_eq(ath_control_health_open(empty_root, sizeof empty_root, &health), 0);
    ck_assert_double_eq(ath_control_health_vram_fraction(health), 1.0);
    ck_assert_uint_eq(ath_control_health_devices(health).count, 0);
    ck_assert_int_eq(ath_control_health_open(null_root, sizeof null_root, &health), 0);
    ck_assert_str_eq(ath_control_health_software(health), "");
}

/* A pointer word: low half, high half. */
struct wrong {
    const char *what;
    uint32_t words[8][2];
    size_t count;
};

/* Root words of Refusal (1 word of data, 1 pointer), as messages for it. */
#define ROOT                                                                                       \
    {                                                                                              \
        0, 1 | 1 << 16                                                                             \
    }
static const struct wrong wrongs[] = {
    { "no word", { { 0 } }, 0 },
    { "root beyond the end", { { 4, 1 | 1 << 16 }, { 0 }, { 0 } }, 3 },
    { "root before the beginning", { { 0xfffffff0, 1 | 1 << 16 }, { 0 }, { 0 } }, 3 },
    { "root too large", { { 0, 1 | 9 << 16 }, { 0 }, { 0 } }, 3 },
    { "root is a list", { { 1, 1 << 3 | 5 }, { 0 }, { 0 } }, 3 },
    { "far pointer", { { 2, 0 }, { 0 }, { 0 } }, 3 },
    { "far root to itself", { { 2 | 0 << 3, 0 } }, 1 },
    { "capability", { ROOT, { 0 }, { 3, 0 } }, 3 },
    { "text beyond the end", { ROOT, { 0 }, { 1 | 8 << 2, 3 << 3 | 2 }, { 0 } }, 4 },
    { "text without NUL", { ROOT, { 0 }, { 1, 3 << 3 | 2 }, { 0x61616161, 0 } }, 4 },
    { "text of no bytes", { ROOT, { 0 }, { 1, 0 << 3 | 2 }, { 0 } }, 4 },
    { "text is a struct", { ROOT, { 0 }, { 0, 1 }, { 0 } }, 4 },
    { "text is a list of words", { ROOT, { 0 }, { 1, 1 << 3 | 5 }, { 0 } }, 4 },
    { "text too long", { ROOT, { 0 }, { 1, 0xfffffffa }, { 0 } }, 4 },
    { "text over its own pointer's struct, twice",
      { ROOT, { 0 }, { 0xfffffff5, 33 << 3 | 2 }, { 0 } },
      4 },
    { "root ends one word beyond", { { 0, 1 | 2 << 16 }, { 0 }, { 0 } }, 3 },
    { "root begins one word beyond", { { 3 << 2, 0 }, { 0 }, { 0 } }, 3 },
    { "root begins one word before", { { 0xfffffff8, 0 }, { 0 }, { 0 } }, 3 },
    { "text ends one word beyond", { ROOT, { 0 }, { 1, 9 << 3 | 2 }, { 0 } }, 4 },
    { "text without NUL in its last word", { ROOT, { 0 }, { 1, 8 << 3 | 2 }, { 0, 1u << 24 } }, 4 },
};

/* Opens the message in memory of its exact size, so that a sanitizer sees each read beyond. */
static int open_words(const struct wrong *words, struct ath_control_refusal *out)
{
    uint8_t *bytes = calloc(words->count + 1, 8);
    size_t length = words->count * 8;
    ck_assert_ptr_nonnull(bytes);
    for (size_t i = 0; i < words->count * 2; i++) {
        uint32_t half = htole32(words->words[i / 2][i % 2]);
        memcpy(bytes + i * 4, &half, 4);
    }
    int status = ath_control_refusal_open(bytes, length, out);
    if (status) {
        /* Other bytes behind the end make no difference. */
        memset(bytes + length, 0xff, 8);
        ck_assert_int_eq(ath_control_refusal_open(bytes, length, out), status);
    }
    bytes = realloc(bytes, length ? length : 1);
    ck_assert_int_eq(ath_control_refusal_open(bytes, length, out), status);
    free(bytes);
    return status;
}

LOOP_TEST(refuses_wrong_messages, 0, ATH_COUNT(wrongs))
{
    struct ath_control_refusal refusal;
    ck_assert_msg(open_words(&wrongs[_i], &refusal) == -EBADMSG, "%s", wrongs[_i].what);
}

/* Messages whose last word is used. */
static const struct wrong rights[] = {
    { "all of it null", { { 0 } }, 1 },
    { "root ends with the message", { ROOT, { 0 }, { 0 } }, 3 },
    { "root of no words behind the last one", { { 2 << 2, 0 }, { 0 }, { 0 } }, 3 },
    { "text of a word ends with the message", { ROOT, { 0 }, { 1, 8 << 3 | 2 }, { 0 } }, 4 },
    { "text of two words ends with the message",
      { ROOT, { 0 }, { 1, 16 << 3 | 2 }, { 0 }, { 0 } },
      5 },
    { "text before a word that nothing points at",
      { ROOT, { 0 }, { 1, 8 << 3 | 2 }, { 0 }, { 0 } },
      5 },
};

LOOP_TEST(reads_up_to_the_last_word, 0, ATH_COUNT(rights))
{
    struct ath_control_refusal refusal;
    ck_assert_msg(!open_words(&rights[_i], &refusal), "%s", rights[_i].what);
}

/* Every list item points at the same large text: 1,000 times its size, if that were allowed. */
TEST(refuses_amplification)
{
    enum { ITEMS = 1000 };
    uint32_t words[3 + ITEMS * 3 + 1][2] = { { 0, 0 | 1 << 16 }, { 1, (ITEMS * 3) << 3 | 7 } };
    struct ath_gpu_device_list list;

    words[2][0] = ITEMS << 2; /* the tag: items of no data and 3 pointers */
    words[2][1] = 3 << 16;
    for (uint32_t i = 0; i < ITEMS * 3; i++) {
        words[3 + i][0] = (ITEMS * 3 - i - 1) << 2 | 1;
        words[3 + i][1] = 8 << 3 | 2;
    }
    ck_assert_int_eq(ath_gpu_device_list_open((const uint8_t *)words, sizeof words, &list),
                     -EBADMSG);
    for (uint32_t i = 1; i < ITEMS * 3; i++)
        words[3 + i][0] = words[3 + i][1] = 0;
    ck_assert_int_eq(ath_gpu_device_list_open((const uint8_t *)words, sizeof words, &list), 0);
    ck_assert_uint_eq(ath_gpu_device_list_devices(list).count, ITEMS);
}

/* Items without size cost a message nothing, and so are counted. */
TEST(refuses_a_flood_of_empty_items)
{
    uint32_t words[3][2] = { { 0, 0 | 1 << 16 }, { 1, 0 << 3 | 7 }, { 0x1fffffff << 2, 0 } };
    struct ath_gpu_device_list list;
    ck_assert_int_eq(ath_gpu_device_list_open((const uint8_t *)words, sizeof words, &list),
                     -EBADMSG);
    words[2][0] = ATH_WIRE_EMPTY_ITEMS_MAX << 2;
    ck_assert_int_eq(ath_gpu_device_list_open((const uint8_t *)words, sizeof words, &list), 0);
}

TEST(refuses_to_build_too_much)
{
    size_t length;
    int status;

    builder.max_bytes = 64;
    build_hello(1);
    ck_assert_ptr_null(ath_wire_finish(&builder, &length, &status));
    ck_assert_int_eq(status, -EMSGSIZE);
    builder.max_bytes = 4096; /* and the builder is as new */
    build_hello(1);
    ck_assert_ptr_nonnull(ath_wire_finish(&builder, &length, &status));

    struct ath_wire_array array = ath_gpu_device_list_init_devices(
        ath_control_message_init_devices(ath_control_message_start(&builder)), 0x1fffffff);
    ath_gpu_device_set_name(ath_gpu_device_place(array, 5), "nowhere");
    ck_assert_ptr_null(ath_wire_finish(&builder, &length, &status));
}

TEST(refuses_an_item_beyond_the_end)
{
    size_t length;
    int status;
    struct ath_wire_array array = ath_gpu_device_list_init_devices(
        ath_control_message_init_devices(ath_control_message_start(&builder)), 1);
    ath_gpu_device_set_name(ath_gpu_device_place(array, 1), "nowhere");
    ck_assert_ptr_null(ath_wire_finish(&builder, &length, &status));
}

/* ---- frames ---- */

static int ends[2];
static struct ath_frame frame;

static void setup_pair(void)
{
    setup();
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
}

static void teardown_pair(void)
{
    close(ends[0]);
    close(ends[1]);
    ath_frame_free(&frame);
    teardown();
}

static void put(const void *bytes, size_t length)
{
    ck_assert_int_eq(send(ends[0], bytes, length, MSG_NOSIGNAL), (ssize_t)length);
}

static int get(size_t max_bytes, unsigned int timeout_ms)
{
    return ath_frame_read(ends[1], max_bytes, ath_now_ms() + timeout_ms, &frame, &err);
}

FIXTURE(setup_pair, teardown_pair);

TEST(passes_frames)
{
    size_t length;
    build_hello(3);
    const uint8_t *bytes = built(&length);
    ck_assert_int_eq(ath_frame_write(ends[0], bytes, length, ath_now_ms() + PATIENCE_MS, &err), 0);
    ck_assert_int_eq(ath_frame_write(ends[0], bytes, length, ath_now_ms() + PATIENCE_MS, &err), 0);
    ck_assert_int_eq(get(4096, PATIENCE_MS), 0);
    ck_assert_int_eq(get(4096, PATIENCE_MS), 0);
    ck_assert_uint_eq(frame.length, length);
    ck_assert_mem_eq(frame.bytes, bytes, length);
}

TEST(refuses_wrong_frames)
{
    static const uint32_t two_segments[] = { 1, 1, 1, 0 }, large[] = { 0, 511 },
                          huge[] = { 0, ~0u };

    put(two_segments, sizeof two_segments);
    ck_assert_int_eq(get(4096, PATIENCE_MS), -EBADMSG);
    ck_assert_int_eq(get(4096, PATIENCE_MS), -EBADMSG); /* what is left is no frame either */
    put(large, sizeof large);
    ck_assert_int_eq(get(4095, PATIENCE_MS), -EMSGSIZE);
    put(huge, sizeof huge);
    ck_assert_int_eq(get(1 << 20, PATIENCE_MS), -EMSGSIZE);
}

TEST(reads_a_frame_of_the_largest_size)
{
    static const uint32_t words[] = { 0, 2, 1, 2, 3, 4 };

    put(words, sizeof words);
    ck_assert_int_eq(get(sizeof words, PATIENCE_MS), 0);
    ck_assert_uint_eq(frame.length, sizeof words);
    ck_assert_mem_eq(frame.bytes, words, sizeof words);
    put(words, sizeof words);
    ck_assert_int_eq(get(sizeof words - 1, PATIENCE_MS), -EMSGSIZE);
}

TEST(tells_a_cut_off_frame_from_an_end)
{
    static const uint32_t head[] = { 0, 2 };
    put(head, sizeof head);
    put(head, 4);
    shutdown(ends[0], SHUT_WR);
    ck_assert_int_eq(get(4096, PATIENCE_MS), -EBADMSG);
    ck_assert_int_eq(get(4096, PATIENCE_MS), -ENODATA);
}

TEST(waits_no_longer_than_allowed)
{
    uint64_t begin = ath_now_ms();
    ck_assert_int_eq(get(4096, 100), -ETIMEDOUT);
    put("\0\0\0", 3);
    ck_assert_int_eq(get(4096, 100), -ETIMEDOUT);
    ck_assert_uint_lt(ath_now_ms() - begin, PATIENCE_MS);

    static const uint8_t much[1 << 20];
    ck_assert_int_eq(ath_frame_write(ends[0], much, sizeof much, ath_now_ms() + 100, &err),
                     -ETIMEDOUT);
}

/* Byte after byte of a frame, which would be whole in the end, until the reader has enough of it.
 */
static void *trickle(void *argument)
{
    const atomic_bool *is_over = argument;
    static const uint32_t head[] = { 0, 100 };
    send(ends[0], head, sizeof head, MSG_NOSIGNAL);
    for (int i = 0; i < 800 && !atomic_load(is_over); i++) {
        send(ends[0], "x", 1, MSG_NOSIGNAL);
        usleep(10000);
    }
    return NULL;
}

TEST(a_slow_trickle_does_not_extend_the_deadline)
{
    pthread_t thread;
    atomic_bool is_over = false;
    pthread_create(&thread, NULL, trickle, &is_over);
    int status = get(4096, LIMIT_MS);
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    ck_assert_int_eq(status, -ETIMEDOUT);
}

/* ---- keys ---- */

static struct tree tree;

FIXTURE(setup, teardown);

TEST(reads_keys)
{
    ATH_AUTO(ath_secret) secret = { 0 };
    static const uint8_t any[] = { 0, 0xff, '\n', 0 };
    char path[128];

    tree_make(&tree);
    snprintf(path, sizeof path, "%s/key", tree.path);
    tree_put_bytes(path, any, sizeof any);
    ck_assert_int_eq(ath_secret_load(path, &secret, &err), 0);
    ck_assert_uint_eq(secret.length, sizeof any);
    ck_assert_mem_eq(secret.bytes, any, sizeof any);
    tree_put(&tree, "", "empty");
    snprintf(path, sizeof path, "%s/empty", tree.path);
    ath_secret_free(&secret);
    ck_assert_int_lt(ath_secret_load(path, &secret, &err), 0);
    ck_assert_int_eq(err.code, ATH_E_KEY_FILE);
    snprintf(path, sizeof path, "%s/missing", tree.path);
    ck_assert_int_lt(ath_secret_load(path, &secret, &err), 0);
    ck_assert_int_eq(err.code, ATH_E_NOT_FOUND);
    ck_assert_ptr_null(secret.bytes);
    tree_remove(&tree);
}

/* The key named "default" comes first, then the names decide. */
TEST(finds_the_key_of_a_folder)
{
    static const char *const names[] = { "m", "z", "b", "x.bak", ".a" };
    char path[128], found[256], wanted[256];

    unsetenv("AITHERION_KEY_NAME");
    tree_make(&tree);
    for (size_t i = 0; i < ATH_COUNT(names); i++)
        tree_put(&tree, "key", "keys/%s", names[i]);
    snprintf(path, sizeof path, "%s/keys", tree.path);
    ck_assert_int_eq(ath_secret_find(path, found, sizeof found, &err), 0);
    snprintf(wanted, sizeof wanted, "%s/b", path);
    ck_assert_str_eq(found, wanted);
    tree_put(&tree, "key", "keys/%s", ATH_KEY_NAME_DEFAULT);
    ck_assert_int_eq(ath_secret_find(path, found, sizeof found, &err), 0);
    snprintf(wanted, sizeof wanted, "%s/%s", path, ATH_KEY_NAME_DEFAULT);
    ck_assert_str_eq(found, wanted);
    setenv("AITHERION_KEY_NAME", "z", 1);
    ck_assert_int_eq(ath_secret_find(path, found, sizeof found, &err), 0);
    snprintf(wanted, sizeof wanted, "%s/z", path);
    ck_assert_str_eq(found, wanted);
    size_t length = strlen(wanted);
    ck_assert_int_eq(ath_secret_find(path, found, length + 1, &err), 0);
    ck_assert_int_eq(ath_secret_find(path, found, length, &err), -ENAMETOOLONG);
    setenv("AITHERION_KEY_NAME", "a", 1);
    ck_assert_int_eq(ath_secret_find(path, found, sizeof found, &err), -ENOENT);
    unsetenv("AITHERION_KEY_NAME");
    tree_remove(&tree);
}

TEST(wants_long_keys_that_no_other_user_can_change)
{
    static const struct {
        size_t length;
        mode_t mode;
        int status;
    } cases[] = { { ATH_SECRET_BYTES_MIN, 0600, 0 },
                  { ATH_SECRET_BYTES_MIN, 0644, 0 },
                  { ATH_SECRET_BYTES_MIN - 1, 0600, -EINVAL },
                  { ATH_SECRET_BYTES_MIN, 0620, -EPERM },
                  { ATH_SECRET_BYTES_MIN, 0602, -EPERM } };
    char path[128];

    tree_make(&tree);
    tree_put(&tree, "key", "key");
    snprintf(path, sizeof path, "%s/key", tree.path);
    for (size_t i = 0; i < ATH_COUNT(cases); i++) {
        const struct ath_secret secret = { .length = cases[i].length };
        ck_assert_int_eq(chmod(path, cases[i].mode), 0);
        ck_assert_int_eq(ath_secret_check_file(path, &secret, &err), cases[i].status);
    }
    tree_remove(&tree);
}

/* The HMAC is over what proto/control.capnp says: the expected bytes were made with Python's hmac
 * module, hmac.new(b"key", b"aitherion client 1\0" + pack("<Q", 3) + b"abc" + pack("<Q", 2) +
 * b"de", "sha256"), and for the server's with its label and the client's proof behind. */
TEST(proves_as_the_protocol_says)
{
    static const uint8_t client_wanted[ATH_PROOF_BYTES] = {
        0xba, 0xb4, 0x2c, 0xac, 0xfa, 0x85, 0x2b, 0x7b, 0x57, 0xee, 0xc6,
        0x98, 0x4d, 0xdd, 0xac, 0x22, 0x48, 0x8d, 0x24, 0x78, 0x71, 0x5b,
        0xf3, 0x52, 0xcf, 0xe4, 0xf9, 0x17, 0x04, 0x50, 0x0e, 0x9a
    };
    static const uint8_t server_wanted[ATH_PROOF_BYTES] = {
        0x3e, 0xdb, 0x2e, 0xc1, 0x1e, 0xee, 0x27, 0x50, 0x14, 0x84, 0x9a,
        0xe1, 0xdc, 0x3f, 0x1e, 0xee, 0xed, 0x6b, 0x58, 0x95, 0x47, 0x2c,
        0x09, 0xe1, 0x5a, 0x22, 0xc4, 0xc4, 0xd1, 0x58, 0x63, 0xd0
    };
    const struct ath_secret secret = { .bytes = (uint8_t[]){ 'k', 'e', 'y' }, .length = 3 };
    const struct ath_frame hello = { (uint8_t[]){ 'a', 'b', 'c' }, 3, 3 };
    const struct ath_frame challenge = { (uint8_t[]){ 'd', 'e' }, 2, 2 };
    struct ath_transcript transcript = { .hello = &hello, .challenge = &challenge };
    uint8_t client[ATH_PROOF_BYTES], server[ATH_PROOF_BYTES];

    ath_secret_prove(&secret, ATH_SIDE_CLIENT, &transcript, client);
    ck_assert_mem_eq(client, client_wanted, sizeof client);
    ck_assert(ath_secret_check(&secret, ATH_SIDE_CLIENT, &transcript, client, sizeof client));
    ck_assert(!ath_secret_check(&secret, ATH_SIDE_CLIENT, &transcript, client, 31));
    ck_assert(!ath_secret_check(&secret, ATH_SIDE_CLIENT, &transcript, NULL, 0));
    transcript.client_proof = client;
    ath_secret_prove(&secret, ATH_SIDE_SERVER, &transcript, server);
    ck_assert_mem_eq(server, server_wanted, sizeof server);
    client[31] ^= 1;
    ck_assert(!ath_secret_check(&secret, ATH_SIDE_SERVER, &transcript, server, sizeof server));
}

/* Each bit of a proof counts, and each byte that it is about. */
LOOP_TEST(a_proof_is_right_in_every_bit, 0, 2)
{
    const struct ath_secret secret = { .bytes = (uint8_t[]){ 'k', 'e', 'y' }, .length = 3 };
    uint8_t said[] = { 'a', 'b', 'c', 'd', 'e' }, client[ATH_PROOF_BYTES];
    const struct ath_frame hello = { said, 3, 3 }, challenge = { said + 3, 2, 2 };
    struct ath_transcript transcript = { .hello = &hello, .challenge = &challenge };
    enum ath_side side = _i ? ATH_SIDE_SERVER : ATH_SIDE_CLIENT;
    uint8_t proof[ATH_PROOF_BYTES];

    ath_secret_prove(&secret, ATH_SIDE_CLIENT, &transcript, client);
    transcript.client_proof = _i ? client : NULL;
    ath_secret_prove(&secret, side, &transcript, proof);
    for (size_t bit = 0; bit < 8 * sizeof proof; bit++) {
        proof[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ck_assert(!ath_secret_check(&secret, side, &transcript, proof, sizeof proof));
        proof[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t length = 0; length < sizeof proof; length++)
        ck_assert(!ath_secret_check(&secret, side, &transcript, proof, length));
    for (size_t i = 0; i < sizeof said; i++) {
        said[i] ^= 1;
        ck_assert(!ath_secret_check(&secret, side, &transcript, proof, sizeof proof));
        said[i] ^= 1;
    }
    for (size_t i = 0; _i && i < sizeof client; i++) {
        client[i] ^= 1;
        ck_assert(!ath_secret_check(&secret, side, &transcript, proof, sizeof proof));
        client[i] ^= 1;
    }
    ck_assert(ath_secret_check(&secret, side, &transcript, proof, sizeof proof));
    ck_assert(!ath_secret_check(&secret, _i ? ATH_SIDE_CLIENT : ATH_SIDE_SERVER, &transcript, proof,
                                sizeof proof));
}

/* With a key and without. A ticket is good for one session, a proof for one connection of it. */
LOOP_TEST(a_ticket_is_right_in_every_bit, 0, 2)
{
    enum { NUMBER = 0x01020304 };
    const struct ath_secret secret = { .bytes = (uint8_t[]){ 'k' }, .length = _i ? 1 : 0 };
    uint8_t said[] = { 'a', 'b', 'c', 'd', 'e' }, proof[ATH_PROOF_BYTES];
    const struct ath_frame hello = { said, 3, 3 }, challenge = { said + 3, 2, 2 };
    struct ath_ticket ticket, other;

    ath_ticket_make(&secret, &hello, &challenge, NULL, &ticket);
    ath_ticket_prove(&ticket, NUMBER, proof);
    ck_assert(ath_ticket_check(&ticket, NUMBER, proof, sizeof proof));
    for (size_t bit = 0; bit < 8 * sizeof proof; bit++) {
        proof[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ck_assert(!ath_ticket_check(&ticket, NUMBER, proof, sizeof proof));
        proof[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (int bit = 0; bit < 32; bit++)
        ck_assert(!ath_ticket_check(&ticket, NUMBER ^ (UINT32_C(1) << bit), proof, sizeof proof));
    for (size_t length = 0; length < sizeof proof; length++)
        ck_assert(!ath_ticket_check(&ticket, NUMBER, proof, length));
    for (size_t i = 0; i < sizeof said; i++) {
        said[i] ^= 1;
        ath_ticket_make(&secret, &hello, &challenge, NULL, &other);
        ck_assert(!ath_ticket_check(&other, NUMBER, proof, sizeof proof));
        said[i] ^= 1;
    }
}

/* ---- sessions ---- */

/* A server on one end of a pair, in a thread; the other end is driven frame by frame. */
static struct ath_server server;
static pthread_t server_thread;

static void *serve(void *argument)
{
    ath_session_serve(ends[1], &server, argument);
    shutdown(ends[1], SHUT_RDWR);
    return NULL;
}

static void serve_end(int handshake_ms, int idle_ms)
{
    server =
        (struct ath_server){ .secret = { .bytes = (uint8_t *)ath_xstrdup("secret"), .length = 6 },
                             .vram_fraction = 0.5,
                             .board = ath_session_board_make(),
                             .report_fd = -1,
                             .turns_fd = -1,
                             .handshake_ms = handshake_ms,
                             .idle_ms = idle_ms,
                             .answer_ms = PATIENCE_MS };
    server.devices = (struct ath_devices){ .items = { { .name = "aitherion simulated GPU",
                                                        .is_simulated = true,
                                                        .memory_total_bytes = ATH_UNKNOWN } },
                                           .count = 1 };
    pthread_create(&server_thread, NULL, serve, ath_session_board_add(server.board, 0, 1, "test"));
}

static void start_server(int handshake_ms, int idle_ms)
{
    setup_pair();
    serve_end(handshake_ms, idle_ms);
}

/* The same with a connection of the network. */
static void setup_tcp_server(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    setup();
    ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, length), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    ck_assert_int_eq(connect(ends[0], (struct sockaddr *)&address, length), 0);
    ends[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    ck_assert_int_ge(ends[1], 0);
    close(listener);
    serve_end(PATIENCE_MS, PATIENCE_MS);
}

static void setup_server(void)
{
    start_server(PATIENCE_MS, PATIENCE_MS);
}

static void setup_short_handshake(void)
{
    start_server(LIMIT_MS, PATIENCE_MS);
}

static void setup_short_idleness(void)
{
    start_server(PATIENCE_MS, LIMIT_MS);
}

static void teardown_server(void)
{
    shutdown(ends[0], SHUT_RDWR);
    pthread_join(server_thread, NULL);
    ath_secret_free(&server.secret);
    teardown_pair();
}

static void send_built(struct ath_frame *transcript)
{
    size_t length;
    const uint8_t *bytes = built(&length);
    if (transcript)
        ck_assert_int_eq(ath_frame_copy(transcript, bytes, length), 0);
    ck_assert_int_eq(ath_frame_write(ends[0], bytes, length, ath_now_ms() + PATIENCE_MS, &err), 0);
}

static void send_hello(struct ath_frame *transcript, bool has_key)
{
    static const uint8_t nonce[ATH_NONCE_BYTES] = { 9 };
    struct ath_control_hello_builder hello =
        ath_control_message_init_hello(ath_control_message_start(&builder));
    ath_control_hello_set_protocol(hello, ATH_CONTROL_PROTOCOL_VERSION);
    ath_control_hello_set_nonce(hello, (struct ath_wire_bytes){ nonce, sizeof nonce });
    ath_control_hello_set_has_key(hello, has_key);
    send_built(transcript);
}

static void send_proof(const uint8_t proof[ATH_PROOF_BYTES])
{
    struct ath_control_proof_builder to =
        ath_control_message_init_proof(ath_control_message_start(&builder));
    ath_control_proof_set_mac(to, (struct ath_wire_bytes){ proof, ATH_PROOF_BYTES });
    send_built(NULL);
}

static struct ath_control_message receive(void)
{
    struct ath_control_message message = { { 0 } };
    ck_assert_int_eq(ath_frame_read(ends[0], 1 << 20, ath_now_ms() + PATIENCE_MS, &frame, &err), 0);
    ck_assert_int_eq(ath_control_message_open(ath_frame_message(&frame),
                                              ath_frame_message_length(&frame), &message),
                     0);
    return message;
}

static void expect_refusal(enum ath_control_reason reason)
{
    struct ath_control_message message = receive();
    ck_assert_int_eq(ath_control_message_which(message), ATH_CONTROL_MESSAGE_REFUSAL);
    ck_assert_int_eq(ath_control_refusal_reason(ath_control_message_refusal(message)), reason);
}

static void expect_end(void)
{
    ck_assert_int_eq(ath_frame_read(ends[0], 4096, ath_now_ms() + PATIENCE_MS, &frame, &err),
                     -ENODATA);
}

/* Shakes hands with the right key; the proof goes to out_proof. */
static void begin_session(uint8_t out_proof[ATH_PROOF_BYTES])
{
    ATH_AUTO(ath_frame) hello = { 0 };
    ATH_AUTO(ath_frame) challenge = { 0 };
    send_hello(&hello, true);
    ck_assert_int_eq(ath_control_message_which(receive()), ATH_CONTROL_MESSAGE_CHALLENGE);
    ck_assert_int_eq(ath_frame_copy(&challenge, frame.bytes, frame.length), 0);
    struct ath_transcript transcript = { .hello = &hello, .challenge = &challenge };
    ath_secret_prove(&server.secret, ATH_SIDE_CLIENT, &transcript, out_proof);
    send_proof(out_proof);
    struct ath_control_message message = receive();
    ck_assert_int_eq(ath_control_message_which(message), ATH_CONTROL_MESSAGE_WELCOME);
    struct ath_wire_bytes mac = ath_control_welcome_mac(ath_control_message_welcome(message));
    transcript.client_proof = out_proof;
    ck_assert(ath_secret_check(&server.secret, ATH_SIDE_SERVER, &transcript, mac.data, mac.length));
}

FIXTURE(setup_server, teardown_server);

TEST(answers_after_the_handshake)
{
    uint8_t proof[ATH_PROOF_BYTES];
    begin_session(proof);
    ath_control_message_set_get_health(ath_control_message_start(&builder));
    send_built(NULL);
    struct ath_control_health health = ath_control_message_health(receive());
    ck_assert_uint_eq(ath_control_health_devices(health).count, 1);
    ck_assert_double_eq(ath_control_health_vram_fraction(health), 0.5);
    struct ath_gpu_device device = ath_gpu_device_item(ath_control_health_devices(health), 0);
    ck_assert_str_eq(ath_gpu_device_name(device), "aitherion simulated GPU");
    ck_assert_int_eq(ath_gpu_device_memory_total_bytes(device), -1);
    ath_control_message_set_get_sessions(ath_control_message_start(&builder));
    send_built(NULL);
    struct ath_wire_list sessions =
        ath_gpu_session_list_sessions(ath_control_message_sessions(receive()));
    ck_assert_uint_eq(sessions.count, 1);
    ck_assert_str_eq(ath_gpu_session_peer(ath_gpu_session_item(sessions, 0)), "test");
}

static double ask_for_fraction(void)
{
    ath_control_message_set_get_health(ath_control_message_start(&builder));
    send_built(NULL);
    return ath_control_health_vram_fraction(ath_control_message_health(receive()));
}

static enum ath_control_message_which set_fraction(double fraction)
{
    ath_control_message_set_limit_server(ath_control_message_start(&builder), fraction);
    send_built(NULL);
    return ath_control_message_which(receive());
}

TEST(takes_another_share_from_its_owner)
{
    static const double wrong[] = { 0, -0.5, 1.5, NAN };
    uint8_t proof[ATH_PROOF_BYTES];
    server.owner = geteuid();
    begin_session(proof);
    ck_assert_int_eq(set_fraction(0.25), ATH_CONTROL_MESSAGE_DONE);
    ck_assert_double_eq(ask_for_fraction(), 0.25);
    for (size_t i = 0; i < ATH_COUNT(wrong); i++)
        ck_assert_int_eq(set_fraction(wrong[i]), ATH_CONTROL_MESSAGE_FAILURE);
    ck_assert_double_eq(ask_for_fraction(), 0.25);
    ck_assert_int_eq(set_fraction(1), ATH_CONTROL_MESSAGE_DONE);
    ck_assert_double_eq(ask_for_fraction(), 1);
}

/* A session's process can write anything into its own entry. */
TEST(takes_no_sessions_word_for_its_purpose)
{
    uint8_t proof[ATH_PROOF_BYTES];
    begin_session(proof);
    struct ath_session_board_entry *entry = ath_session_board_add(server.board, 1, 7, "10.0.0.7:5");
    ath_session_board_note(server.board, 1, ATH_GPU_PURPOSE_CUDA, ATH_KEY_NAME_DEFAULT);
    atomic_store(&entry->is_proven, false);
    atomic_store(&entry->purpose, ATH_GPU_PURPOSE_CONTROL);
    ath_gpu_session_limit_set_id(
        ath_control_message_init_limit_session(ath_control_message_start(&builder)), 7);
    send_built(NULL);
    /* This server has no listening process that could be asked. */
    ck_assert_int_eq(ath_common_failure_code(ath_control_message_failure(receive())),
                     ATH_COMMON_FAILURE_CODE_NOT_SUPPORTED);
    ath_session_board_remove(server.board, 1);
}

TEST(names_unsupported_calls)
{
    uint8_t proof[ATH_PROOF_BYTES];
    begin_session(proof);
    /* A question of a later protocol, and the session goes on. */
    ath_wire_set_u16(ath_control_message_start(&builder).at, 0, 999, 0);
    send_built(NULL);
    struct ath_control_message message = receive();
    ck_assert_int_eq(ath_control_message_which(message), ATH_CONTROL_MESSAGE_FAILURE);
    ck_assert_int_eq(ath_common_failure_code(ath_control_message_failure(message)),
                     ATH_COMMON_FAILURE_CODE_NOT_SUPPORTED);
    ath_control_message_init_limit_session(ath_control_message_start(&builder));
    send_built(NULL);
    message = receive();
    ck_assert_int_eq(ath_common_failure_code(ath_control_message_failure(message)),
                     ATH_COMMON_FAILURE_CODE_NOT_FOUND);
    ath_control_message_set_end_session(ath_control_message_start(&builder), 12345);
    send_built(NULL);
    message = receive();
    ck_assert_int_eq(ath_common_failure_code(ath_control_message_failure(message)),
                     ATH_COMMON_FAILURE_CODE_NOT_FOUND);
}

TEST(refuses_a_wrong_key)
{
    static const uint8_t wrong[ATH_PROOF_BYTES] = { 1 };
    send_hello(NULL, true);
    receive();
    send_proof(wrong);
    expect_refusal(ATH_CONTROL_REASON_KEY_WRONG);
    expect_end();
    ath_session_board_remove(server.board, 0);
    ck_assert_uint_eq(ath_session_board_refused(server.board, ATH_CONTROL_REASON_KEY_WRONG), 1);
}

TEST(refuses_no_key)
{
    send_hello(NULL, false);
    expect_refusal(ATH_CONTROL_REASON_KEY_WANTED);
    expect_end();
}

TEST(refuses_a_proof_of_no_bytes)
{
    send_hello(NULL, true);
    receive();
    ath_control_message_init_proof(ath_control_message_start(&builder));
    send_built(NULL);
    expect_refusal(ATH_CONTROL_REASON_KEY_WRONG);
}

/* The same hello and the same proof are worth nothing in a second session. */
TEST(refuses_a_replayed_handshake)
{
    uint8_t proof[ATH_PROOF_BYTES];
    begin_session(proof);
    shutdown(ends[0], SHUT_RDWR);
    pthread_join(server_thread, NULL);
    close(ends[0]);
    close(ends[1]);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    pthread_create(&server_thread, NULL, serve,
                   ath_session_board_add(server.board, 1, 2, "replay"));
    send_hello(NULL, true);
    receive();
    send_proof(proof);
    expect_refusal(ATH_CONTROL_REASON_KEY_WRONG);
    expect_end();
}

TEST(refuses_questions_before_the_handshake)
{
    ath_control_message_set_get_health(ath_control_message_start(&builder));
    send_built(NULL);
    expect_refusal(ATH_CONTROL_REASON_BAD_MESSAGE);
    expect_end();
}

TEST(refuses_a_second_hello)
{
    uint8_t proof[ATH_PROOF_BYTES];
    begin_session(proof);
    send_hello(NULL, true);
    expect_refusal(ATH_CONTROL_REASON_BAD_MESSAGE);
    expect_end();
}

TEST(refuses_a_short_nonce)
{
    struct ath_control_hello_builder hello =
        ath_control_message_init_hello(ath_control_message_start(&builder));
    ath_control_hello_set_protocol(hello, ATH_CONTROL_PROTOCOL_VERSION);
    ath_control_hello_set_nonce(hello, (struct ath_wire_bytes){ (const uint8_t *)"short", 5 });
    send_built(NULL);
    expect_refusal(ATH_CONTROL_REASON_BAD_MESSAGE);
}

TEST(refuses_another_protocol)
{
    static const uint8_t nonce[ATH_NONCE_BYTES];
    struct ath_control_hello_builder hello =
        ath_control_message_init_hello(ath_control_message_start(&builder));
    ath_control_hello_set_protocol(hello, 9);
    ath_control_hello_set_protocol_min(hello, ATH_CONTROL_PROTOCOL_VERSION + 1);
    ath_control_hello_set_nonce(hello, (struct ath_wire_bytes){ nonce, sizeof nonce });
    ath_control_hello_set_has_key(hello, true);
    send_built(NULL);
    expect_refusal(ATH_CONTROL_REASON_PROTOCOL);
}

/* As clients of 0.1.0 begin; they print the text of the refusal. */
TEST(says_the_protocol_to_an_older_client)
{
    static const uint8_t nonce[ATH_NONCE_BYTES];
    struct ath_control_hello_builder hello =
        ath_control_message_init_hello(ath_control_message_start(&builder));
    ath_control_hello_set_protocol(hello, 2);
    ath_control_hello_set_protocol_min(hello, 2);
    ath_control_hello_set_nonce(hello, (struct ath_wire_bytes){ nonce, sizeof nonce });
    ath_control_hello_set_has_key(hello, true);
    send_built(NULL);
    struct ath_control_message message = receive();
    ck_assert_int_eq(ath_control_message_which(message), ATH_CONTROL_MESSAGE_REFUSAL);
    ck_assert_str_eq(ath_control_refusal_message(ath_control_message_refusal(message)),
                     "this server speaks protocol 3, and the client 2");
}

FIXTURE(setup_tcp_server, teardown_server);

TEST(takes_no_share_from_the_network)
{
    uint8_t proof[ATH_PROOF_BYTES];
    server.owner = geteuid();
    begin_session(proof);
    ck_assert_int_eq(set_fraction(1), ATH_CONTROL_MESSAGE_FAILURE);
    ck_assert_double_eq(ask_for_fraction(), 0.5);
}

FIXTURE(setup_short_handshake, teardown_server);

TEST(ends_a_silent_handshake)
{
    uint64_t begin = ath_now_ms();
    expect_end();
    ck_assert_uint_lt(ath_now_ms() - begin, PATIENCE_MS);
    ath_session_board_remove(server.board, 0);
    ck_assert_uint_eq(ath_session_board_broken(server.board), 1);
}

/* It had its say, and is not broken. */
FIXTURE(setup_short_idleness, teardown_server);

TEST(ends_a_silent_session)
{
    uint8_t proof[ATH_PROOF_BYTES];
    uint64_t begin = ath_now_ms();
    begin_session(proof);
    expect_end();
    ck_assert_uint_lt(ath_now_ms() - begin, PATIENCE_MS);
    ath_session_board_remove(server.board, 0);
    ck_assert_uint_eq(ath_session_board_broken(server.board), 0);
}

FIXTURE(setup_server, teardown_server);

TEST(ends_a_session_that_breaks_off)
{
    uint8_t proof[ATH_PROOF_BYTES];
    begin_session(proof);
    ck_assert_int_eq(write(ends[0], "\0\0", 2), 2);
    shutdown(ends[0], SHUT_WR);
    expect_end();
    ath_session_board_remove(server.board, 0);
    ck_assert_uint_eq(ath_session_board_broken(server.board), 1);
}

/* With the simulated NVML of the build that the test runs in. Sessions may be silent for a
 * short while only once it waits for events: until then the test itself may be slow. */
/* ---- memory that several sessions have ---- */

enum { DEVICE = 1 };

static struct ath_session_board_entry *new_session(struct ath_session_board *board, size_t place)
{
    return ath_session_board_add(board, place, place + 1, "test");
}

static int64_t held(struct ath_session_board_entry *entry)
{
    return atomic_load(&entry->used_bytes[DEVICE]);
}

/* A session takes up to its own limit, and all together up to theirs, to the byte. */
FIXTURE(setup, teardown);

TEST(takes_memory_up_to_the_limits)
{
    enum { OWN = 1000, ALL = 1500 };
    struct ath_session_board *board = ath_session_board_make();
    struct ath_session_board_entry *one = new_session(board, 0),
                                   *last = new_session(board, ATH_SESSION_BOARD_MAX - 1);
    uint32_t sessions;

    atomic_store(&one->limit_bytes[DEVICE], OWN);
    ck_assert(!ath_session_board_take_memory(board, one, DEVICE, OWN + 1, ALL));
    ck_assert_int_eq(held(one), 0);
    ck_assert_uint_eq(atomic_load(&one->devices), 0);
    ck_assert(ath_session_board_take_memory(board, one, DEVICE, OWN - 1, ALL));
    ck_assert(!ath_session_board_take_memory(board, one, DEVICE, 2, ALL));
    ck_assert(ath_session_board_take_memory(board, one, DEVICE, 1, ALL));
    ck_assert(!ath_session_board_is_beyond(board, one, DEVICE));
    ck_assert(!ath_session_board_take_memory(board, one, DEVICE, 1, -1));
    ck_assert(ath_session_board_take_memory(board, one, DEVICE, 0, ALL));
    ck_assert_int_eq(held(one), OWN);

    ck_assert(!ath_session_board_take_memory(board, last, DEVICE, ALL - OWN + 1, ALL));
    ck_assert(ath_session_board_take_memory(board, last, DEVICE, ALL - OWN, ALL));
    ck_assert(!ath_session_board_take_memory(board, last, DEVICE, 1, ALL));
    ck_assert(ath_session_board_take_memory(board, last, DEVICE, 1, -1)); /* no limit */
    ck_assert(
        ath_session_board_take_memory(board, last, DEVICE + 1, ALL, ALL)); /* another device */
    ck_assert_int_eq(ath_session_board_memory(board, DEVICE, &sessions), ALL + 1);
    ck_assert_uint_eq(sessions, 2);
    ck_assert_int_eq(ath_session_board_memory(board, DEVICE + 1, &sessions), ALL);
    ck_assert_uint_eq(sessions, 1);
    ck_assert_int_eq(ath_session_board_memory(board, DEVICE + 2, &sessions), 0);
    ck_assert_uint_eq(sessions, 0);

    ath_session_board_give_memory(one, DEVICE, 1);
    ck_assert_int_eq(held(one), OWN - 1);
    atomic_store(&one->limit_bytes[DEVICE], OWN - 2);
    ck_assert(ath_session_board_is_beyond(board, one, DEVICE));
    atomic_store(&one->limit_bytes[DEVICE], 0);
    ck_assert(ath_session_board_is_beyond(board, one, DEVICE) &&
              !ath_session_board_is_beyond(board, one, DEVICE + 1));
    ck_assert_ptr_eq(ath_session_board_find(board, ATH_SESSION_BOARD_MAX), last);
    ck_assert_ptr_null(ath_session_board_find(board, ATH_SESSION_BOARD_MAX + 1));
    ck_assert_ptr_null(ath_session_board_find(board, 0));
    ath_session_board_free(board);
}

/* ---- whom the listening process ends ---- */

enum { WAY = 3 };

static struct ath_process *new_process(struct ath_process_table *processes, pid_t pid)
{
    const struct ath_newcomer newcomer = { .peer = "test",
                                           .source = { ATH_SOURCE_IPV4, (uint64_t)pid },
                                           .way = WAY };
    struct ath_process *process, *leaves;
    ck_assert_int_eq(ath_process_table_add(processes, &newcomer, 0, &process, &leaves),
                     ATH_PLACE_GIVEN);
    process->pid = pid;
    return process;
}

/* A session's process may write anything to the shared board. */
TEST(ends_no_process_by_the_boards_word)
{
    static struct ath_process_table processes;
    processes =
        (struct ath_process_table){ .board = ath_session_board_make(), .most_of_source = 1 };
    struct ath_process *first = new_process(&processes, 101);
    struct ath_process *second = new_process(&processes, 102);
    memset(processes.board->slots, 0x55, sizeof processes.board->slots);
    atomic_store(&processes.board->slots[0].entry.is_proven, true);
    ck_assert(!first->is_proven);
    ck_assert_ptr_eq(ath_process_table_find_pid(&processes, 101), first);
    ck_assert_ptr_eq(ath_process_table_find(&processes, 2), second);
    ck_assert_int_eq(second->pid, 102);
    ck_assert_ptr_null(ath_process_table_find(&processes, UINT64_C(0x5555555555555555)));
    ck_assert_ptr_null(ath_process_table_find_pid(&processes, 0x55555555));
    memset(processes.board->slots, 0, sizeof processes.board->slots); /* no place is free for it */
    ck_assert_uint_eq(ath_process_table_slot(&processes, new_process(&processes, 103)), 2);
    ath_session_board_free(processes.board);
}

/* Each process reports once who is there; nothing that it says later counts. */
TEST(believes_the_first_report)
{
    static struct ath_process_table processes;
    struct ath_session_report report = { .purpose = ATH_GPU_PURPOSE_CUDA, .identity = "alice" };
    int pair[2];
    processes =
        (struct ath_process_table){ .board = ath_session_board_make(), .most_of_source = 1 };
    struct ath_process *process = new_process(&processes, 101);
    ck_assert_int_eq(ath_session_report_pair(pair), 0);
    ck_assert_int_eq(ath_session_report_take(pair[0], &report), -EAGAIN);
    ck_assert_int_eq(ath_session_report_send(pair[1], &report), 0);
    report = (struct ath_session_report){ .purpose = ATH_GPU_PURPOSE_CONTROL, .identity = "bob" };
    ck_assert_int_eq(ath_session_report_send(pair[1], &report), 0);
    ck_assert_int_eq(ath_session_report_take(pair[0], &report), 0);
    ck_assert(!process->is_proven);
    ck_assert(ath_process_table_note(process, &report));
    ck_assert(process->is_proven);
    ck_assert_int_eq(ath_session_report_take(pair[0], &report), 0);
    ck_assert_str_eq(report.identity, "bob");
    ck_assert(!ath_process_table_note(process, &report));
    ck_assert(process->is_proven);
    ck_assert_int_eq(process->purpose, ATH_GPU_PURPOSE_CUDA);
    ck_assert_str_eq(process->identity, "alice");
    ath_session_board_free(processes.board);
    close(pair[0]);
    close(pair[1]);
}

/* The listening process shows the text of a report. */
TEST(takes_no_harmful_report)
{
    struct ath_session_report report = { .ends = 7 }, taken = { .ends = 9 };
    int pair[2];
    ck_assert_int_eq(ath_session_report_pair(pair), 0);
    memset(report.identity, 'a', sizeof report.identity); /* no NUL byte */
    ck_assert_int_eq(ath_session_report_send(pair[1], &report), 0);
    ck_assert_int_eq(ath_session_report_take(pair[0], &taken), 0);
    ck_assert_uint_eq(strlen(taken.identity), ATH_KEY_NAME_BYTES - 1);
    snprintf(report.identity, sizeof report.identity, "\033[2J");
    ck_assert_int_eq(ath_session_report_send(pair[1], &report), 0);
    ck_assert_int_eq(ath_session_report_take(pair[0], &taken), -EBADMSG);
    ck_assert_int_eq(send(pair[1], &report, sizeof report - 1, 0), sizeof report - 1);
    ck_assert_int_eq(ath_session_report_take(pair[0], &taken), -EBADMSG);
    close(pair[1]);
    ck_assert_int_eq(ath_session_report_take(pair[0], &taken), -ENODATA);
    ck_assert_uint_eq(taken.ends, 7);
    close(pair[0]);
}

/* The board does not count. */
TEST(counts_sessions_of_an_identity)
{
    static struct ath_process_table processes;
    const struct ath_session_report reports[] = {
        { .purpose = ATH_GPU_PURPOSE_CUDA, .identity = "alice" },
        { .purpose = ATH_GPU_PURPOSE_CONTROL, .identity = "alice" },
        { .purpose = ATH_GPU_PURPOSE_CUDA, .identity = "bob" },
        { .purpose = ATH_GPU_PURPOSE_CUDA, .identity = "alice" },
    };
    processes =
        (struct ath_process_table){ .board = ath_session_board_make(), .most_of_source = 1 };
    for (size_t i = 0; i < ATH_COUNT(reports); i++)
        ck_assert(ath_process_table_note(new_process(&processes, 101 + (pid_t)i), &reports[i]));
    ck_assert_int_eq(ath_process_table_count(&processes, "alice"), 2);
    ck_assert_int_eq(ath_process_table_count(&processes, "bob"), 1);
    ck_assert_int_eq(ath_process_table_count(&processes, "carol"), 0);
    processes.items[3].is_ending = true;
    ck_assert_int_eq(ath_process_table_count(&processes, "alice"), 1);
    munmap(processes.board, sizeof *processes.board);
}

TEST(reads_the_rows_of_identities)
{
    static struct ath_identities rows;
    static const char *const bad[] = { "alice memory_bytes=x",
                                       "alice memory_percent=0",
                                       "alice memory_percent=100.5",
                                       "alice memory_percent=101",
                                       "alice share=0",
                                       "alice share=101",
                                       "alice share",
                                       "alice cap=1",
                                       "alice priority=urgent",
                                       "alice priority",
                                       "alice sessions=-1",
                                       "alice gpus=1",
                                       "alice admin=1",
                                       "alice what",
                                       "al/ice",
                                       "alice\nalice",
                                       "alice sessions",
                                       "alice gpus" };
    ck_assert_int_eq(
        ath_identities_parse("# text\n\nalice memory_bytes=100 memory_percent=50 sessions=2\n"
                             "bob gpus=0004:04:00.0,0004:05:00.0 admin share=25 cap "
                             "priority=low\ncarol gpus= share=100 sm_share=50\n",
                             &rows, &err),
        0);
    ck_assert_uint_eq(rows.count, 3);
    const struct ath_identity *alice = ath_identities_find(&rows, "alice");
    const struct ath_identity *bob = ath_identities_find(&rows, "bob");
    const struct ath_identity *carol = ath_identities_find(&rows, "carol");
    ck_assert_int_eq(alice->sessions, 2);
    ck_assert_int_eq(alice->time.share_percent, 0);
    ck_assert(!alice->time.is_capped && alice->time.priority == ATH_TIME_UNSET);
    ck_assert_int_eq(bob->time.share_percent, 25);
    ck_assert(bob->time.is_capped && bob->time.priority == ATH_TIME_LOW);
    ck_assert_int_eq(carol->time.share_percent, 100);
    ck_assert_int_eq(carol->time.sm_percent, 50);
    ck_assert_int_eq(bob->time.sm_percent, 0);
    ck_assert_int_eq(carol->time.priority, ATH_TIME_NORMAL); /* the default with a share */
    ck_assert(!alice->is_admin && bob->is_admin);
    ck_assert_int_eq(bob->sessions, ATH_UNKNOWN);
    ck_assert_int_eq(ath_identity_limit_bytes(alice, 150), 75);
    ck_assert_int_eq(ath_identity_limit_bytes(alice, 300), 100);
    ck_assert_int_eq(ath_identity_limit_bytes(alice, ATH_UNKNOWN), 100);
    ck_assert_int_eq(ath_identity_limit_bytes(bob, 300), ATH_UNKNOWN);
    ck_assert_int_eq(ath_identity_limit_bytes(NULL, 300), ATH_UNKNOWN);
    ck_assert_int_eq(ath_identities_parse("alice memory_percent=100\n", &rows, &err), 0);
    ck_assert_int_eq(ath_identity_limit_bytes(&rows.items[0], 300), 300);
    ck_assert_int_eq(ath_identities_parse(
                         "alice\nbob gpus=0004:04:00.0,0004:05:00.0\ncarol gpus=\n", &rows, &err),
                     0);
    ck_assert(ath_identity_has_gpu(alice, "0004:04:00.0"));
    ck_assert(ath_identity_has_gpu(bob, "0004:05:00.0"));
    ck_assert(!ath_identity_has_gpu(bob, "0004:06:00.0"));
    ck_assert(!ath_identity_has_gpu(carol, "0004:04:00.0"));
    ck_assert(ath_identity_has_gpu(carol, ""));
    ck_assert_ptr_null(ath_identities_find(&rows, "dave"));
    for (size_t i = 0; i < ATH_COUNT(bad); i++) {
        ck_assert_msg(ath_identities_parse(bad[i], &rows, &err) == -EINVAL, "%s", bad[i]);
        ck_assert_uint_eq(rows.count, 3);
    }
    ck_assert_int_eq(ath_identities_parse("alice\nbob admin shar=5", &rows, &err), -EINVAL);
    ck_assert_str_eq(err.message, "line 2 of the rows of identities is not valid: 'shar'");
}

TEST(limits_the_rows_of_identities)
{
    static struct ath_identities rows;
    for (int more = 0; more < 2; more++) {
        ATH_AUTO(ath_text) text = { 0 };
        ATH_AUTO(ath_text) gpus = { 0 };
        for (int i = 0; i < ATH_IDENTITIES_MAX + more; i++)
            ath_text_add(&text, "n%d\n", i);
        ck_assert_int_eq(ath_identities_parse(text.data, &rows, &err), more ? -EINVAL : 0);
        ath_text_add(&gpus, "alice gpus=");
        for (int i = 0; i < ATH_IDENTITY_GPUS_MAX + more; i++)
            ath_text_add(&gpus, "%s0000:%02x:00.0", i ? "," : "", i + 1);
        ck_assert_int_eq(ath_identities_parse(gpus.data, &rows, &err), more ? -EINVAL : 0);
    }
    ck_assert_uint_eq(rows.count, 1);
    ck_assert(ath_identity_has_gpu(&rows.items[0], "0000:40:00.0")); /* the last */
    ck_assert(!ath_identity_has_gpu(&rows.items[0], "0000:41:00.0"));
}

TEST(names_of_keys)
{
    static const char *const good[] = { "a", "alice", "team-a", "A.b_9", "0" };
    static const char *const bad[] = {
        "", ".alice", "-a", "_a", "a/b", "a b", "\303\244", "a.bak"
    };
    char name[ATH_KEY_NAME_BYTES + 1];
    for (size_t i = 0; i < ATH_COUNT(good); i++)
        ck_assert_msg(ath_key_name_is_valid(good[i]), "%s", good[i]);
    for (size_t i = 0; i < ATH_COUNT(bad); i++)
        ck_assert_msg(!ath_key_name_is_valid(bad[i]), "%s", bad[i]);
    memset(name, 'x', sizeof name);
    name[ATH_KEY_NAME_BYTES - 1] = '\0';
    ck_assert(ath_key_name_is_valid(name));
    name[ATH_KEY_NAME_BYTES - 1] = 'x';
    name[ATH_KEY_NAME_BYTES] = '\0';
    ck_assert(!ath_key_name_is_valid(name));
}

TEST(gives_slots_to_processes)
{
    static struct ath_process_table processes;
    const struct ath_newcomer other = { .peer = "test", .way = WAY + 1 },
                              administrator = { .peer = "test", .way = WAY, .is_trusted = true };
    struct ath_process *process, *leaves;
    processes =
        (struct ath_process_table){ .board = ath_session_board_make(), .most_of_source = 1 };
    for (pid_t i = 0; i < ATH_SESSION_BOARD_UNPROVEN; i++)
        new_process(&processes, 100 + i);
    /* Another listening socket has slots of its own for unproven clients. */
    ck_assert_int_eq(ath_process_table_add(&processes, &other, 0, &process, &leaves),
                     ATH_PLACE_GIVEN);
    ath_process_table_remove(&processes, ath_process_table_find_pid(&processes, 102));
    ck_assert_ptr_null(ath_process_table_find_pid(&processes, 102));
    ck_assert_ptr_null(ath_session_board_find(processes.board, 3));
    ck_assert_uint_eq(ath_process_table_slot(&processes, new_process(&processes, 102)), 2);
    while (!ath_process_table_add(&processes, &administrator, 0, &process, &leaves))
        continue;
    ck_assert_uint_eq(atomic_load(&processes.board->known[ATH_SESSION_BOARD_MAX - 1].id),
                      processes.last_session);
    ath_session_board_free(processes.board);
}

/* ---- the client against servers that lie ---- */

struct liar {
    int fd;
    bool wants_key;
};

static void *lie(void *argument)
{
    const struct liar *liar = argument;
    static const uint8_t nonce[ATH_NONCE_BYTES];
    static const uint8_t proof[ATH_PROOF_BYTES] = { 7 };
    ATH_AUTO(ath_wire_builder) out = { .max_bytes = 4096 };
    ATH_AUTO(ath_frame) in = { 0 };
    struct ath_err ignored;
    size_t length;
    int status;
    int fd = accept(liar->fd, NULL, NULL);
    uint64_t end_ms = ath_now_ms() + PATIENCE_MS;

    ath_frame_read(fd, 4096, end_ms, &in, &ignored);
    struct ath_control_challenge_builder challenge =
        ath_control_message_init_challenge(ath_control_message_start(&out));
    ath_control_challenge_set_protocol(challenge, ATH_CONTROL_PROTOCOL_VERSION);
    ath_control_challenge_set_nonce(challenge, (struct ath_wire_bytes){ nonce, sizeof nonce });
    ath_control_challenge_set_wants_key(challenge, liar->wants_key);
    const uint8_t *bytes = ath_wire_finish(&out, &length, &status);
    ath_frame_write(fd, bytes, length, end_ms, &ignored);
    if (!ath_frame_read(fd, 4096, end_ms, &in, &ignored)) {
        ath_control_welcome_set_mac(
            ath_control_message_init_welcome(ath_control_message_start(&out)),
            (struct ath_wire_bytes){ proof, sizeof proof });
        bytes = ath_wire_finish(&out, &length, &status);
        ath_frame_write(fd, bytes, length, end_ms, &ignored);
    }
    close(fd);
    return NULL;
}

/* The rights of the socket's file at the time of ath_endpoint_listen()'s chmod(). */
static mode_t mode_before;

int chmod(const char *path, mode_t mode)
{
    struct stat file;
    mode_before = lstat(path, &file) ? 0 : file.st_mode & 07777;
    return fchmodat(AT_FDCWD, path, mode, 0);
}

TEST(a_socket_is_never_open_to_more_than_asked)
{
    struct ath_endpoint endpoint;
    struct stat file;
    char path[128];
    int fd;
    mode_t old = umask(0);

    tree_make(&tree);
    snprintf(path, sizeof path, "%s/socket", tree.path);
    ck_assert_int_eq(ath_endpoint_of_path(path, &endpoint, &err), 0);
    ck_assert_int_eq(ath_endpoint_listen(&endpoint, 0600, &fd, &err), 0);
    ck_assert_uint_eq(mode_before, 0600);
    ck_assert_int_eq(lstat(path, &file), 0);
    ck_assert_uint_eq(file.st_mode & 07777, 0600);
    close(fd);
    umask(old);
    tree_remove(&tree);
}

/* "[::]" and "0.0.0.0" are two addresses: the one does not take the other's clients. */
TEST(a_listener_of_ipv6_leaves_ipv4_to_others)
{
    struct ath_endpoint endpoint;
    char text[ATH_ENDPOINT_TEXT];
    int six, four, fd;

    ck_assert_int_eq(ath_endpoint_parse("[::]:0", &endpoint, &err), 0);
    if (ath_endpoint_listen(&endpoint, 0, &six, &err)) {
        puts("skipped test: a_listener_of_ipv6_leaves_ipv4_to_others: no IPv6 here");
        return;
    }
    ck_assert_int_eq(ath_endpoint_parse(ath_endpoint_of_socket(six, false, text), &endpoint, &err),
                     0);
    ck_assert_str_eq(endpoint.host, "::");
    strcpy(endpoint.host, "127.0.0.1");
    ck_assert_int_eq(ath_endpoint_connect(&endpoint, ath_now_ms() + PATIENCE_MS, &fd, &err),
                     -ECONNREFUSED);
    strcpy(endpoint.host, "0.0.0.0");
    ck_assert_msg(!ath_endpoint_listen(&endpoint, 0, &four, &err), "%s", err.message);
    close(four);
    close(six);
}

/* A server that does not know the key, whether it says that it wants one or not, gets no session.
 */
LOOP_TEST(a_client_needs_the_servers_proof, 0, 2)
{
    const struct ath_encryption plain = { ATH_ENCRYPT_AUTO, NULL }; /* a unix socket */
    const struct ath_secret secret = { .bytes = (uint8_t[]){ 'k' }, .length = 1 };
    struct ath_endpoint endpoint;
    struct ath_session session;
    char path[128];
    pthread_t thread;

    tree_make(&tree);
    snprintf(path, sizeof path, "%s/socket", tree.path);
    ck_assert_int_eq(ath_endpoint_of_path(path, &endpoint, &err), 0);
    struct liar liar = { .wants_key = _i };
    ck_assert_int_eq(ath_endpoint_listen(&endpoint, 0600, &liar.fd, &err), 0);
    fcntl(liar.fd, F_SETFL, 0);
    pthread_create(&thread, NULL, lie, &liar);
    int status = ath_session_open(&endpoint, &secret, plain, NULL, PATIENCE_MS, &session, &err);
    ck_assert_int_eq(status, _i ? -EACCES : -EBADMSG);
    pthread_join(thread, NULL);
    close(liar.fd);
    tree_remove(&tree);
}

/* ---- addresses ---- */

TEST(reads_lists_of_servers)
{
    static const struct {
        const char *list, *read, *message; /* the servers, with spaces between; or the error */
    } rows[] = {
        { "10.0.0.1:50051", "10.0.0.1:50051 ", NULL },
        { "a:1,/run/x,[fd00::1]:5", "a:1 unix:/run/x [fd00::1]:5 ", NULL },
        { "h:1,h:2,h:3,h:4,h:5,h:6,h:7,h:8,h:9,h:10,h:11,h:12,h:13,h:14,h:15,h:16",
          "h:1 h:2 h:3 h:4 h:5 h:6 h:7 h:8 h:9 h:10 h:11 h:12 h:13 h:14 h:15 h:16 ", NULL },
        { "h:1,h:2,h:3,h:4,h:5,h:6,h:7,h:8,h:9,h:10,h:11,h:12,h:13,h:14,h:15,h:16,h:17", NULL,
          "more than 16 servers" },
        { " a:1, b:2\t,/run/x y ", "a:1 b:2 unix:/run/x y ", NULL },
        { "a:1, a:1", NULL, "'a:1' is named twice" },
        { "a:1, ,b:2", NULL, "'' is no address with a port" },
        { "a:1,b:2,a:1", NULL, "'a:1' is named twice" },
        { "unix:/run/x,/run/x", NULL, "'/run/x' is named twice" },
        { "", NULL, "'' is no address with a port" },
        { "a:1,", NULL, "'' is no address with a port" },
        { "a:1,b", NULL, "'b' is no address with a port" },
    };
    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        ATH_AUTO(ath_text) read = { 0 };
        struct ath_servers servers = { .count = 99 };
        int status = ath_servers_read(rows[i].list, &servers, &err);
        ck_assert_int_eq(status, rows[i].read ? 0 : -EINVAL);
        if (status) {
            ck_assert_str_eq(err.message, rows[i].message);
            ck_assert_uint_eq(servers.count, 99);
            continue;
        }
        for (size_t j = 0; j < servers.count; j++)
            ath_text_add(&read, "%s ", servers.items[j]);
        ck_assert_str_eq(read.data, rows[i].read);
    }
}

TEST(reads_addresses)
{
    static const struct {
        const char *text, *host, *port;
    } rows[] = {
        { "10.0.0.1:50051", "10.0.0.1", "50051" },
        { "[fd00::1]:0", "fd00::1", "0" },
        { "name:65535", "name", "65535" },
        { "unix:/run/x", "/run/x", "" },
        { "10.0.0.1", NULL, NULL },
        { ":1", NULL, NULL },
        { "fd00::1:5", NULL, NULL },
        { "[fd00::1]", NULL, NULL },
        { "[]:1", NULL, NULL },
        { "a:65536", NULL, NULL },
        { "a:-1", NULL, NULL },
        { "a:", NULL, NULL },
        { "a:1x", NULL, NULL },
        { "unix:", NULL, NULL },
        { "[a]b:1", NULL, NULL },
        { "", NULL, NULL },
    };
    struct ath_endpoint endpoint;
    char text[ATH_ENDPOINT_TEXT];

    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        int status = ath_endpoint_parse(rows[i].text, &endpoint, &err);
        ck_assert_msg(status == (rows[i].host ? 0 : -EINVAL), "%s", rows[i].text);
        if (status)
            continue;
        ck_assert_str_eq(endpoint.host, rows[i].host);
        ck_assert_str_eq(endpoint.port, rows[i].port);
        ck_assert_str_eq(ath_endpoint_format(&endpoint, text), rows[i].text);
    }
}

/* An address as long as there is room, and one byte longer. */
LOOP_TEST(addresses_have_a_longest, 0, 2)
{
    enum { PATH_ROOM = 108 /* unix(7): sun_path */ };
    struct ath_endpoint endpoint;
    char text[ATH_ENDPOINT_TEXT + 64], written[ATH_ENDPOINT_TEXT];
    size_t room = _i ? sizeof endpoint.host : PATH_ROOM;

    for (size_t length = room - 2; length <= room + 1; length++) {
        memset(text, 'x', sizeof text);
        memcpy(text, "unix:", 5);
        strcpy(text + (_i ? 0 : 5) + length, _i ? ":7" : "");
        if (_i)
            memset(text, 'x', length);
        int status = ath_endpoint_parse(text, &endpoint, &err);
        ck_assert_int_eq(status, length < room ? 0 : -EINVAL);
        if (!status)
            ck_assert_str_eq(ath_endpoint_format(&endpoint, written), text);
    }
}

/* The last one: without fork() this process waits for events from then on. */
FIXTURE(setup_server, teardown_server);

TEST(a_session_that_waits_for_events_may_be_silent)
{
    uint8_t proof[ATH_PROOF_BYTES];
    server.is_simulated = true;
    setenv("AITHERION_SIM_FOLDER", "lib/aitherion/sim", true);
    begin_session(proof);
    struct ath_nvml_call_builder call = ath_nvml_call_place(
        ath_nvml_calls_init_calls(
            ath_control_message_init_nvml(ath_control_message_start(&builder)), 1),
        0);
    ath_nvml_call_set_function(call, ATH_NVML_nvmlEventSetCreate);
    ath_nvml_value_set_number(ath_nvml_value_place(ath_nvml_call_init_given(call, 1), 0), 1);
    send_built(NULL);
    struct ath_wire_list answers =
        ath_nvml_answers_answers(ath_control_message_nvml_answers(receive()));
    ck_assert_uint_eq(answers.count, 1);
    ck_assert_uint_eq(ath_nvml_answer_status(ath_nvml_answer_item(answers, 0)), NVML_SUCCESS);
    server.idle_ms = LIMIT_MS;
    for (int i = 0; i < 2; i++) {
        ath_control_message_set_get_health(ath_control_message_start(&builder));
        send_built(NULL);
        ck_assert_int_eq(ath_control_message_which(receive()), ATH_CONTROL_MESSAGE_HEALTH);
        ck_assert_int_eq(poll(&(struct pollfd){ .fd = ends[0], .events = POLLIN }, 1, 2 * LIMIT_MS),
                         0);
    }
    ath_control_message_set_get_health(ath_control_message_start(&builder));
    send_built(NULL);
    ck_assert_int_eq(ath_control_message_which(receive()), ATH_CONTROL_MESSAGE_HEALTH);
}
