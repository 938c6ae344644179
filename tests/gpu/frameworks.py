"""Triton, CuPy, JAX, Numba, Transformers, torchvision, NVIDIA's own Python: each is skipped where it is not installed."""
import os

import support
from support import check, digest, gpu_torch, lacks, need, same, test

# ---- Triton: kernels must be in a file, which its compiler reads ----

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

if triton:
    @triton.jit
    def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = at < n
        tl.store(out + at, tl.load(x + at, mask) + tl.load(y + at, mask), mask)

    @triton.jit
    def product_kernel(a, b, c, N: tl.constexpr, BLOCK: tl.constexpr):
        rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
        total = tl.zeros((BLOCK, BLOCK), tl.float32)
        for k in range(0, N, BLOCK):
            inner = k + tl.arange(0, BLOCK)
            total += tl.dot(tl.load(a + rows[:, None] * N + inner[None]), tl.load(b + inner[:, None] * N + columns[None]))
        tl.store(c + rows[:, None] * N + columns[None], total.to(tl.float16))


def gpu_triton():
    need("triton")
    return gpu_torch()


@test(limit_s=120)
def triton_adds():
    torch = gpu_triton()
    x, y = torch.randn(2, 100001, device="cuda")
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(100001, 1024),)](x, y, out, 100001, BLOCK=1024)
    check(torch.equal(out, x + y))
    same("sum", support.bits(out))


@test(limit_s=120)
def triton_multiplies():
    torch = gpu_triton()
    a, b = (torch.randn(512, 512, device="cuda", dtype=torch.float16) for _ in range(2))
    c = torch.empty_like(a)
    product_kernel[(8, 8)](a, b, c, N=512, BLOCK=64)
    check(torch.allclose(c, a @ b, rtol=2e-2, atol=5e-2))
    same("product", support.bits(c))
    check(triton.testing.do_bench(lambda: product_kernel[(8, 8)](a, b, c, N=512, BLOCK=64), warmup=5, rep=20) > 0)


# ---- CuPy ----

def gpu_cupy():
    cupy = need("cupy")
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        lacks(f"CuPy sees no GPU: {error}")
    return cupy


@test(limit_s=120)
def cupy_kernels_of_its_own():
    cupy = gpu_cupy()
    kernel = cupy.RawKernel('extern "C" __global__ void twice(const float *x, float *y, int n) {'
                            " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 2 * x[i]; }", "twice")
    x = cupy.arange(10000, dtype=cupy.float32)
    y = cupy.empty_like(x)
    kernel((40,), (256,), (x, y, cupy.int32(10000)))
    check(bool((y == 2 * x).all()))
    check(int(cupy.ElementwiseKernel("int64 a, int64 b", "int64 c", "c = a * b", "product")(x.astype(int), x.astype(int)).sum())
          == sum(i * i for i in range(10000)))
    same("reduced", float(cupy.ReductionKernel("T x", "T y", "x * x", "a + b", "y = a", "0", "squares")(x)))


@test(limit_s=120)
def cupy_libraries():
    cupy = gpu_cupy()
    x = cupy.asarray(__import__("numpy").random.default_rng(5).standard_normal((256, 256)))
    same("product", digest(cupy.asnumpy(x @ x)))
    check(bool(cupy.allclose(cupy.fft.ifft(cupy.fft.fft(x)).real, x)))
    check(bool(cupy.allclose(x @ cupy.linalg.solve(x, x), x)))
    u, s, v = cupy.linalg.svd(x)
    check(bool(cupy.allclose(u @ cupy.diag(s) @ v, x)))
    same("sorted", digest(cupy.asnumpy(cupy.sort(x, axis=None))))
    same("random", digest(cupy.asnumpy(cupy.random.default_rng(7).random(1000))))


