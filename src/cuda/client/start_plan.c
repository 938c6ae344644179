/* A table of kinds. As a fact it is a list of heads, each with the bytes that tell the kind. */
#include "config.h"

#include "cuda/client/start_plan.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fingerprint.h"
#include "cuda/client/code_facts.h"

enum { ROWS_MAX = 128 };

struct head {
    uint32_t method, length, count;
};

struct row {
    struct head head; /* count: of the last run */
    uint32_t taken;   /* by this run */
    uint8_t what[ATH_CUDA_PLAN_BYTES];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct row rows[ROWS_MAX];
static size_t row_count;
static uint64_t device;       /* code_facts.h's number; 0: no plan yet */
static struct ath_frame last; /* the fact that was read */

/* The program that runs: its command line, and the version that gives methods their numbers. */
static uint64_t fingerprint_program(void)
{
    char words[4096];
    FILE *file = fopen("/proc/self/cmdline", "re");
    size_t length = file ? fread(words, 1, sizeof words, file) : 0;
    struct ath_fingerprint print = ATH_FINGERPRINT_START;
    if (file)
        fclose(file);
    ath_fingerprint_add(&print, words, length);
    ath_fingerprint_add(&print, PACKAGE_VERSION, sizeof PACKAGE_VERSION);
    return ath_fingerprint_end(&print).a;
}

static struct ath_cuda_code_fact fact_of(uint64_t of_device)
{
    return (struct ath_cuda_code_fact){ ATH_CUDA_CODE_START, fingerprint_program(), { of_device } };
}

/* ---- the table; the caller holds the lock ---- */

static struct row *find_row(const struct head *head, const void *what)
{
    struct row *at = rows;
    while (at < rows + row_count &&
           (at->head.method != head->method || at->head.length != head->length ||
            memcmp(at->what, what, head->length) != 0))
        at++;
    return at < rows + row_count ? at : NULL;
}

static struct row *add_row(const struct head *head, const void *what)
{
    if (row_count == ROWS_MAX)
        return NULL;
    struct row *row = &rows[row_count++];
    *row = (struct row){ .head = *head };
    memcpy(row->what, what, head->length);
    return row;
}

static bool is_right(const struct head *head)
{
    return head->length <= ATH_CUDA_PLAN_BYTES && head->count <= ATH_CUDA_PLAN_COUNT &&
           head->method < ATH_CUDA_METHOD_COUNT;
}

static void read_rows(const struct ath_frame *fact)
{
    struct head head;
    for (size_t at = 0; fact->length - at >= sizeof head; at += head.length) {
        memcpy(&head, fact->bytes + at, sizeof head);
        at += sizeof head;
        if (!is_right(&head) || head.length > fact->length - at)
            return;
        (void)add_row(&head, fact->bytes + at);
    }
}

/* Returns the length of the fact; 0: this run took nothing. */
static size_t write_rows(uint8_t to[static sizeof rows])
{
    size_t filled = 0;
    for (const struct row *row = rows; row < rows + row_count; row++) {
        struct head head = row->head;
        head.count = row->taken;
        if (!head.count)
            continue;
        memcpy(to + filled, &head, sizeof head);
        memcpy(to + filled + sizeof head, row->what, head.length);
        filled += sizeof head + head.length;
    }
    return filled;
}

/* ---- for other files ---- */

void ath_cuda_start_plan_begin(void)
{
    ATH_AUTO(ath_frame) fact = { 0 };
    ath_cuda_code_facts_begin();
    uint64_t now = ath_cuda_code_facts_device();
    pthread_mutex_lock(&lock);
    bool is_known = device;
    pthread_mutex_unlock(&lock);
    if (!now || is_known)
        return;
    const struct ath_cuda_code_fact key = fact_of(now);
    bool is_there = ath_cuda_code_facts_bytes(&key, &fact);
    pthread_mutex_lock(&lock);
    if (!device) {
        device = now;
        if (is_there)
            read_rows(&fact);
        last = fact;
        fact = (struct ath_frame){ 0 };
    }
    pthread_mutex_unlock(&lock);
}

void ath_cuda_start_plan_take(enum ath_cuda_method method, const void *what, size_t length)
{
    const struct head head = { .method = (uint32_t)method, .length = (uint32_t)length };
    uint64_t now = ath_cuda_code_facts_device();
    pthread_mutex_lock(&lock);
    if (now && now == device && length <= ATH_CUDA_PLAN_BYTES) {
        struct row *row = find_row(&head, what);
        if (!row)
            row = add_row(&head, what);
        if (row && row->taken < ATH_CUDA_PLAN_COUNT)
            row->taken++;
    }
    pthread_mutex_unlock(&lock);
}

bool ath_cuda_start_plan_row(size_t index, struct ath_cuda_plan_row *out)
{
    uint64_t now = ath_cuda_code_facts_device();
    pthread_mutex_lock(&lock);
    bool is_there = now && now == device && index < row_count;
    if (is_there) {
        const struct row *row = &rows[index];
        *out = (struct ath_cuda_plan_row){ .method = (enum ath_cuda_method)row->head.method,
                                           .length = row->head.length,
                                           .left = row->head.count > row->taken
                                                       ? row->head.count - row->taken
                                                       : 0 };
        memcpy(out->what, row->what, row->head.length);
    }
    pthread_mutex_unlock(&lock);
    return is_there;
}

void ath_cuda_start_plan_save(void)
{
    static uint8_t bytes[sizeof rows]; /* guarded by the lock */
    ATH_AUTO(ath_frame) fact = { 0 };
    pthread_mutex_lock(&lock);
    uint64_t of_device = device;
    size_t length = write_rows(bytes);
    bool is_new = length && (length != last.length || memcmp(bytes, last.bytes, length) != 0) &&
                  !ath_frame_copy(&fact, bytes, length);
    pthread_mutex_unlock(&lock);
    const struct ath_cuda_code_fact key = fact_of(of_device);
    if (is_new)
        ath_cuda_code_facts_replace(&key, &fact);
}

void ath_cuda_start_plan_clear(void)
{
    pthread_mutex_lock(&lock);
    ath_frame_free(&last);
    row_count = 0;
    device = 0;
    pthread_mutex_unlock(&lock);
}
