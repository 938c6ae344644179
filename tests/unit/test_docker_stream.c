/* Streamed answers of the Docker Engine, in pieces of every size. */
#include "config.h"

#include "container/docker/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "tree.h"
#include "unit.h"

/* ---- lines ---- */

struct seen {
    struct ath_text text;
    const char *last; /* the value after which the callback answers ENOUGH */
    int status;       /* the callback's result */
};

static int note_line(void *context, json_t *value, struct ath_err *err)
{
    struct seen *seen = context;
    const char *name = json_string_value(json_object_get(value, "n"));
    ath_text_add(&seen->text, "%s;", name);
    if (seen->status)
        return ath_err_set(err, seen->status, ATH_E_IO, "made to fail");
    return seen->last && !strcmp(seen->last, name) ? ATH_DOCKER_ENOUGH : ATH_DOCKER_GO_ON;
}

static int feed_lines(const char *bytes, size_t step, struct seen *seen, struct ath_err *err)
{
    ATH_AUTO(ath_docker_lines) lines = { 0 };
    size_t length = strlen(bytes);
    int status = 0;
    for (size_t at = 0; at < length && !status; at += step)
        status = ath_docker_lines_feed(&lines, bytes + at, length - at < step ? length - at : step,
                                       note_line, seen, err);
    return status ? status : ath_docker_lines_end(&lines, note_line, seen, err);
}

LOOP_TEST(passes_on_whole_lines, 1, 60)
{
    struct seen seen = { 0 };
    struct ath_err err;
    /* Blank lines, both line ends, no line end after the last line, a NUL in a label. */
    const char *bytes = "{\"n\":\"a\"}\n\r\n\n {\"n\":\"b\",\"x\":\"\\u0000\"}\r\n{\"n\":\"c\"}";
    ck_assert_int_eq(feed_lines(bytes, (size_t)_i, &seen, &err), 0);
    ck_assert_str_eq(seen.text.data, "a;b;c;");
    ath_text_free(&seen.text);
}

TEST(stops_after_enough)
{
    struct seen seen = { .last = "b" };
    struct ath_err err;
    ck_assert_int_eq(feed_lines("{\"n\":\"a\"}\n{\"n\":\"b\"}\n{\"n\":\"c\"}\n", 100, &seen, &err),
                     ATH_DOCKER_ENOUGH);
    ck_assert_str_eq(seen.text.data, "a;b;");
    ath_text_free(&seen.text);
}

TEST(returns_the_callbacks_result)
{
    struct seen seen = { .status = -EPIPE };
    struct ath_err err;
    ck_assert_int_eq(feed_lines("{\"n\":\"a\"}\n{\"n\":\"b\"}\n", 100, &seen, &err), -EPIPE);
    ck_assert_str_eq(err.message, "made to fail");
    ck_assert_str_eq(seen.text.data, "a;");
    ath_text_free(&seen.text);
}

TEST(refuses_lines_other_than_objects)
{
    static const char *const rows[] = {
        "x\n", "[]\n", "1\n", "null\n", "\"a\"\n", "{\"n\":\n", "{\"n\":\"a\"} {}\n", "{", "\xff\n"
    };
    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        struct seen seen = { 0 };
        struct ath_err err;
        ck_assert_int_eq(feed_lines(rows[i], 1, &seen, &err), -EBADMSG);
        ck_assert_int_eq(err.code, ATH_E_ENGINE_INVALID);
        ath_text_free(&seen.text);
    }
}

TEST(refuses_an_endless_line)
{
    ATH_AUTO(ath_docker_lines) lines = { 0 };
    ath_auto_free char *block = ath_xalloc(65536);
    struct ath_err err;
    int status = 0;
    memset(block, ' ', 65536);
    for (int i = 0; i < 16; i++)
        ck_assert_int_eq(ath_docker_lines_feed(&lines, block, 65536, note_line, NULL, &err), 0);
    status = ath_docker_lines_feed(&lines, block, 1, note_line, NULL, &err);
    ck_assert_int_eq(status, -EBADMSG);
    ck_assert_uint_le(lines.line.length, ATH_DOCKER_LINE_MAX);
}

/* ---- frames ---- */

static int note_output(void *context, enum ath_docker_stream stream, const char *bytes,
                       size_t length, struct ath_err *err)
{
    struct seen *both = context;
    ck_assert_uint_gt(length, 0);
    ck_assert(stream == ATH_DOCKER_STDOUT || stream == ATH_DOCKER_STDERR);
    ath_text_add_bytes(&both[stream - 1].text, bytes, length);
    if (both[0].status)
        return ath_err_set(err, both[0].status, ATH_E_IO, "made to fail");
    return ATH_DOCKER_GO_ON;
}

static int feed_frames(const char *bytes, size_t length, size_t step, bool is_raw,
                       struct seen *both, struct ath_err *err)
{
    ATH_AUTO(ath_docker_frames) frames = { .is_raw = is_raw };
    int status = 0;
    for (size_t at = 0; at < length && !status; at += step)
        status = ath_docker_frames_feed(
            &frames, bytes + at, length - at < step ? length - at : step, note_output, both, err);
    return status ? status : ath_docker_frames_end(&frames, err);
}

