/* Memory that one process shares with another: descriptors of allocations and of pools, IPC
 * handles.
 */
#include "config.h"

#include "gpu.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { N = 1 << 18 };
static const CUmemAllocationHandleType FD = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

static size_t piece; /* bytes: the granularity */

static CUmemAllocationProp exportable(void)
{
    return (CUmemAllocationProp){
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
    };
}

/* Each process initializes CUDA after the fork. */
static void begin(void)
{
    int is_there;
    CUmemAllocationProp prop = exportable();
    ok(cuInit(0));
    ok(cuDeviceGetAttribute(&is_there,
                            CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 0));
    if (!is_there)
        skip("memory can't be exported as file descriptors");
    ok(cuDevicePrimaryCtxRetain(&context, 0));
    ok(cuCtxSetCurrent(context));
    kernel("fill");
    ok(cuMemGetAllocationGranularity(&piece, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
}

/* ---- two processes ---- */

/* Starts the other process, which runs part; *out is the socket to it. */
static pid_t start_other(void (*part)(int way), int *out)
{
    int ends[2];
    check(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
    pid_t other = fork();
    check(other >= 0);
    if (!other) {
        close(ends[0]);
        alarm(patience_s());
        begin();
        part(ends[1]);
        exit(0);
    }
    close(ends[1]);
    *out = ends[0];
    return other;
}

/* If the other process skips, the test skips. */
static void await_other(pid_t other)
{
    int status;
    check(waitpid(other, &status, 0) == other);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        exit(77);
    check(WIFEXITED(status) && !WEXITSTATUS(status));
}

static void tell(int way, const void *bytes, size_t length, int fd)
{
    struct iovec part = { (void *)(uintptr_t)bytes, length };
    union {
        char room[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = { { 0 } };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    if (fd >= 0) {
        message.msg_control = control.room;
        message.msg_controllen = sizeof control.room;
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(head), &fd, sizeof fd);
    }
    check(sendmsg(way, &message, MSG_NOSIGNAL) == (ssize_t)length);
}

/* Returns the descriptor that came with the bytes, or -1. */
static int hear(int way, void *bytes, size_t length)
{
    struct iovec part = { bytes, length };
    union {
        char room[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = { { 0 } };
    struct msghdr message = { .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = control.room,
                              .msg_controllen = sizeof control.room };
    int fd = -1;
    check(recvmsg(way, &message, MSG_CMSG_CLOEXEC) == (ssize_t)length);
    const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head)
        memcpy(&fd, CMSG_DATA(head), sizeof fd);
    return fd;
}

static void meet(int way)
{
    char byte = 0;
    tell(way, &byte, 1, -1);
    hear(way, &byte, 1);
}

/* ---- descriptors of allocations ---- */

static CUdeviceptr map(CUmemGenericAllocationHandle handle)
{
    const CUmemAccessDesc access = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
                                     .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CUdeviceptr base;
    ok(cuMemAddressReserve(&base, piece, 0, 0, 0));
    ok(cuMemMap(base, piece, 0, handle, 0));
    ok(cuMemSetAccess(base, piece, &access, 1));
    return base;
}

static int export_one(CUmemGenericAllocationHandle *handle)
{
    CUmemAllocationProp prop = exportable();
    int fd = -1;
    ok(cuMemCreate(handle, piece, &prop, 0));
    ok(cuMemExportToShareableHandle(&fd, *handle, FD, 0));
    return fd;
}

static CUmemGenericAllocationHandle import_one(int fd)
{
    CUmemGenericAllocationHandle handle;
    ok(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd, FD));
    close(fd);
    return handle;
}

static void fill_it(int fd)
{
    CUmemGenericAllocationHandle handle = import_one(fd);
    CUdeviceptr base = map(handle);
    same(all_of(base, N), 3);
    ok(launch_fill(base, 7, N, NULL));
    ok(cuCtxSynchronize());
}

static void takes_memory(int way)
{
    char byte;
    fill_it(hear(way, &byte, 1));
    meet(way);
}

static void sent(void)
{
    int way;
    pid_t other = start_other(takes_memory, &way);
    CUmemGenericAllocationHandle handle;
    begin();
    int fd = export_one(&handle);
    CUdeviceptr base = map(handle);
    ok(launch_fill(base, 3, N, NULL));
    ok(cuCtxSynchronize());
    tell(way, "", 1, fd);
    close(fd); /* only the message has it now */
    meet(way);
    same(all_of(base, N), 7);
    await_other(other);
}

/* As PyTorch does with the pieces of its expandable segments. */
static void takes_by_number(int way)
{
    struct {
        pid_t pid;
        int fd;
    } there;
    hear(way, &there, sizeof there);
    int process = (int)syscall(SYS_pidfd_open, there.pid, 0);
    int fd = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, there.fd, 0);
    if (fd < 0 && (errno == EPERM || errno == ENOSYS))
        skip("the kernel does not let a process take another's descriptor");
    check(fd >= 0);
    fill_it(fd);
}

static void taken_by_number(void)
{
    int way;
    pid_t other = start_other(takes_by_number, &way);
    CUmemGenericAllocationHandle handle;
    struct {
        pid_t pid;
        int fd;
    } here;
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    begin();
    here.pid = getpid();
    here.fd = export_one(&handle);
    CUdeviceptr base = map(handle);
    ok(launch_fill(base, 3, N, NULL));
    ok(cuCtxSynchronize());
    tell(way, &here, sizeof here, -1);
    await_other(other);
    same(all_of(base, N), 7);
}

/* The exporter may release it: it exists as long as the other process has it. */
static void keeps_memory(int way)
{
    char byte;
    CUdeviceptr base = map(import_one(hear(way, &byte, 1)));
    meet(way); /* it has it */
    meet(way); /* the first process has closed it */
    same(all_of(base, N), 5);
}

static void outlives(void)
{
    int way;
    pid_t other = start_other(keeps_memory, &way);
    CUmemGenericAllocationHandle handle;
    begin();
    int fd = export_one(&handle);
    CUdeviceptr base = map(handle);
    ok(launch_fill(base, 5, N, NULL));
    ok(cuCtxSynchronize());
    tell(way, "", 1, fd);
    meet(way);
    close(fd);
    ok(cuMemUnmap(base, piece));
    ok(cuMemRelease(handle));
    meet(way);
    await_other(other);
}

/* Memory that is closed everywhere and released is free again, in any order. */
static void freed(void)
{
    size_t before, after, total;
    CUmemGenericAllocationHandle handle;
    begin();
    close(export_one(&handle));
    ok(cuMemRelease(handle));
    ok(cuMemGetInfo_v2(&before, &total));
    for (int i = 0; i < 20; i++) {
        int fd = export_one(&handle);
        if (i % 2)
            close(fd);
        ok(cuMemRelease(handle));
        if (i % 2 == 0)
            close(fd);
    }
    close(export_one(&handle));
    ok(cuMemRelease(handle));
    ok(cuMemGetInfo_v2(&after, &total));
    same(after, before);
}

static void strange(void)
{
    int ends[2];
    CUmemGenericAllocationHandle handle;
    begin();
    check(!pipe(ends));
    check(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)ends[0], FD));
    check(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)-1, FD));
    check(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    check(write(ends[0], "aitherion share", 16) == 16);
    check(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)ends[1], FD));
}

