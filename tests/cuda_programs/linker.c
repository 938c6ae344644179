/* The driver's linker: inputs, the linked image, errors, logs and times. */
#include "config.h"

#include "gpu.h"

enum { N = 256, LOG = 4096, CANARY = 0x5a };

static char *text;

static void setup(void)
{
    text = read_kernels();
}

/* A linker with logs and a time. */
struct logged {
    CUlinkState state;
    char info[LOG], errors[LOG];
    CUjit_option options[5];
    void *values[5];
};
enum { TIME, INFO, INFO_SIZE, ERRORS, ERRORS_SIZE };

static struct logged *make_logged(size_t room)
{
    static struct logged made;
    made = (struct logged){
        .options = { CU_JIT_WALL_TIME, CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                     CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES },
        .values = { NULL, made.info, (void *)room, made.errors, (void *)room },
    };
    memset(made.info, CANARY, sizeof made.info);
    memset(made.errors, CANARY, sizeof made.errors);
    made.info[0] = made.errors[0] = '\0';
    ok(cuLinkCreate_v2(5, made.options, made.values, &made.state));
    return &made;
}

static CUresult add(CUlinkState state, CUjitInputType type, const char *input, size_t size)
{
    return cuLinkAddData_v2(state, type, (void *)(uintptr_t)input, size, "input", 0, NULL, NULL);
}

static void run_fill(CUmodule module)
{
    CUfunction function;
    CUdeviceptr memory = allocate(N * sizeof(float));
    float v = 7;
    int n = N;
    ok(cuModuleGetFunction(&function, module, "fill"));
    ok(launch(function, N, NULL, (void *[]){ &memory, &v, &n }));
    same(all_of(memory, N), 7);
}

/* The linker's image lasts as long as the linker, its input only as long as the call. */
static void linked(void)
{
    CUlinkState state;
    CUmodule before, after;
    void *image, *again;
    size_t bytes, size = strlen(text) + 1;
    char *copy = malloc(size);
    memcpy(copy, text, size);
    ok(cuLinkCreate_v2(0, NULL, NULL, &state));
    ok(add(state, CU_JIT_INPUT_PTX, copy, size));
    memset(copy, 'x', size);
    free(copy);
    ok(cuLinkComplete(state, &image, &bytes));
    check(image && bytes > 100);
    unsigned char *saved = malloc(bytes);
    memcpy(saved, image, bytes);
    ok(cuModuleLoadData(&before, image));
    cuLinkComplete(state, &again, NULL); /* a driver may refuse it */
    check(!memcmp(saved, image, bytes));
    ok(cuModuleLoadData(&after, image));
    ok(cuLinkDestroy(state));
    run_fill(before);
    run_fill(after);
    free(saved);
}

static void linked_from_a_file(void)
{
    char path[4096];
    const char *source = getenv("srcdir");
    CUlinkState state;
    CUmodule module;
    void *image;
    snprintf(path, sizeof path, "%s/tests/cuda_programs/kernels.ptx", source ? source : ".");
    ok(cuLinkCreate_v2(0, NULL, NULL, &state));
    gives(CUDA_ERROR_FILE_NOT_FOUND,
          cuLinkAddFile_v2(state, CU_JIT_INPUT_PTX, "/nonexistent/kernels.ptx", 0, NULL, NULL));
    ok(cuLinkAddFile_v2(state, CU_JIT_INPUT_PTX, path, 0, NULL, NULL));
    ok(cuLinkComplete(state, &image, NULL));
    ok(cuModuleLoadData(&module, image));
    ok(cuLinkDestroy(state));
    run_fill(module);
}

