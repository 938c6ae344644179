/* Virtual memory: addresses, allocations, and mappings. */
#include "config.h"

#include "gpu.h"

#include <fcntl.h>

static size_t piece; /* bytes: the granularity */
static int count;    /* floats in a piece */

static CUmemAllocationProp of_device(void)
{
    return (CUmemAllocationProp){
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
    };
}

static void setup(void)
{
    int is_there;
    CUmemAllocationProp prop = of_device();
    ok(cuDeviceGetAttribute(&is_there, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
    if (!is_there)
        skip("the device has no virtual memory management");
    ok(cuMemGetAllocationGranularity(&piece, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    check(piece && !(piece & (piece - 1)));
    count = (int)(piece / sizeof(float));
}

static CUmemGenericAllocationHandle create(size_t bytes)
{
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp prop = of_device();
    ok(cuMemCreate(&handle, bytes, &prop, 0));
    return handle;
}

static CUdeviceptr reserve(size_t bytes)
{
    CUdeviceptr base;
    ok(cuMemAddressReserve(&base, bytes, 0, 0, 0));
    return base;
}

static CUresult allow(CUdeviceptr base, size_t bytes, CUmemAccess_flags flags)
{
    CUmemAccessDesc access = {
        .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
        .flags = flags,
    };
    return cuMemSetAccess(base, bytes, &access, 1);
}

static void map_all(CUdeviceptr base, size_t bytes, CUmemGenericAllocationHandle handle)
{
    ok(cuMemMap(base, bytes, 0, handle, 0));
    ok(allow(base, bytes, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
}

static void mapped(void)
{
    CUmemGenericAllocationHandle handle = create(piece);
    CUdeviceptr base = reserve(piece);
    map_all(base, piece, handle);
    ok(launch_fill(base, 3, count, NULL));
    same(all_of(base, count), 3);
    ok(cuMemUnmap(base, piece));
    ok(cuMemAddressFree(base, piece));
    ok(cuMemRelease(handle));
}

/* As PyTorch's expandable segments grow. */
static void grown(void)
{
    enum { PIECES = 4 };
    CUdeviceptr base = reserve(PIECES * piece);
    CUmemGenericAllocationHandle handles[PIECES];
    for (int i = 0; i < PIECES; i++) {
        handles[i] = create(piece);
        map_all(base + (size_t)i * piece, piece, handles[i]);
        ok(launch_fill(base, (float)i, count * (i + 1), NULL)); /* over the seams */
        same(all_of(base, count * (i + 1)), i);
    }
    for (int i = PIECES; i-- > 0;) {
        ok(cuMemUnmap(base + (size_t)i * piece, piece));
        ok(cuMemRelease(handles[i]));
    }
    ok(cuMemAddressFree(base, PIECES * piece));
}

/* The same memory at two addresses. */
static void twice(void)
{
    CUmemGenericAllocationHandle handle = create(piece);
    CUdeviceptr first = reserve(piece), second = reserve(piece);
    map_all(first, piece, handle);
    map_all(second, piece, handle);
    ok(launch_fill(first, 4, count, NULL));
    ok(cuCtxSynchronize());
    same(all_of(second, count), 4);
    ok(cuMemUnmap(first, piece));
    same(all_of(second, count), 4);
    ok(cuMemUnmap(second, piece));
    ok(cuMemRelease(handle));
    ok(cuMemAddressFree(first, piece));
    ok(cuMemAddressFree(second, piece));
}

/* Memory with a released handle lives on with its mapping. */
static void released(void)
{
    CUmemGenericAllocationHandle handle = create(piece), again;
    CUdeviceptr base = reserve(piece);
    map_all(base, piece, handle);
    ok(cuMemRelease(handle));
    ok(launch_fill(base, 5, count, NULL));
    same(all_of(base, count), 5);
    ok(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(base + 8)));
    CUmemAllocationProp prop;
    ok(cuMemGetAllocationPropertiesFromHandle(&prop, again));
    same(prop.type, CU_MEM_ALLOCATION_TYPE_PINNED);
    same(prop.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
    ok(cuMemRelease(again));
    ok(cuMemUnmap(base, piece));
    ok(cuMemAddressFree(base, piece));
}

static void moved(void)
{
    CUmemGenericAllocationHandle first = create(piece), second = create(piece);
    CUdeviceptr base = reserve(piece);
    map_all(base, piece, first);
    ok(launch_fill(base, 6, count, NULL));
    ok(cuCtxSynchronize());
    ok(cuMemUnmap(base, piece));
    map_all(base, piece, second);
    ok(launch_fill(base, 7, count, NULL));
    ok(cuCtxSynchronize());
    ok(cuMemUnmap(base, piece));
    map_all(base, piece, first);
    same(all_of(base, count), 6);
    ok(cuMemUnmap(base, piece));
    ok(cuMemRelease(first));
    ok(cuMemRelease(second));
    ok(cuMemAddressFree(base, piece));
}

static void told(void)
{
    CUmemGenericAllocationHandle handle = create(piece);
    CUdeviceptr base = reserve(piece);
    CUmemLocation here = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 };
    unsigned long long access;
    map_all(base, piece, handle);
    ok(cuMemGetAccess(&access, &here, base));
    same(access, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    ok(cuMemUnmap(base, piece));
    ok(cuMemRelease(handle));
    ok(cuMemAddressFree(base, piece));
}

static void wrong(void)
{
    CUmemGenericAllocationHandle handle = create(piece), other;
    CUmemAllocationProp prop = of_device();
    CUdeviceptr base = reserve(2 * piece);
    gives(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&other, piece + 1, &prop, 0));
    gives(CUDA_ERROR_NOT_SUPPORTED, cuMemMap(base, 2 * piece, 0, handle, 0));
    gives(CUDA_ERROR_INVALID_VALUE, allow(base, piece, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    ok(cuMemMap(base, piece, 0, handle, 0));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(base, 2 * piece));
    ok(cuMemUnmap(base, piece));
    ok(cuMemAddressFree(base, 2 * piece));
    ok(cuMemRelease(handle));
}

static void counted(void)
{
    size_t before, after, total;
    ok(cuMemGetInfo_v2(&before, &total));
    CUmemGenericAllocationHandle handle = create(16 * piece);
    ok(cuMemGetInfo_v2(&after, &total));
    check(after <= before - 16 * piece);
    ok(cuMemRelease(handle));
    ok(cuMemGetInfo_v2(&after, &total));
    same(after, before);
}

static void too_much(void)
{
    size_t free_bytes, total;
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp prop = of_device();
    ok(cuMemGetInfo_v2(&free_bytes, &total));
    gives(CUDA_ERROR_OUT_OF_MEMORY, cuMemCreate(&handle, (total / piece + 1) * piece, &prop, 0));
}

static void without_access(void)
{
    CUmemGenericAllocationHandle handle = create(piece);
    CUdeviceptr base = reserve(piece);
    ok(cuMemMap(base, piece, 0, handle, 0));
    ok(launch_fill(base, 1, count, NULL));
    gives(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
}

static void unmapped(void)
{
    CUmemGenericAllocationHandle handle = create(piece);
    CUdeviceptr base = reserve(piece);
    map_all(base, piece, handle);
    ok(cuMemUnmap(base, piece));
    ok(launch_fill(base, 1, count, NULL));
    gives(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
}

static void exported(void)
{
    CUmemAllocationProp prop = of_device();
    CUmemGenericAllocationHandle handle, again;
    CUdeviceptr first = reserve(piece), second = reserve(piece);
    int is_there, fd = -1;
    ok(cuDeviceGetAttribute(&is_there,
                            CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 0));
    if (!is_there)
        skip("allocations can't be exported as file descriptors");
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    ok(cuMemCreate(&handle, piece, &prop, 0));
    ok(cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    check(fcntl(fd, F_GETFD) >= 0);
    ok(cuMemImportFromShareableHandle(&again, (void *)(intptr_t)fd,
                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(fd);
    map_all(first, piece, handle);
    map_all(second, piece, again);
    ok(launch_fill(first, 8, count, NULL));
    ok(cuCtxSynchronize());
    same(all_of(second, count), 8);
    ok(cuMemUnmap(first, piece));
    ok(cuMemUnmap(second, piece));
    ok(cuMemRelease(handle));
    ok(cuMemRelease(again));
}

/* Memory of the host: both sides reach it by its address, or it is refused. */
static void of_host(void)
{
    CUmemAllocationProp prop = of_device();
    CUmemGenericAllocationHandle handle;
    int is_there;
    prop.location = (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_HOST_NUMA, .id = 0 };
    ok(cuDeviceGetAttribute(&is_there,
                            CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
    CUresult status = cuMemCreate(&handle, piece, &prop, 0);
    if (!is_there) {
        check(status);
        return;
    }
    if (status)
        skip("the system does not let CUDA place memory in a node");
    const CUmemAccessDesc access[] = {
        { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
          .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE },
        { .location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE },
    };
    CUdeviceptr base = reserve(piece);
    ok(cuMemMap(base, piece, 0, handle, 0));
    ok(cuMemSetAccess(base, piece, access, COUNT(access)));
    ok(launch_fill(base, 3, count, NULL));
    ok(cuCtxSynchronize());
    same(*(float *)(uintptr_t)base, 3);
    ok(cuMemUnmap(base, piece));
    ok(cuMemRelease(handle));
    ok(cuMemAddressFree(base, piece));
}

static const struct test tests[] = {
    { "an allocation is mapped and used", mapped, 0 },
    { "a reservation is filled piece by piece", grown, 0 },
    { "one allocation is mapped twice", twice, 0 },
    { "a released allocation lives on with its mapping", released, 0 },
    { "another allocation comes to the same address", moved, 0 },
    { "access is reported", told, 0 },
    { "wrong arguments are refused", wrong, 0 },
    { "allocations are counted", counted, 0 },
    { "more than the device has is out of memory", too_much, 0 },
    { "mapped without access is a fault", without_access, 0 },
    { "unmapped is a fault", unmapped, 0 },
    { "an exported allocation is the same memory", exported, 0 },
    { "memory of the host has one address, or is refused", of_host, 0 },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, setup, tests, COUNT(tests));
}