static void not_exportable(void)
{
    CUmemAllocationProp prop = exportable();
    CUmemGenericAllocationHandle handle;
    int fd = -1;
    begin();
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
    ok(cuMemCreate(&handle, piece, &prop, 0));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemExportToShareableHandle(&fd, handle, FD, 0));
    ok(cuMemRelease(handle));
}

/* ---- pools ---- */

static void takes_pool(int way)
{
    CUmemoryPool pool;
    CUmemPoolPtrExportData share;
    CUdeviceptr memory;
    int fd = hear(way, &share, sizeof share);
    ok(cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)fd, FD, 0));
    close(fd);
    ok(cuMemPoolImportPointer(&memory, pool, &share));
    same(all_of(memory, N), 3);
    ok(launch_fill(memory, 7, N, NULL));
    ok(cuCtxSynchronize());
    ok(cuMemFree_v2(memory));
    ok(cuMemPoolDestroy(pool));
    meet(way);
}

static void pool(void)
{
    int way, fd = -1;
    pid_t other = start_other(takes_pool, &way);
    CUmemPoolPtrExportData share;
    CUmemoryPool made;
    CUdeviceptr memory;
    const CUmemPoolProps props = {
        .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
        .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
    };
    begin();
    ok(cuMemPoolCreate(&made, &props));
    ok(cuMemPoolExportToShareableHandle(&fd, made, FD, 0));
    ok(cuMemAllocFromPoolAsync(&memory, N * sizeof(float), made, NULL));
    ok(launch_fill(memory, 3, N, NULL));
    ok(cuCtxSynchronize());
    ok(cuMemPoolExportPointer(&share, memory));
    tell(way, &share, sizeof share, fd);
    close(fd);
    meet(way);
    same(all_of(memory, N), 7);
    await_other(other);
    ok(cuMemFree_v2(memory));
    ok(cuMemPoolDestroy(made));
}

