/* Textures and surfaces of all shapes. */
#include "test.cuh"

enum { SIDE = 16, LAYERS = 4 };

static cudaArray_t new_array(cudaExtent size, unsigned flags)
{
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    ok(cudaMalloc3DArray(&array, &format, size, flags));
    return array;
}

static cudaMemcpy3DParms copy_of(void *host, cudaArray_t array, cudaExtent size,
                                 cudaMemcpyKind kind)
{
    cudaMemcpy3DParms copy = {};
    cudaPitchedPtr there = make_cudaPitchedPtr(host, size.width * sizeof(float), size.width,
                                               size.height ? size.height : 1);
    copy.extent =
        make_cudaExtent(size.width, size.height ? size.height : 1, size.depth ? size.depth : 1);
    copy.kind = kind;
    if (kind == cudaMemcpyHostToDevice) {
        copy.srcPtr = there;
        copy.dstArray = array;
    } else {
        copy.dstPtr = there;
        copy.srcArray = array;
    }
    return copy;
}

/* Each place gets a number that says where it is. */
static std::vector<float> fill(cudaArray_t array, cudaExtent size)
{
    std::vector<float> values(size.width * (size.height ? size.height : 1) *
                              (size.depth ? size.depth : 1));
    for (size_t i = 0; i < values.size(); i++)
        values[i] = (float)i;
    cudaMemcpy3DParms copy = copy_of(values.data(), array, size, cudaMemcpyHostToDevice);
    ok(cudaMemcpy3D(&copy));
    return values;
}

static cudaTextureObject_t texture_of(cudaArray_t array, cudaTextureFilterMode filter)
{
    cudaTextureObject_t texture;
    cudaResourceDesc what = {};
    cudaTextureDesc how = {};
    what.resType = cudaResourceTypeArray;
    what.res.array.array = array;
    how.addressMode[0] = how.addressMode[1] = how.addressMode[2] = cudaAddressModeClamp;
    how.filterMode = filter;
    ok(cudaCreateTextureObject(&texture, &what, &how, nullptr));
    return texture;
}

static cudaSurfaceObject_t surface_of(cudaArray_t array)
{
    cudaSurfaceObject_t surface;
    cudaResourceDesc what = {};
    what.resType = cudaResourceTypeArray;
    what.res.array.array = array;
    ok(cudaCreateSurfaceObject(&surface, &what));
    return surface;
}

enum shape { LAYERED, CUBE, VOLUME, GATHER };

__global__ void look_up(cudaTextureObject_t texture, shape is, float *out)
{
    float x = threadIdx.x + 0.5f, y = threadIdx.y + 0.5f;
    int z = blockIdx.x, i = (z * SIDE + threadIdx.y) * SIDE + threadIdx.x;
    if (is == LAYERED)
        out[i] = tex2DLayered<float>(texture, x, y, z);
    else if (is == CUBE) /* the middle of each face */
        out[i] = texCubemap<float>(texture,
                                   z == 0   ? 1
                                   : z == 1 ? -1
                                            : 0,
                                   z == 2   ? 1
                                   : z == 3 ? -1
                                            : 0,
                                   z == 4   ? 1
                                   : z == 5 ? -1
                                            : 0);
    else if (is == VOLUME)
        out[i] = tex3D<float>(texture, x, y, z + 0.5f);
    else
        out[i] = tex2Dgather<float4>(texture, x, y, 0).w;
}

static std::vector<float> looked_up(cudaArray_t array, shape is, int depth)
{
    cudaTextureObject_t texture = texture_of(array, cudaFilterModePoint);
    float *out = on_device<float>((size_t)depth * SIDE * SIDE);
    look_up<<<depth, dim3(SIDE, SIDE)>>>(texture, is, out);
    ok(cudaGetLastError());
    std::vector<float> got = read(out, (size_t)depth * SIDE * SIDE);
    ok(cudaDestroyTextureObject(texture));
    return got;
}

static void layers()
{
    needs_a_gpu();
    cudaExtent size = make_cudaExtent(SIDE, SIDE, LAYERS), told;
    cudaChannelFormatDesc format;
    unsigned flags;
    cudaArray_t array = new_array(size, cudaArrayLayered);
    ok(cudaArrayGetInfo(&format, &told, &flags, array));
    check(format.x == 32 && told.depth == LAYERS && flags == cudaArrayLayered);
    std::vector<float> values = fill(array, size);
    check(looked_up(array, LAYERED, LAYERS) == values);
    ok(cudaFreeArray(array));
}

static void cubes()
{
    needs_a_gpu();
    cudaExtent size = make_cudaExtent(SIDE, SIDE, 6);
    cudaArray_t array = new_array(size, cudaArrayCubemap);
    std::vector<float> values = fill(array, size), got = looked_up(array, CUBE, 6);
    for (size_t face = 0; face < 6; face++) {
        size_t in = (size_t)got[face * SIDE * SIDE];
        check(in / (SIDE * SIDE) == face);
    }
}