@test(limit_s=120)
def cupy_streams_pools_and_pinned_memory():
    cupy = gpu_cupy()
    import numpy
    memory = cupy.cuda.alloc_pinned_memory(8 << 20)
    host = numpy.frombuffer(memory, numpy.float64, 1 << 20)
    host[:] = numpy.arange(1 << 20)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        x = cupy.empty(1 << 20)
        x.set(host)
        y = cupy.sqrt(x)
        stream.synchronize()
    check(numpy.allclose(y.get(), numpy.sqrt(host)))
    cupy.cuda.set_allocator(cupy.cuda.MemoryAsyncPool().malloc)
    check(int(cupy.ones(1000, dtype=int).sum()) == 1000)
    cupy.cuda.set_allocator(cupy.cuda.MemoryPool(cupy.cuda.malloc_managed).malloc)
    check(int(cupy.ones(1000, dtype=int).sum()) == 1000)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        x = cupy.zeros(1000)
        stream.begin_capture()
        x += 1
        graph = stream.end_capture()
        for _ in range(10):
            graph.launch(stream)
    stream.synchronize()
    check(float(x.sum()) == 10000)


# ---- JAX ----

def gpu_jax(is_deterministic=False):
    if is_deterministic:  # else algorithms are chosen by timing
        os.environ["XLA_FLAGS"] = "--xla_gpu_deterministic_ops=true --xla_gpu_autotune_level=0"
    jax = need("jax")
    if jax.default_backend() != "gpu":
        lacks("JAX sees no GPU")
    return jax


@test(limit_s=120)
def jax_compiles_and_differentiates():
    jax = gpu_jax(True)
    import numpy
    keys = jax.random.split(jax.random.PRNGKey(0), 3)
    w, b, x = (jax.random.normal(k, shape) for k, shape in zip(keys, [(64, 64), (64,), (128, 64)]))

    @jax.jit
    def step(w, b):
        value, (gw, gb) = jax.value_and_grad(lambda w, b: (jax.numpy.tanh(x @ w + b) ** 2).mean(), (0, 1))(w, b)
        return value, w - 0.1 * gw, b - 0.1 * gb

    losses = []
    for _ in range(50):
        value, w, b = step(w, b)
        losses.append(float(value))
    check(losses[-1] < losses[0])
    same("loss", losses[-1])
    same("weights", digest(numpy.asarray(w)))


@test(limit_s=150)
def jax_libraries():
    jax = gpu_jax()
    jnp = jax.numpy
    x = jax.random.normal(jax.random.PRNGKey(1), (128, 128))
    check(bool(jnp.allclose(jnp.fft.ifft(jnp.fft.fft(x)).real, x, atol=1e-4)))
    values, vectors = jnp.linalg.eigh(x + x.T)
    check(bool(jnp.allclose(vectors @ jnp.diag(values) @ vectors.T, x + x.T, atol=1e-2)))
    y = jax.lax.conv(jnp.ones((2, 3, 16, 16)), jnp.ones((4, 3, 3, 3)), (1, 1), "SAME")
    check(float(y[0, 0, 5, 5]) == 27)
    total, _ = jax.lax.scan(lambda a, b: (a + b, a), 0.0, jnp.arange(100.0))
    check(float(total) == 4950)
    check(bool(jnp.all(jnp.sort(x.ravel())[1:] >= jnp.sort(x.ravel())[:-1])))
    check(int(jax.device_get(jax.device_put(jnp.arange(1 << 20))).sum()) == (1 << 19) * ((1 << 20) - 1))


# ---- Numba ----

@test(limit_s=120)
def numba_kernels():
    need("numba")
    import numpy
    support.old_numpy(numpy)
    from numba import cuda
    if not cuda.is_available():
        lacks("Numba sees no GPU")

    @cuda.jit
    def twice(x, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = 2 * x[i]

    x = numpy.arange(10000, dtype=numpy.float32)
    y = numpy.zeros_like(x)
    twice[40, 256](x, y)
    check((y == 2 * x).all())


# ---- what stands on PyTorch and JAX, NVIDIA's Python ----

@test(limit_s=150)
def gpt2_writes():
    """Random weights: nothing is fetched."""
    transformers = need("transformers")
    torch = gpu_torch(True)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config()).cuda().eval()
    ids = torch.randint(50257, (1, 16), generator=torch.Generator().manual_seed(6)).cuda()
    out = model.generate(ids, max_new_tokens=64, do_sample=False, pad_token_id=0)
    same("words", out.tolist())


