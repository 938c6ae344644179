/*
 * The kernels that the simulated driver knows, for real ones: the programs here run on both.
 * kernels.ptx is made of this by `nvcc -ptx -arch=compute_75`, and its .version lowered by hand to
 * 7.0 (CUDA 11.0), which all of it is valid in.
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

/* Through pointers that lie in memory themselves. */
extern "C" __global__ void gather(const float *const *from, float *to, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        to[i] = *from[i];
}

/* Until the host has written the value; then says so. */
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

extern "C" __device__ float table[16];

/* One that the simulated driver does not know. */
extern "C" __global__ void unknown(float *p)
{
    *p = table[0];
}