static void volumes()
{
    needs_a_gpu();
    cudaExtent size = make_cudaExtent(SIDE, SIDE, SIDE);
    cudaArray_t array = new_array(size, cudaArrayDefault);
    std::vector<float> values = fill(array, size), back(values.size());
    check(looked_up(array, VOLUME, SIDE) == values);
    cudaMemcpy3DParms copy = copy_of(back.data(), array, size, cudaMemcpyDeviceToHost);
    ok(cudaMemcpy3DAsync(&copy));
    ok(cudaStreamSynchronize(nullptr));
    check(back == values);
}

static void gathers()
{
    needs_a_gpu();
    cudaExtent size = make_cudaExtent(SIDE, SIDE, 0);
    cudaArray_t array = new_array(size, cudaArrayTextureGather);
    fill(array, size);
    std::vector<float> got = looked_up(array, GATHER, 1);
    printf("= gathered: %f %f\n", got[SIDE + 1], got[5 * SIDE + 7]);
}

__global__ void look_along(cudaTextureObject_t texture, float *out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = tex1Dfetch<float>(texture, i);
}

static void plain_memory()
{
    needs_a_gpu();
    enum { COUNT = 100000 };
    std::vector<unsigned char> values(COUNT);
    for (size_t i = 0; i < COUNT; i++)
        values[i] = (unsigned char)(i % 256);
    unsigned char *memory = on_device<unsigned char>(COUNT);
    float *out = on_device<float>(COUNT);
    ok(cudaMemcpy(memory, values.data(), COUNT, cudaMemcpyHostToDevice));
    cudaTextureObject_t texture;
    cudaResourceDesc what = {}, told;
    cudaTextureDesc how = {}, how_told;
    what.resType = cudaResourceTypeLinear;
    what.res.linear.devPtr = memory;
    what.res.linear.sizeInBytes = COUNT;
    what.res.linear.desc = cudaCreateChannelDesc<unsigned char>();
    how.readMode = cudaReadModeNormalizedFloat;
    ok(cudaCreateTextureObject(&texture, &what, &how, nullptr));
    look_along<<<(COUNT + 255) / 256, 256>>>(texture, out, COUNT);
    ok(cudaGetLastError());
    std::vector<float> got = read(out, COUNT);
    check(got[255] == 1 && got[256] == 0 && got[51] == 0.2f);
    ok(cudaGetTextureObjectResourceDesc(&told, texture));
    ok(cudaGetTextureObjectTextureDesc(&how_told, texture));
    check(told.res.linear.devPtr == memory && how_told.readMode == cudaReadModeNormalizedFloat);
    ok(cudaDestroyTextureObject(texture));
}

__global__ void look_at(cudaTextureObject_t texture, float x, float y, float *out)
{
    *out = tex2D<float>(texture, x, y);
}

static float at(cudaTextureObject_t texture, float x, float y)
{
    float *out = on_device<float>(1);
    look_at<<<1, 1>>>(texture, x, y, out);
    ok(cudaGetLastError());
    return read(out, 1)[0];
}

static void rows_with_a_pitch()
{
    needs_a_gpu();
    float *memory;
    size_t pitch;
    std::vector<float> values(100 * 50);
    for (size_t i = 0; i < values.size(); i++)
        values[i] = (float)i;
    ok(cudaMallocPitch(&memory, &pitch, 100 * sizeof(float), 50));
    ok(cudaMemcpy2D(memory, pitch, values.data(), 400, 400, 50, cudaMemcpyHostToDevice));
    cudaTextureObject_t texture;
    cudaResourceDesc what = {};
    cudaTextureDesc how = {};
    what.resType = cudaResourceTypePitch2D;
    what.res.pitch2D = { memory, cudaCreateChannelDesc<float>(), 100, 50, pitch };
    how.addressMode[0] = cudaAddressModeWrap;
    how.addressMode[1] = cudaAddressModeMirror;
    how.normalizedCoords = 1;
    ok(cudaCreateTextureObject(&texture, &what, &how, nullptr));
    check(at(texture, 0.005f, 0.01f) == 0 && at(texture, 1.005f, 0.01f) == 0);
    check(at(texture, 0.505f, 0.03f) == 150 && at(texture, 0.505f, -0.03f) == 150);
}

__global__ void paint(cudaSurfaceObject_t surface, float by)
{
    float before;
    surf3Dread(&before, surface, threadIdx.x * 4, threadIdx.y, blockIdx.x);
    surf3Dwrite(before * by, surface, threadIdx.x * 4, threadIdx.y, blockIdx.x);
}

