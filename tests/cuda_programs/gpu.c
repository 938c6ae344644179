/* See gpu.h. */
#include "config.h"

#include "gpu.h"

#include <math.h>
#include <stdarg.h>
#include <sys/wait.h>

enum { SKIPPED = 77 };

#ifndef __has_feature /* clang has it, gcc does not */
#define __has_feature(name) 0
#endif
#if defined __SANITIZE_ADDRESS__ || __has_feature(address_sanitizer) ||                            \
    defined __SANITIZE_THREAD__ || __has_feature(thread_sanitizer)
enum { IS_SANITIZED = 1 };
#else
enum { IS_SANITIZED = 0 };
#endif

CUcontext context;

/* ---- checks ---- */

void failed(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    flockfile(stdout);
    printf("%s:%d: ", file, line);
    vprintf(format, arguments);
    putchar('\n');
    fflush(stdout);
    va_end(arguments);
    _exit(1);
}

void skip(const char *reason)
{
    printf("skipped: %s\n", reason);
    fflush(stdout);
    _exit(SKIPPED);
}

const char *error_name(CUresult status)
{
    const char *name = NULL;
    return cuGetErrorName(status, &name) || !name ? "an unknown error" : name;
}

/* ---- the device ---- */

bool is_simulated(void)
{
    char name[128];
    ok(cuDeviceGetName(name, sizeof name, 0));
    return strstr(name, "simulated") != NULL;
}

char *read_kernels(void)
{
    enum { ROOM = 1 << 16 };
    char path[4096];
    const char *source = getenv("srcdir");
    snprintf(path, sizeof path, "%s/tests/cuda_programs/kernels.ptx", source ? source : ".");
    FILE *file = fopen(path, "re");
    char *text = calloc(1, ROOM);
    if (!file || !text)
        failed(__FILE__, __LINE__, "can't read %s: set srcdir", path);
    check(fread(text, 1, ROOM - 1, file) > 0);
    fclose(file);
    return text;
}

CUfunction kernel(const char *name)
{
    static CUmodule module;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    CUfunction function;
    pthread_mutex_lock(&lock);
    if (!module) {
        char *text = read_kernels();
        ok(cuModuleLoadData(&module, text));
        free(text);
    }
    pthread_mutex_unlock(&lock);
    ok(cuModuleGetFunction(&function, module, name));
    return function;
}

CUresult launch(CUfunction function, int n, CUstream stream, void **params)
{
    return cuLaunchKernel(function, (unsigned int)(n + 255) / 256, 1, 1, 256, 1, 1, 0, stream,
                          params, NULL);
}

CUresult launch_fill(CUdeviceptr p, float v, int n, CUstream stream)
{
    return launch(kernel("fill"), n, stream, (void *[]){ &p, &v, &n });
}

CUresult launch_saxpy(int n, float a, CUdeviceptr x, CUdeviceptr y, CUstream stream)
{
    return launch(kernel("saxpy"), n, stream, (void *[]){ &n, &a, &x, &y });
}

CUdeviceptr allocate(size_t bytes)
{
    CUdeviceptr address;
    ok(cuMemAlloc_v2(&address, bytes));
    return address;
}

void *allocate_pinned(size_t bytes)
{
    void *memory;
    ok(cuMemHostAlloc(&memory, bytes, CU_MEMHOSTALLOC_DEVICEMAP));
    memset(memory, 0, bytes);
    return memory;
}

float all_of(CUdeviceptr p, int n)
{
    float *values = malloc((size_t)n * sizeof *values);
    check(values != NULL);
    ok(cuMemcpyDtoH_v2(values, p, (size_t)n * sizeof *values));
    float first = values[0];
    for (int i = 1; i < n; i++)
        if (values[i] != first)
            first = NAN;
    free(values);
    return first;
}

void sleep_ms(int ms)
{
    nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000L }, NULL);
}

double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

unsigned int patience_s(void)
{
    const char *text = getenv("AITHERION_PATIENCE");
    int given = text ? atoi(text) : 0;
    return given > 0 ? (unsigned int)given : 60;
}

bool becomes(const int *flag, int value)
{
    for (double end_ms = now_ms() + 1e3 * patience_s(); now_ms() < end_ms;) {
        if (__atomic_load_n(flag, __ATOMIC_ACQUIRE) == value)
            return true;
        sleep_ms(1);
    }
    return false;
}

/* ---- a gate in a stream ---- */