@test(limit_s=150)
def resnet_of_torchvision():
    need("torchvision")
    torch = gpu_torch(True)
    import torchvision
    model = torchvision.models.resnet50(weights=None).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    x = torch.randn(16, 3, 224, 224, generator=torch.Generator().manual_seed(7)).cuda()
    for _ in range(5):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
    same("loss", loss.item())
    model.eval()
    with torch.no_grad():
        same("answer", support.bits(model(x)))


@test(limit_s=120)
def bert_learns():
    transformers = need("transformers")
    torch = gpu_torch(True)
    config = transformers.BertConfig(num_hidden_layers=4, attn_implementation="eager")
    model = transformers.BertForSequenceClassification(config).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    ids = torch.randint(30000, (16, 64), generator=torch.Generator().manual_seed(8)).cuda()
    labels = (ids[:, 0] % 2).long()
    for _ in range(10):
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(input_ids=ids, labels=labels).loss
        loss.backward()
        optimizer.step()
    same("loss", loss.item())


@test(limit_s=120)
def llama_writes():
    """Grouped attention, rotary places, a cache of keys; sampled."""
    transformers = need("transformers")
    torch = gpu_torch()
    config = transformers.LlamaConfig(hidden_size=512, intermediate_size=1024, num_hidden_layers=4, num_attention_heads=8,
                                      num_key_value_heads=2, vocab_size=5000)
    model = transformers.LlamaForCausalLM(config).cuda().to(torch.bfloat16).eval()
    ids = torch.randint(5000, (2, 16), generator=torch.Generator().manual_seed(9)).cuda()
    torch.manual_seed(10)
    same("words", model.generate(ids, max_new_tokens=32, do_sample=True, top_k=50, pad_token_id=0).tolist())


@test(limit_s=120)
def a_vision_transformer_of_timm():
    timm = need("timm")
    torch = gpu_torch()
    model = timm.create_model("vit_tiny_patch16_224", pretrained=False).cuda().half()
    x = torch.randn(8, 3, 224, 224, generator=torch.Generator().manual_seed(11)).cuda().half()
    model(x).float().square().mean().backward()
    with torch.no_grad():
        same("answer", support.bits(model.eval()(x)))


@test(limit_s=120)
def accelerate_trains():
    need("accelerate")
    torch = gpu_torch()
    from accelerate import Accelerator
    accelerator = Accelerator(mixed_precision="bf16")
    data = torch.utils.data.TensorDataset(torch.randn(256, 32), torch.randn(256, 1))
    model = torch.nn.Linear(32, 1)
    model, optimizer, loader = accelerator.prepare(model, torch.optim.SGD(model.parameters(), 0.01),
                                                   torch.utils.data.DataLoader(data, 32, num_workers=2, pin_memory=True))
    for x, y in loader:
        optimizer.zero_grad()
        accelerator.backward(torch.nn.functional.mse_loss(model(x), y))
        optimizer.step()
    check(next(model.parameters()).is_cuda)


@test(limit_s=150)
def lightning_trains():
    need("lightning")
    torch = gpu_torch()
    import lightning

    class Line(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.line = torch.nn.Linear(32, 1)

        def training_step(self, batch, _):
            return torch.nn.functional.mse_loss(self.line(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), 1e-3)

    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(256, 32), torch.randn(256, 1)), 32)
    trainer = lightning.Trainer(max_epochs=2, accelerator="gpu", devices=1, logger=False, enable_checkpointing=False,
                                enable_progress_bar=False)
    trainer.fit(Line(), loader)
    check(trainer.global_step == 16, trainer.global_step)


