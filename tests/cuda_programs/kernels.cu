/*
* The kernels that the simulated driver knows, for real GPUs: the programs here run on both.
 * kernels.ptx is made of this by `nvcc -ptx -arch=compute_75`, and its .version lowered by hand to
 * 7.0 (CUDA 11.0), which all of it is valid in. scatter, fill_view, put_address, occupy and
 * tell_processors were written by hand in the same manner.
 */
#include <cstdio>

extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

extern "C" __global__ void saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] += a * x[i];
}

extern "C" __global__ void fill(float *p, float v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] = v;
}

extern "C" __global__ void reduce_sum(const float *x, float *out, int n)
{
    if (blockIdx.x || threadIdx.x)
        return;
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i];
    *out = (float)sum;
}

extern "C" __global__ void matmul(const float *a, const float *b, float *c, int n)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || column >= n)
        return;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

/* Reads through pointers that are stored in memory. */
extern "C" __global__ void gather(const float *const *from, float *to, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        to[i] = *from[i];
}

/* Writes through pointers that are stored in memory. */
extern "C" __global__ void scatter(float *const *to, float v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        *to[i] = v;
}

struct view {
    int first, n;
    float *p;
    float v;
};

/* Gets its pointer inside of a parameter. */
extern "C" __global__ void fill_view(struct view view)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < view.n)
        view.p[view.first + i] = view.v;
}

/* Keeps an address for other kernels. */
extern "C" __global__ void put_address(void **where, void *address)
{
    if (!blockIdx.x && !threadIdx.x)
        *where = address;
}

/* Waits until the host has written the value, then reports it. */
extern "C" __global__ void await_value(volatile int *flag, int value, volatile int *answer)
{
    if (blockIdx.x || threadIdx.x)
        return;
    while (*flag != value)
        ;
    *answer = value;
}

extern "C" __global__ void say(int value)
{
    printf("thread %u of block %u says %d\n", threadIdx.x, blockIdx.x, value);
}

struct three {
    int x, y, z;
};

struct five {
    char c[5];
};

struct echoed {
    char one;
    short two;
    int four;
    long long eight;
    int4 sixteen;
    three twelve;
    five last;
};

/* Parameters of each size and alignment. */
extern "C" __global__ void echo(echoed *to, char one, short two, int four, long long eight,
                                int4 sixteen, three twelve, five last)
{
    *to = { one, two, four, eight, sixteen, twelve, last };
}

extern "C" __device__ float table[16];

/* Keeps the GPU busy for a while. The simulated driver takes so many microseconds; a GPU counts
 * loops, so that time in which another process has the GPU does not count. */
extern "C" __global__ void occupy(unsigned int us, unsigned int loops, unsigned int party)
{
    unsigned int value = us;
    for (unsigned int i = 0; i < loops; i++)
        value = value * 1664525 + 1013904223;
    if (value == party)
        table[0] = 0; /* without a use of the value the compiler drops the loop */
}

/* Marks the multiprocessor of each block. */
extern "C" __global__ void tell_processors(unsigned int *out)
{
    unsigned int processor;
    asm volatile("mov.u32 %0, %smid;" : "=r"(processor));
    out[processor] = 1;
}

/* A kernel that the simulated driver does not know. */
extern "C" __global__ void unknown(float *p)
{
    *p = table[0];
}