/* More than a call has room for: six times a megabyte of comments. */
static void linked_from_much(void)
{
    enum { COMMENTS = 6 << 20, LINE = 64 };
    size_t size = COMMENTS + strlen(text) + 1;
    char *much = malloc(size);
    CUlinkState state;
    CUmodule module;
    void *image;
    memset(much, '/', COMMENTS);
    for (size_t at = LINE - 1; at < COMMENTS; at += LINE)
        much[at] = '\n';
    strcpy(much + COMMENTS, text);
    ok(cuLinkCreate_v2(0, NULL, NULL, &state));
    ok(add(state, CU_JIT_INPUT_PTX, much, size));
    free(much);
    ok(cuLinkComplete(state, &image, NULL));
    ok(cuModuleLoadData(&module, image));
    ok(cuLinkDestroy(state));
    run_fill(module);
}

/* The call that takes an input returns its error, and the log has the reason then. */
static void errors_come_at_once(void)
{
    static const char nonsense[] = "neither PTX nor ELF";
    struct logged *linker = make_logged(LOG);
    CUmodule module;
    void *image;
    gives(CUDA_ERROR_INVALID_VALUE, add(linker->state, CU_JIT_INPUT_PTX, NULL, 1));
    check(add(linker->state, (CUjitInputType)9, text, strlen(text) + 1) != CUDA_SUCCESS);
    check(add(linker->state, CU_JIT_INPUT_CUBIN, nonsense, sizeof nonsense) != CUDA_SUCCESS);
    ok(cuLinkDestroy(linker->state));

    linker = make_logged(LOG);
    gives(CUDA_ERROR_INVALID_PTX, add(linker->state, CU_JIT_INPUT_PTX, nonsense, sizeof nonsense));
    check(linker->errors[0] && memchr(linker->errors, '\0', LOG));
    size_t said = (uint32_t)(uintptr_t)linker->values[ERRORS_SIZE];
    check(said && said <= LOG);
    ok(cuLinkDestroy(linker->state));

    linker = make_logged(LOG); /* a linker without errors has an empty log */
    ok(add(linker->state, CU_JIT_INPUT_PTX, text, strlen(text) + 1));
    ok(cuLinkComplete(linker->state, &image, NULL));
    check(!linker->errors[0]);
    ok(cuModuleLoadData(&module, image));
    ok(cuLinkDestroy(linker->state));
    run_fill(module);
}

static void times_come_back(void)
{
    struct logged *linker = make_logged(LOG);
    float ms;
    void *image;
    memset(&linker->values[TIME], 0xff, sizeof(void *)); /* not a number */
    ok(add(linker->state, CU_JIT_INPUT_PTX, text, strlen(text) + 1));
    ok(cuLinkComplete(linker->state, &image, NULL));
    memcpy(&ms, &linker->values[TIME], sizeof ms);
    check(ms >= 0);
    ok(cuLinkDestroy(linker->state));
}

static void logs_keep_to_their_room(void)
{
    enum { ROOM = 16 };
    struct logged *linker = make_logged(ROOM);
    static const char nonsense[] = "neither PTX nor ELF";
    for (int i = 0; i < 3; i++)
        check(add(linker->state, CU_JIT_INPUT_PTX, nonsense, sizeof nonsense) != CUDA_SUCCESS);
    check(memchr(linker->errors, '\0', ROOM));
    for (size_t i = ROOM; i < LOG; i++)
        same(linker->errors[i], CANARY);
    ok(cuLinkDestroy(linker->state));
}