@test(limit_s=120)
def flax_and_optax_train():
    jax = gpu_jax()
    need("flax")
    linen, optax = need("flax.linen"), need("optax")
    model = linen.Sequential([linen.Conv(16, (3, 3)), linen.relu, lambda x: x.mean((1, 2)), linen.Dense(10)])
    x = jax.random.normal(jax.random.PRNGKey(0), (32, 16, 16, 3))
    y = jax.numpy.arange(32) % 10
    weights = model.init(jax.random.PRNGKey(1), x)
    optimizer = optax.adam(1e-2)
    state = optimizer.init(weights)

    def loss_of(weights):
        return optax.softmax_cross_entropy_with_integer_labels(model.apply(weights, x), y).mean()

    @jax.jit
    def step(weights, state):
        value, gradient = jax.value_and_grad(loss_of)(weights)
        change, state = optimizer.update(gradient, state)
        return value, optax.apply_updates(weights, change), state

    first, weights, state = step(weights, state)
    for _ in range(30):
        value, weights, state = step(weights, state)
    check(float(value) < float(first), float(first), float(value))


@test(limit_s=200)
def a_model_compiled_ahead():
    """AOTInductor: a shared library that loads its kernels itself."""
    import tempfile
    torch = gpu_torch()
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.Linear(64, 8)).cuda().eval()
    x = torch.randn(32, 64, device="cuda")
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        path = torch._inductor.aoti_compile_and_package(torch.export.export(model, (x,)),
                                                        package_path=os.path.join(folder, "model.pt2"))
        check(torch.allclose(torch._inductor.aoti_load_package(path)(x), model(x), atol=1e-2))


@test(limit_s=90)
def functions_of_functions():
    """torch.func: vmap, grad, jacobians."""
    torch = gpu_torch()
    from torch.func import grad, jacrev, vmap
    x = torch.randn(100, 8, device="cuda")
    check(torch.allclose(vmap(grad(lambda v: (v ** 3).sum()))(x), 3 * x ** 2, atol=1e-4))
    check(torch.allclose(jacrev(torch.sin)(x[0]), x[0].cos().diag(), atol=1e-5))


@test(limit_s=60)
def cuda_bindings():
    need("cuda")
    need("cuda.bindings")
    from cuda.bindings import driver, runtime
    status, = driver.cuInit(0)
    check(status == driver.CUresult.CUDA_SUCCESS, status)
    same("count", driver.cuDeviceGetCount()[1])
    status, address = runtime.cudaMalloc(1 << 20)
    check(status == runtime.cudaError_t.cudaSuccess, status)
    check(runtime.cudaMemset(address, 7, 1 << 20)[0] == runtime.cudaError_t.cudaSuccess)
    host = bytearray(1 << 20)
    check(runtime.cudaMemcpy(host, address, 1 << 20, runtime.cudaMemcpyKind.cudaMemcpyDeviceToHost)[0]
          == runtime.cudaError_t.cudaSuccess)
    check(host == b"\7" * (1 << 20))
    check(runtime.cudaFree(address)[0] == runtime.cudaError_t.cudaSuccess)


@test(limit_s=200)
def a_c_extension_of_pytorch():
    """nvcc builds it here."""
    import shutil
    import tempfile
    torch = gpu_torch()
    os.environ["PATH"] += ":/usr/local/cuda/bin"
    if not shutil.which("nvcc") or not shutil.which("ninja"):
        raise support.Skip("no nvcc, or no ninja")
    from torch.utils.cpp_extension import load_inline
    source = """
    __global__ void twice(const float *x, float *y, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) y[i] = 2 * x[i]; }
    torch::Tensor doubled(torch::Tensor x) { auto y = torch::empty_like(x);
        twice<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel()); return y; }
    """
    os.environ["TORCH_CUDA_ARCH_LIST"] = "{}.{}".format(*torch.cuda.get_device_capability())
    with tempfile.TemporaryDirectory() as folder:
        module = load_inline("twice", "torch::Tensor doubled(torch::Tensor x);", source, functions=["doubled"],
                             build_directory=folder)
        x = torch.randn(10000, device="cuda")
        check(torch.equal(module.doubled(x), 2 * x))


if __name__ == "__main__":
    support.main()
