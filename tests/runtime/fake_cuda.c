/*
 * A libcuda.so.1 with as much of the CUDA driver API as listing devices takes: FAKE_CUDA says what
 * it is like: "two" GPUs of an AC922, "none", "crash" or "hang" in cuInit().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NO_DEVICE = 100, INVALID_VALUE = 1 };

static int is_like(const char *word)
{
    const char *told = getenv("FAKE_CUDA");
    return told && !strcmp(told, word);
}

int cuInit(unsigned int flags)
{
    if (is_like("crash"))
        abort();
    if (is_like("hang"))
        for (;;)
            pause();
    return flags || is_like("none") ? NO_DEVICE : 0;
}

int cuDriverGetVersion(int *version)
{
    *version = 12020;
    return 0;
}

int cuDeviceGetCount(int *count)
{
    *count = 2;
    return 0;
}

int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return ordinal < 2 ? 0 : INVALID_VALUE;
}

int cuDeviceGetName(char *name, int length, int device)
{
    snprintf(name, (size_t)length, "Fake V100 %d", device);
    return 0;
}

int cuDeviceGetPCIBusId(char *text, int length, int device)
{
    snprintf(text, (size_t)length, "0004:0%d:00.0", 4 + device);
    return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    *bytes = (size_t)16 << 30;
    return device < 2 ? 0 : INVALID_VALUE;
}

int cuDeviceGetUuid(unsigned char *uuid, int device)
{
    for (int i = 0; i < 16; i++)
        uuid[i] = (unsigned char)(i + device);
    return 0;
}

int cuGetErrorName(int error, const char **name)
{
    *name = error == NO_DEVICE ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_INVALID_VALUE";
    return 0;
}