/* ---- IPC handles ---- */

static void opens_memory(int way)
{
    CUipcMemHandle handle;
    CUdeviceptr memory;
    hear(way, &handle, sizeof handle);
    ok(cuIpcOpenMemHandle_v2(&memory, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    same(all_of(memory, N), 3);
    ok(launch_fill(memory, 7, N, NULL));
    ok(cuCtxSynchronize());
    ok(cuIpcCloseMemHandle(memory));
    gives(CUDA_ERROR_INVALID_VALUE, cuIpcCloseMemHandle(memory));
    meet(way);
}

static void ipc_memory(void)
{
    int way;
    pid_t other = start_other(opens_memory, &way);
    CUipcMemHandle handle;
    CUdeviceptr opened;
    begin();
    CUdeviceptr memory = allocate(N * sizeof(float));
    ok(launch_fill(memory, 3, N, NULL));
    ok(cuCtxSynchronize());
    ok(cuIpcGetMemHandle(&handle, memory));
    check(cuIpcOpenMemHandle_v2(&opened, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)); /* its own */
    tell(way, &handle, sizeof handle, -1);
    meet(way);
    same(all_of(memory, N), 7);
    await_other(other);
    ok(cuMemFree_v2(memory));
}

/* The second process's stream waits for the first one's. */
static void waits_for_event(int way)
{
    struct {
        CUipcEventHandle event;
        CUipcMemHandle memory;
    } there;
    CUevent event;
    CUdeviceptr memory;
    CUstream stream;
    hear(way, &there, sizeof there);
    ok(cuIpcOpenEventHandle(&event, there.event));
    ok(cuIpcOpenMemHandle_v2(&memory, there.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    gives(CUDA_ERROR_NOT_READY, cuEventQuery(event));
    ok(cuStreamWaitEvent(stream, event, 0));
    CUdeviceptr copy = allocate(N * sizeof(float));
    ok(cuMemcpyDtoDAsync_v2(copy, memory, N * sizeof(float), stream));
    gives(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    meet(way);
    ok(cuStreamSynchronize(stream));
    same(all_of(copy, N), 9);
    ok(cuEventSynchronize(event));
    ok(cuEventQuery(event));
    ok(cuEventDestroy_v2(event));
    ok(cuIpcCloseMemHandle(memory));
}

static void ipc_event(void)
{
    int way;
    pid_t other = start_other(waits_for_event, &way);
    struct gate gate = GATE;
    struct {
        CUipcEventHandle event;
        CUipcMemHandle memory;
    } here;
    CUevent event;
    CUstream stream;
    begin();
    CUdeviceptr memory = allocate(N * sizeof(float));
    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ok(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    ok(cuIpcGetEventHandle(&here.event, event));
    ok(cuIpcGetMemHandle(&here.memory, memory));
    close_gate(&gate, stream);
    ok(launch_fill(memory, 9, N, stream));
    ok(cuEventRecord(event, stream));
    tell(way, &here, sizeof here, -1);
    meet(way);
    open_gate(&gate);
    ok(cuStreamSynchronize(stream));
    await_other(other);
}

/* ---- a file in memory ---- */

/* As NCCL's kernels talk where GPUs have no peer access. */
enum { TO_OTHER, TO_FIRST, ANSWER, FILE_BYTES = 9000, VALUE = 5 };

static const char *file_name(pid_t first)
{
    static char name[64];
    snprintf(name, sizeof name, "/aitherion-test-%d", (int)first);
    return name;
}

static volatile int *map_file(int flags, int *out_fd)
{
    int fd = shm_open(file_name(flags & O_CREAT ? getpid() : getppid()), flags, 0600);
    check(fd >= 0 && !ftruncate(fd, FILE_BYTES));
    int *words = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    check(words != MAP_FAILED);
    *out_fd = fd;
    return words;
}

/* false: registering was refused, as between two hosts. */
static bool register_words(volatile int *words)
{
    CUresult status =
        cuMemHostRegister_v2((void *)(uintptr_t)words, FILE_BYTES,
                             CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
    gives(has_shared_pages() ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED, status);
    return !status;
}

/* Launches a kernel that waits for one word and then sets another. */
static void pass_on(volatile int *words, int from, int to)
{
    CUdeviceptr flag, answer;
    int value = VALUE;
    ok(cuMemHostGetDevicePointer_v2(&flag, (void *)(uintptr_t)&words[from], 0));
    ok(cuMemHostGetDevicePointer_v2(&answer, (void *)(uintptr_t)&words[to], 0));
    ok(launch(kernel("await_value"), 1, NULL, (void *[]){ &flag, &value, &answer }));
}

/* As with NCCL, the first process has registered the file by then, and the last process unlinks the
 * file before it registers it. */
static void talks_back(int way)
{
    int fd;
    meet(way);
    volatile int *words = map_file(O_RDWR, &fd);
    shm_unlink(file_name(getppid()));
    if (!register_words(words))
        return;
    pass_on(words, TO_OTHER, TO_FIRST);
    meet(way);
    check(becomes((const int *)&words[ANSWER], VALUE));
    ok(cuCtxSynchronize());
    ok(cuMemHostUnregister((void *)(uintptr_t)words));
    same(words[TO_FIRST], VALUE); /* the program still has the memory */
    close(fd);
}

static void kernels_talk(void)
{
    int way, fd;
    volatile int *words = map_file(O_RDWR | O_CREAT | O_EXCL, &fd);
    close(fd);
    pid_t other = start_other(talks_back, &way);
    begin();
    bool is_registered = register_words(words);
    meet(way);
    if (is_registered) {
        pass_on(words, TO_FIRST, ANSWER);
        meet(way);
        sleep_ms(50);
        gives(CUDA_ERROR_NOT_READY, cuStreamQuery(NULL));
        __atomic_store_n(&words[TO_OTHER], VALUE, __ATOMIC_RELEASE);
        ok(cuCtxSynchronize());
        same(words[ANSWER], VALUE);
    }
    await_other(other);
}

static const struct test tests[] = {
    { "an allocation is sent to another process", sent, NO_SETUP },
    { "another process takes it by the descriptor's number", taken_by_number, NO_SETUP },
    { "memory lives on with the other process", outlives, NO_SETUP },
    { "memory without holders is free again", freed, NO_SETUP },
    { "a foreign descriptor is refused", strange, NO_SETUP },
    { "memory is exportable only on request", not_exportable, NO_SETUP },
    { "a pool's memory is shared", pool, NO_SETUP },
    { "an IPC handle opens the same memory", ipc_memory, NO_SETUP },
    { "a stream waits for another process's event", ipc_event, NO_SETUP },
    { "kernels of two processes talk in a file", kernels_talk, NO_SETUP },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, NULL, tests, COUNT(tests));
}