static void painted_volumes()
{
    needs_a_gpu();
    cudaExtent size = make_cudaExtent(SIDE, SIDE, SIDE);
    cudaArray_t array = new_array(size, cudaArraySurfaceLoadStore);
    std::vector<float> values = fill(array, size), back(values.size());
    cudaSurfaceObject_t surface = surface_of(array);
    paint<<<SIDE, dim3(SIDE, SIDE)>>>(surface, 3);
    ok(cudaGetLastError());
    cudaMemcpy3DParms copy = copy_of(back.data(), array, size, cudaMemcpyDeviceToHost);
    ok(cudaMemcpy3D(&copy));
    for (size_t i = 0; i < values.size(); i++)
        check(back[i] == 3 * values[i]);
    ok(cudaDestroySurfaceObject(surface));
}

__global__ void shrink(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int side)
{
    int x = threadIdx.x, y = threadIdx.y;
    float sum = 0, one;
    if (x >= side || y >= side)
        return;
    for (int i = 0; i < 4; i++) {
        surf2Dread(&one, from, (2 * x + i % 2) * 4, 2 * y + i / 2);
        sum += one;
    }
    surf2Dwrite(sum / 4, to, x * 4, y);
}

__global__ void look_in_level(cudaTextureObject_t texture, float level, float *out)
{
    *out = tex2DLod<float>(texture, 0.5f, 0.5f, level);
}

static void levels()
{
    needs_a_gpu();
    enum { COUNT = 5 };
    cudaMipmappedArray_t whole;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaExtent size = make_cudaExtent(SIDE, SIDE, 0);
    ok(cudaMallocMipmappedArray(&whole, &format, size, COUNT, cudaArraySurfaceLoadStore));
    cudaArray_t level, next;
    ok(cudaGetMipmappedArrayLevel(&level, whole, 0));
    fill(level, size);
    for (unsigned i = 1; i < COUNT; i++, level = next) {
        ok(cudaGetMipmappedArrayLevel(&next, whole, i));
        shrink<<<1, dim3(SIDE, SIDE)>>>(surface_of(level), surface_of(next), SIDE >> i);
        ok(cudaGetLastError());
    }
    cudaTextureObject_t texture;
    cudaResourceDesc what = {};
    cudaTextureDesc how = {};
    what.resType = cudaResourceTypeMipmappedArray;
    what.res.mipmap.mipmap = whole;
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
    how.filterMode = how.mipmapFilterMode = cudaFilterModeLinear;
    how.normalizedCoords = 1;
    how.maxMipmapLevelClamp = COUNT - 1;
    ok(cudaCreateTextureObject(&texture, &what, &how, nullptr));
    float *out = on_device<float>(1);
    for (float at_level : { 0.0f, 1.0f, 2.5f, 4.0f }) {
        look_in_level<<<1, 1>>>(texture, at_level, out);
        check(read(out, 1)[0] == (SIDE * SIDE - 1) / 2.0f); /* the mean of all */
    }
    ok(cudaDestroyTextureObject(texture));
    ok(cudaFreeMipmappedArray(whole));
}

static void between_arrays()
{
    needs_a_gpu();
    cudaExtent size = make_cudaExtent(SIDE, SIDE, 0);
    cudaArray_t a = new_array(size, 0), b = new_array(size, 0);
    std::vector<float> values = fill(a, size), back(values.size());
    float *memory = on_device<float>(values.size());
    ok(cudaMemcpy2DArrayToArray(b, 0, 0, a, 0, 0, SIDE * 4, SIDE, cudaMemcpyDeviceToDevice));
    ok(cudaMemcpy2DFromArray(memory, SIDE * 4, b, 0, 0, SIDE * 4, SIDE, cudaMemcpyDeviceToDevice));
    check(read(memory, values.size()) == values);
    ok(cudaMemset(memory, 0, values.size() * 4));
    ok(cudaMemcpy2DToArrayAsync(b, 8, 4, memory, SIDE * 4, 8, 2, cudaMemcpyDeviceToDevice));
    ok(cudaMemcpy2DFromArray(back.data(), SIDE * 4, b, 0, 0, SIDE * 4, SIDE,
                             cudaMemcpyDeviceToHost));
    check(back[4 * SIDE + 2] == 0 && back[5 * SIDE + 3] == 0 && back[6 * SIDE + 2] == 98);
    cudaArrayMemoryRequirements needs;
    gives(cudaErrorInvalidValue, cudaArrayGetMemoryRequirements(&needs, a, 0));
    cudaGetLastError();
    ok(cudaArrayGetMemoryRequirements(&needs, new_array(size, cudaArrayDeferredMapping), 0));
    printf("= an array takes %zu bytes, aligned to %zu\n", needs.size, needs.alignment);
}

static const test tests[] = {
    { "layers", layers },
    { "cubes", cubes },
    { "volumes", volumes },
    { "four at once", gathers },
    { "plain memory as a texture", plain_memory },
    { "rows with a pitch as a texture", rows_with_a_pitch },
    { "surfaces of volumes", painted_volumes },
    { "levels of a mipmap", levels },
    { "copies between arrays", between_arrays },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, tests);
}
