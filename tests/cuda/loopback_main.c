/*
 * Runs the generated loopback test: every function of the table that the generator writes, several
 * times, with success and with errors. CALLS and ANSWERS (files) get every message that passed.
 *
 *     loopback [CALLS ANSWERS]
 */
#include "loopback.c"

enum { ROUNDS = 12, RECORDED = 3 }; /* of which the last fails */

static long checks, failures;

static void check(bool is_right, const char *what)
{
    checks++;
    if (is_right)
        return;
    failures++;
    if (failures <= 40)
        printf("not so: %s\n", what);
}

/* ---- a transport that serves at once ---- */

static FILE *call_file, *answer_file;
static bool is_recorded;
static struct ath_cuda_worker worker;
static struct ath_wire_builder answers = { .max_bytes = 1 << 27 };
static struct ath_frame last_answer;

static void record(FILE *file, const uint8_t *frame, size_t length)
{
    if (file && is_recorded)
        fwrite(frame, 1, length, file);
}

static int post(struct ath_cuda_link *link, const uint8_t *frame, size_t length, bool is_asked)
{
    (void)is_asked;
    int status;
    (void)link;
    record(call_file, frame, length);
    int served = ath_cuda_serve(&worker, frame + ATH_FRAME_HEAD, length - ATH_FRAME_HEAD, &answers);
    if (served <= 0)
        return served;
    const uint8_t *answer = ath_wire_finish(&answers, &length, &status);
    if (!answer)
        return status;
    record(answer_file, answer, length);
    return ath_frame_copy(&last_answer, answer, length);
}

static int wait_for(struct ath_cuda_link *link, uint64_t number, struct ath_frame *answer)
{
    (void)link;
    (void)number;
    return ath_frame_copy(answer, last_answer.bytes, last_answer.length);
}

static void close_link(struct ath_cuda_link *link)
{
    (void)link;
}

static const struct ath_cuda_link_ops ops = { .post = post, .wait = wait_for, .close = close_link };
static struct ath_cuda_link loop = { .ops = &ops };

static CUresult open_loop(struct ath_cuda_link **out_link)
{
    *out_link = &loop;
    return CUDA_SUCCESS;
}

/* ---- the rest of the driver ---- */

static CUresult take_context(CUcontext context)
{
    (void)context;
    return CUDA_SUCCESS;
}

static CUresult give_context(CUcontext *context)
{
    *context = NULL;
    return CUDA_SUCCESS;
}

static CUresult exchange_mode(CUstreamCaptureMode *mode)
{
    (void)mode;
    return CUDA_SUCCESS;
}

/* A call without an answer succeeds; its error comes with the next one that waits. */
static void check_deferred(CUresult status, const char *what)
{
    CUresult late = planned;
    check(status == CUDA_SUCCESS, what);
    planned = CUDA_SUCCESS;
    check(ath_cuda_do_cuCtxSynchronize() == late, what);
    check(ath_cuda_do_cuCtxSynchronize() == CUDA_SUCCESS, what);
    planned = late;
}

int main(int count, char **arguments)
{
    static struct ath_cuda_driver driver;
    struct ath_cuda_session session;
    struct random random = { 1 };
    const size_t tested = sizeof tests / sizeof tests[0];

    if (count == 3) {
        call_file = fopen(arguments[1], "wb");
        answer_file = fopen(arguments[2], "wb");
        if (!call_file || !answer_file)
            return 2;
    }
    fake_driver(&driver);
    driver.cuCtxSetCurrent = take_context;
    driver.cuCtxPopCurrent_v2 = give_context;
    driver.cuThreadExchangeStreamCaptureMode = exchange_mode;
    ath_cuda_session_init(&session, &driver);
    free(session.objects.map.buckets); /* without them each handle is known: these are random */
    session.objects.map.buckets = NULL;
    worker.session = &session;
    ath_cuda_set_opener(open_loop);
    check(ath_cuda_connect() == CUDA_SUCCESS, "connected");
    ath_cuda_set_ready();
    for (int round = 0; round < ROUNDS; round++) {
        is_recorded = round < RECORDED;
        for (size_t i = 0; i < tested; i++) {
            planned = round % 3 == 2 ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
            planned_seed = next(&random);
            planned_actual = 1 + below(&random, 5);
            tests[i].run(&random);
            /* A capture that goes on changes what the server asks the driver besides. */
            ath_cuda_capture_list_end_context(&session.captures, NULL);
        }
    }
    ath_cuda_disconnect();
    ath_cuda_session_free(&session);
    ath_wire_builder_free(&answers);
    ath_frame_free(&last_answer);
    if (call_file && (fclose(call_file) || fclose(answer_file)))
        return 2;
    printf("%zu functions, %ld checks, %ld failures\n", tested, checks, failures);
    return failures != 0;
}