static void free_both(struct seen *both)
{
    ath_text_free(&both[0].text);
    ath_text_free(&both[1].text);
}

/* Two frames of output, an empty one, an error, and one of standard input, which counts as output.
 */
static const char mixed[] = "\1\0\0\0\0\0\0\3abc"
                            "\1\0\0\0\0\0\0\0"
                            "\2\0\0\0\0\0\0\2no"
                            "\1\0\0\0\0\0\0\1\n"
                            "\0\0\0\0\0\0\0\1i";

LOOP_TEST(splits_frames, 1, sizeof mixed)
{
    struct seen both[2] = { { { 0 }, NULL, 0 } };
    struct ath_err err;
    ck_assert_int_eq(feed_frames(mixed, sizeof mixed - 1, (size_t)_i, false, both, &err), 0);
    ck_assert_str_eq(both[0].text.data, "abc\ni");
    ck_assert_str_eq(both[1].text.data, "no");
    free_both(both);
}

TEST(notices_a_frame_that_is_cut_off)
{
    for (size_t length = 1; length < sizeof mixed - 1; length++) {
        struct seen both[2] = { { { 0 }, NULL, 0 } };
        struct ath_err err;
        bool is_whole = length == 11 || length == 19 || length == 29 || length == 38;
        ck_assert_int_eq(feed_frames(mixed, length, 5, false, both, &err), is_whole ? 0 : -EBADMSG);
        free_both(both);
    }
}

TEST(refuses_invalid_frames)
{
    static const char *const rows[] = { "\4\0\0\0\0\0\0\1", "\1\1\0\0\0\0\0\1", "\1\0\1\0\0\0\0\1",
                                        "\1\0\0\1\0\0\0\1", "HTTP/1.1" };
    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        struct seen both[2] = { { { 0 }, NULL, 0 } };
        struct ath_err err;
        ck_assert_int_eq(feed_frames(rows[i], 8, 3, false, both, &err), -EBADMSG);
        ck_assert_int_eq(err.code, ATH_E_ENGINE_INVALID);
        free_both(both);
    }
}

/* A frame may claim 4 GiB; no memory is allocated for it. */
TEST(ignores_the_length_of_a_frame)
{
    struct seen both[2] = { { { 0 }, NULL, 0 } };
    struct ath_err err;
    ATH_AUTO(ath_docker_frames) frames = { 0 };
    ck_assert_int_eq(ath_docker_frames_feed(&frames,
                                            "\1\0\0\0\xff\xff\xff\xff"
                                            "ab",
                                            10, note_output, both, &err),
                     0);
    ck_assert_str_eq(both[0].text.data, "ab");
    ck_assert_uint_eq(frames.left, 0xfffffffdu);
    ck_assert_int_eq(ath_docker_frames_end(&frames, &err), -EBADMSG);
    free_both(both);
}

TEST(reports_errors_between_frames)
{
    static const char bytes[] = "\1\0\0\0\0\0\0\1a\3\0\0\0\0\0\0\5sorry";
    for (size_t step = 1; step < 12; step++) {
        struct seen both[2] = { { { 0 }, NULL, 0 } };
        struct ath_err err;
        ck_assert_int_eq(feed_frames(bytes, sizeof bytes - 1, step, false, both, &err), -EIO);
        ck_assert_int_eq(err.code, ATH_E_ENGINE_ERROR);
        ck_assert_str_eq(err.message, "Docker says: sorry");
        ck_assert_str_eq(both[0].text.data, "a");
        free_both(both);
    }
    /* Only the beginning of a long message is kept. */
    struct seen both[2] = { { { 0 }, NULL, 0 } };
    struct ath_err err;
    ATH_AUTO(ath_docker_frames) frames = { 0 };
    ath_docker_frames_feed(&frames, "\3\0\0\0\0\1\0\0", 8, note_output, both, &err);
    for (int i = 0; i < 65535; i++)
        ck_assert_int_eq(ath_docker_frames_feed(&frames, "x", 1, note_output, both, &err), 0);
    ck_assert_uint_le(frames.fault.length, 512);
    ck_assert_int_eq(ath_docker_frames_feed(&frames, "x", 1, note_output, both, &err), -EIO);
    ck_assert_int_eq(
        ath_docker_frames_feed(&frames, "\3\0\0\0\0\0\0\0", 8, note_output, both, &err), -EIO);
}

TEST(passes_on_a_terminals_output)
{
    struct seen both[2] = { { { 0 }, NULL, 0 } };
    struct ath_err err;
    ck_assert_int_eq(feed_frames("\1\0\0\0 raw", 8, 3, true, both, &err), 0);
    ck_assert_uint_eq(both[0].text.length, 8);
    ck_assert_int_eq(memcmp(both[0].text.data, "\1\0\0\0 raw", 8), 0);
    free_both(both);
}

TEST(stops_when_the_callback_says_so)
{
    struct seen both[2] = { { { 0 }, NULL, -ECANCELED } };
    struct ath_err err;
    ck_assert_int_eq(feed_frames(mixed, sizeof mixed - 1, 100, false, both, &err), -ECANCELED);
    ck_assert_str_eq(both[0].text.data, "abc");
    free_both(both);
}