/* The simulated linker's words, byte for byte. */
static void words_of_logs(void)
{
    static const char first[] = "a; fatal   : the input cannot be read (error 218)\n",
                      both[] = "a; fatal   : the input cannot be read (error 218)\n"
                               "input; fatal   : the input cannot be read (error 200)\n";
    struct logged *linker = make_logged(LOG);
    char bad[] = "bad";
    void *image;
    size_t bytes;
    gives(CUDA_ERROR_INVALID_PTX,
          cuLinkAddData_v2(linker->state, CU_JIT_INPUT_PTX, bad, sizeof bad, "a", 0, NULL, NULL));
    check(!strcmp(linker->errors, first));
    same((uintptr_t)linker->values[ERRORS_SIZE], sizeof first - 1);
    gives(CUDA_ERROR_INVALID_IMAGE, add(linker->state, CU_JIT_INPUT_FATBINARY, bad, sizeof bad));
    check(!strcmp(linker->errors, both));
    same((uintptr_t)linker->values[ERRORS_SIZE], sizeof both - 1);
    check(!linker->info[0]);
    ok(add(linker->state, CU_JIT_INPUT_PTX, text, strlen(text) + 1));
    ok(cuLinkComplete(linker->state, &image, &bytes));
    char wanted[64];
    snprintf(wanted, sizeof wanted, "info    : 1 inputs, %zu bytes\n", bytes);
    check(!strcmp(linker->info, wanted));
    same((uintptr_t)linker->values[INFO_SIZE], strlen(wanted));
    check(!strcmp(linker->errors, both));
    ok(cuLinkDestroy(linker->state));
}

/* A driver may say so when it gets the second, or when it links them. */
static void same_kernel_twice(void)
{
    struct logged *linker = make_logged(LOG);
    void *image = text;
    ok(add(linker->state, CU_JIT_INPUT_PTX, text, strlen(text) + 1));
    CUresult status = add(linker->state, CU_JIT_INPUT_PTX, text, strlen(text) + 1);
    if (!status)
        status = cuLinkComplete(linker->state, &image, NULL);
    check(status && image == text && linker->errors[0]);
    ok(cuLinkDestroy(linker->state));
}

static void several_linkers(void)
{
    static const char part[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                               ".visible .global .align 4 .b8 of_the_part[96];\n";
    CUlinkState one, other;
    CUmodule first, second;
    CUdeviceptr address;
    size_t bytes;
    void *image, *of_other;
    ok(cuLinkCreate_v2(0, NULL, NULL, &one));
    ok(cuLinkCreate_v2(0, NULL, NULL, &other));
    check(one != other);
    ok(add(one, CU_JIT_INPUT_PTX, part, sizeof part));
    ok(add(other, CU_JIT_INPUT_PTX, text, strlen(text) + 1));
    ok(add(one, CU_JIT_INPUT_PTX, text, strlen(text) + 1));
    ok(cuLinkComplete(other, &of_other, NULL));
    ok(cuLinkComplete(one, &image, NULL));
    ok(cuModuleLoadData(&second, of_other));
    ok(cuLinkDestroy(other));
    ok(cuModuleLoadData(&first, image));
    ok(cuLinkDestroy(one));
    ok(cuModuleGetGlobal_v2(&address, &bytes, first, "of_the_part"));
    same(bytes, 96);
    gives(CUDA_ERROR_NOT_FOUND, cuModuleGetGlobal_v2(&address, &bytes, second, "of_the_part"));
    run_fill(first);
    run_fill(second);
}

/* A module's compiler has the same logs. */
static void modules_have_logs(void)
{
    char errors[LOG] = "";
    CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
    void *values[] = { errors, (void *)sizeof errors };
    CUmodule module;
    check(cuModuleLoadDataEx(&module, ".version 7.0\nnonsense;\n", 2, options, values) !=
          CUDA_SUCCESS);
    check(errors[0]);
    check((uintptr_t)values[1] && (uintptr_t)values[1] <= sizeof errors);
}

static const struct test tests[] = {
    { "images are linked", linked, 0 },
    { "images are linked from a file", linked_from_a_file, 0 },
    { "images are linked from much text", linked_from_much, 0 },
    { "errors of an input come at once", errors_come_at_once, 0 },
    { "times come back", times_come_back, 0 },
    { "logs keep to their room", logs_keep_to_their_room, 0 },
    { "logs come with each call", words_of_logs, ONLY_SIMULATED },
    { "a kernel that is there twice", same_kernel_twice, 0 },
    { "linkers keep apart", several_linkers, 0 },
    { "modules have logs", modules_have_logs, 0 },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, setup, tests, COUNT(tests));
}
