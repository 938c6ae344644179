/* Answers to static questions, in a list; a few hundred at most. */
#include "config.h"

#include "nvml/client/kept_answers.h"

#include <stdlib.h>
#include <string.h>

#include "remote/session/open.h"

enum {
    KEY_BYTES = 512, /* static functions need less */
    KEPT_MAX = 8192,
};

/* A message that is kept for the answers in it. */
struct kept_frame {
    struct kept_frame *next;
    struct ath_frame frame;
};

/* A kept answer, in one of the frames, and the question (key). */
struct kept {
    struct kept *next;
    struct ath_nvml_answer answer;
    size_t length;
    uint8_t key[];
};

struct key {
    uint8_t bytes[KEY_BYTES];
    size_t length; /* above KEY_BYTES: the key did not fit */
};

static struct {
    struct kept *first;
    size_t count;
    struct kept_frame *frames;
} all;

static void add_to_key(struct key *key, const void *bytes, size_t length)
{
    if (key->length + length <= sizeof key->bytes && length)
        memcpy(key->bytes + key->length, bytes, length);
    key->length += length;
}

static void make_key(const struct ath_nvml_question *question, struct key *out)
{
    const struct ath_nvml_given *given = question->given;
    out->length = 0;
    add_to_key(out, &question->server, sizeof question->server);
    add_to_key(out, &question->function, sizeof question->function);
    for (size_t i = 0; i < ath_nvml_functions[question->function].parameter_count; i++) {
        uint64_t head[2] = { given[i].is_bytes ? 2 : given[i].is_there,
                             given[i].is_bytes   ? given[i].bytes.length
                             : given[i].is_there ? given[i].number
                                                 : 0 };
        add_to_key(out, head, sizeof head);
        if (given[i].is_bytes)
            add_to_key(out, given[i].bytes.data, given[i].bytes.length);
    }
}

void ath_nvml_kept_forget(void)
{
    for (struct kept *one = all.first, *next; one; one = next) {
        next = one->next;
        free(one);
    }
    for (struct kept_frame *one = all.frames, *next; one; one = next) {
        next = one->next;
        ath_frame_free(&one->frame);
        free(one);
    }
    all.first = NULL;
    all.count = 0;
    all.frames = NULL;
}

bool ath_nvml_kept_find(const struct ath_nvml_question *question, struct ath_nvml_answer *out)
{
    const struct kept *one = all.first;
    struct key key;
    make_key(question, &key);
    while (one && (one->length != key.length || memcmp(one->key, key.bytes, key.length) != 0))
        one = one->next;
    if (one)
        *out = one->answer;
    return one != NULL;
}

static void keep(const struct key *key, struct ath_nvml_answer answer)
{
    struct kept *one = key->length > sizeof key->bytes ? NULL : malloc(sizeof *one + key->length);
    if (!one)
        return; /* the question will be asked again */
    *one = (struct kept){ .next = all.first, .answer = answer, .length = key->length };
    memcpy(one->key, key->bytes, key->length);
    all.first = one;
    all.count++;
}

/* Keeps a copy of the frame. Returns the answers in the copy, or an empty list if memory runs
 * out. */
static struct ath_wire_list keep_frame(const struct ath_frame *frame)
{
    struct ath_control_message message;
    if (all.count >= KEPT_MAX)
        ath_nvml_kept_forget();
    struct kept_frame *one = calloc(1, sizeof *one);
    if (!one)
        return (struct ath_wire_list){ 0 };
    if (ath_frame_copy(&one->frame, frame->bytes, frame->length) ||
        ath_control_message_open(ath_frame_message(&one->frame),
                                 ath_frame_message_length(&one->frame), &message)) {
        ath_frame_free(&one->frame);
        free(one);
        return (struct ath_wire_list){ 0 };
    }
    one->next = all.frames;
    all.frames = one;
    return ath_nvml_answers_answers(ath_control_message_nvml_answers(message));
}

static bool holds(struct ath_nvml_answer answer)
{
    uint32_t status = ath_nvml_answer_status(answer);
    return status == NVML_SUCCESS || status == NVML_ERROR_NOT_SUPPORTED;
}

void ath_nvml_kept_add(const struct ath_nvml_question *questions, uint32_t count,
                       const struct ath_frame *frame)
{
    struct ath_wire_list answers = keep_frame(frame);
    for (uint32_t i = 0; i < count && i < answers.count; i++) {
        struct ath_nvml_answer answer = ath_nvml_answer_item(answers, i);
        struct key key;
        if (ath_nvml_functions[questions[i].function].class != ATH_NVML_STATIC || !holds(answer))
            continue;
        make_key(&questions[i], &key);
        keep(&key, answer);
    }
}