static void wait_at(void *memory)
{
    struct gate *gate = memory;
    pthread_mutex_lock(&gate->lock);
    gate->is_reached = true;
    pthread_cond_broadcast(&gate->change);
    while (!gate->is_open)
        pthread_cond_wait(&gate->change, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
}

void close_gate(struct gate *gate, CUstream stream)
{
    ok(cuLaunchHostFunc(stream, wait_at, gate));
}

void open_gate(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->is_open = true;
    pthread_cond_broadcast(&gate->change);
    pthread_mutex_unlock(&gate->lock);
}

void reach_gate(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    while (!gate->is_reached)
        pthread_cond_wait(&gate->change, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
}

/* ---- main ---- */

/* False with the remoting client over a network: AITHERION_SERVER is then HOST:PORT, not a socket.
 */
bool has_shared_pages(void)
{
    const char *server = getenv("AITHERION_SERVER"), *transport = getenv("AITHERION_TRANSPORT");
    const char *off = getenv("AITHERION_DISABLE");
    bool is_host = server && *server && *server != '/' && strncmp(server, "unix:", 5) != 0;
    bool is_off = off && (strstr(off, "shared-memory") || !strcmp(off, "all"));
    return !is_host && !(transport && !strcmp(transport, "tcp")) && !is_off;
}

static void run_test(const struct test *test, void (*setup)(void))
{
    if (test->flags & FORKS && IS_SANITIZED && getenv("AITHERION_SERVER"))
        skip("clang's sanitizer takes no locks before fork(): the child waits for one that a "
             "connection's thread had");
    if (test->flags & NO_SETUP) {
        test->run();
        return;
    }
    ok(cuInit(0));
    if (test->flags & ONLY_SIMULATED && !is_simulated())
        skip("only the simulated driver does this");
    if (test->flags & CRASHES && IS_SANITIZED)
        skip("a sanitizer makes an exit of the crash");
    if (test->flags & SHARED_PAGES && !has_shared_pages())
        skip("the server is not on this host, so that no page is seen by both sides");
    if (test->flags & SAME_PLACES && IS_SANITIZED && getenv("AITHERION_SERVER"))
        skip("with a sanitizer the server has its own memory where the program has");
    ok(cuDevicePrimaryCtxRetain(&context, 0));
    ok(cuCtxSetCurrent(context));
    kernel("fill"); /* loads all kernels now: loading may wait for streams, and a gate may hold them
                       later */
    if (setup)
        setup();
    test->run();
}

/* Runs a test in a process of its own. Returns its exit code, or minus the signal that ended it. */
static int run_apart(const struct test *test, void (*setup)(void))
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        alarm(patience_s());
        run_test(test, setup);
        exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        failed(__FILE__, __LINE__, "no process for '%s'", test->name);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static const char *how(int code)
{
    static char text[64];
    if (code == -SIGALRM)
        snprintf(text, sizeof text, "not done within %u s", patience_s());
    else if (code < 0)
        snprintf(text, sizeof text, "ended by signal %d, %s", -code, strsignal(-code));
    else
        snprintf(text, sizeof text, "exit code %d", code);
    return text;
}

static int run_all(void (*setup)(void), const struct test *tests, size_t count)
{
    int passed = 0, bad = 0, skipped = 0;
    for (size_t i = 0; i < count; i++) {
        int code = run_apart(&tests[i], setup);
        bool crashed = code == -SIGSEGV || code == -SIGBUS;
        if (code == SKIPPED) {
            printf("  '%s' was skipped\n", tests[i].name);
            skipped++;
        } else if (tests[i].flags & CRASHES ? crashed : !code) {
            passed++;
        } else {
            printf("  FAILED '%s': %s\n", tests[i].name, how(code));
            bad++;
        }
    }
    printf("%d passed, %d failed, %d skipped\n", passed, bad, skipped);
    return bad ? 1 : 0;
}

int run_tests(int argc, char **argv, void (*setup)(void), const struct test *tests, size_t count)
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 0);
    if (argc < 2)
        return run_all(setup, tests, count);
    bool is_list = !strcmp(argv[1], "--list");
    for (size_t i = 0; i < count; i++) {
        if (is_list)
            puts(tests[i].name);
        if (strcmp(argv[1], tests[i].name))
            continue;
        run_test(&tests[i], setup);
        return 0;
    }
    if (!is_list)
        fprintf(stderr, "%s: no test is called '%s'\n", argv[0], argv[1]);
    return is_list ? 0 : 2;
}
