"""Libraries that stand on PyTorch, JAX, Triton, CuPy and Numba, and NVIDIA's Python: a few steps of each that is installed."""
import tempfile

import support
from support import bits, check, digest, gpu_torch, lacks, need, same, test

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None


# ---- on PyTorch ----

@test(limit_s=120)
def gpytorch_fits():
    gpytorch = need("gpytorch")
    torch = gpu_torch()
    x = torch.linspace(0, 1, 100, device="cuda")
    y = (x * 6.28).sin()

    class Model(gpytorch.models.ExactGP):
        def __init__(self, likelihood):
            super().__init__(x, y, likelihood)
            self.mean = gpytorch.means.ConstantMean()
            self.covariance = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, at):
            return gpytorch.distributions.MultivariateNormal(self.mean(at), self.covariance(at))

    likelihood = gpytorch.likelihoods.GaussianLikelihood().cuda()
    model = Model(likelihood).cuda()
    marginal = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    optimizer = torch.optim.Adam(model.parameters(), 0.1)
    for _ in range(40):
        optimizer.zero_grad()
        loss = -marginal(model(x), y)
        loss.backward()
        optimizer.step()
    model.eval()
    likelihood.eval()
    with torch.no_grad(), gpytorch.settings.fast_pred_var():
        mean = likelihood(model(torch.tensor([0.25], device="cuda"))).mean.item()
    check(0.9 < mean < 1.1, mean)


@test(limit_s=150)
def botorch_looks_for_the_best():
    need("botorch")
    torch = gpu_torch()
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood
    x = torch.rand(20, 2, device="cuda", dtype=torch.float64)
    y = -(x - 0.5).square().sum(1, keepdim=True)
    model = SingleTaskGP(x, y)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    bounds = torch.tensor([[0.0, 0.0], [1.0, 1.0]], device="cuda", dtype=torch.float64)
    best, _ = optimize_acqf(LogExpectedImprovement(model, best_f=y.max()), bounds=bounds, q=1, num_restarts=3, raw_samples=32)
    check(best.is_cuda and ((best >= 0) & (best <= 1)).all().item())


@test(limit_s=90)
def a_graph_network():
    need("torch_geometric")
    torch = gpu_torch()
    from torch_geometric.nn import GATConv, GCNConv
    edges = torch.randint(200, (2, 1000), generator=torch.Generator().manual_seed(1)).cuda()
    x = torch.randn(200, 16, device="cuda")
    first, second = GCNConv(16, 32).cuda(), GATConv(32, 4).cuda()
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], 0.01)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(second(first(x, edges).relu(), edges), torch.arange(200, device="cuda") % 4)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    check(losses[-1] < losses[0], losses)


@test(limit_s=90)
def sounds():
    torchaudio = need("torchaudio")
    torch = gpu_torch()
    wave = torch.sin(torch.arange(16000, device="cuda") * 0.3)[None]
    spectrum = torchaudio.transforms.Spectrogram(400).cuda()(wave)
    same("spectrum", bits(spectrum))
    check(spectrum.shape[1] == 201)
    half = torchaudio.transforms.Resample(16000, 8000).cuda()(wave)
    check(half.shape[1] == 8000)
    check(torchaudio.transforms.MelSpectrogram(16000).cuda()(wave).isfinite().all().item())


@test(limit_s=90)
def differential_equations():
    need("torchdiffeq")
    torch = gpu_torch()
    from torchdiffeq import odeint, odeint_adjoint
    y = torch.ones(50, device="cuda", requires_grad=True)
    at = torch.linspace(0, 1, 5, device="cuda")
    out = odeint(lambda t, y: -y, y, at, method="dopri5")
    check(torch.allclose(out[-1], torch.full_like(y, 0.36788), atol=1e-4))

    class Field(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.line = torch.nn.Linear(50, 50)

        def forward(self, _t, y):
            return self.line(y).tanh()

    field = Field().cuda()
    odeint_adjoint(field, y, at).square().sum().backward()
    check(field.line.weight.grad.isfinite().all().item())


@test(limit_s=120)
def tensors_that_turn():
    """e3nn: turned before or after, it is the same."""
    need("e3nn")
    torch = gpu_torch()
    from e3nn import o3
    inputs = o3.Irreps("4x0e + 4x1o")
    product = o3.FullyConnectedTensorProduct(inputs, inputs, inputs).cuda()
    turn = o3.rand_matrix()
    by = inputs.D_from_matrix(turn).cuda()
    x, y = torch.randn(2, 10, inputs.dim, device="cuda")
    check(torch.allclose(product(x @ by.T, y @ by.T), product(x, y) @ by.T, atol=1e-3))


@test(limit_s=120)
def weights_of_low_rank():
    need("peft")
    transformers = need("transformers")
    torch = gpu_torch()
    from peft import LoraConfig, get_peft_model
    config = transformers.LlamaConfig(hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4,
                                      num_key_value_heads=2, vocab_size=1000)
    model = get_peft_model(transformers.LlamaForCausalLM(config),
                           LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")).cuda()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], 1e-2)
    ids = torch.randint(1000, (4, 32), generator=torch.Generator().manual_seed(2)).cuda()
    losses = []
    for _ in range(10):
        optimizer.zero_grad()
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    check(losses[-1] < losses[0], losses)
    merged = model.merge_and_unload()
    check(merged(input_ids=ids).logits.isfinite().all().item())


@test(limit_s=120)
def sentences_become_vectors():
    """A model with random weights, in a folder as one that was fetched."""
    need("sentence_transformers")
    need("tokenizers")
    transformers = need("transformers")
    gpu_torch()
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer, models, pre_tokenizers
    words = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "a", "small", "large", "house", "tree"])}
    plain = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    plain.pre_tokenizer = pre_tokenizers.Whitespace()
    with tempfile.TemporaryDirectory() as folder:
        transformers.PreTrainedTokenizerFast(tokenizer_object=plain, unk_token="[UNK]", pad_token="[PAD]",
                                             model_max_length=32).save_pretrained(folder)
        transformers.BertModel(transformers.BertConfig(vocab_size=len(words), hidden_size=64, num_hidden_layers=2,
                                                       num_attention_heads=4, intermediate_size=128)).save_pretrained(folder)
        model = SentenceTransformer(folder, device="cuda")
        vectors = model.encode(["a small house", "a large tree", "a small house"] * 20, batch_size=8, show_progress_bar=False)
    check(vectors.shape == (60, 64))
    check(abs(vectors[0] - vectors[2]).max() < 1e-5 < abs(vectors[0] - vectors[1]).max())


@test(limit_s=90)
def scores():
    torchmetrics = need("torchmetrics")
    torch = gpu_torch()
    scores_of = torchmetrics.MetricCollection({
        "accuracy": torchmetrics.classification.MulticlassAccuracy(5), "f1": torchmetrics.classification.MulticlassF1Score(5),
        "area": torchmetrics.classification.MulticlassAUROC(5)}).to("cuda")
    for i in range(5):
        generator = torch.Generator().manual_seed(i)
        scores_of.update(torch.randn(200, 5, generator=generator).softmax(1).cuda(),
                         torch.randint(5, (200,), generator=generator).cuda())
    for name, value in scores_of.compute().items():
        check(value.is_cuda and 0 < value.item() < 1, name, value)


@test(limit_s=120)
def boxes_and_pictures():
    need("torchvision")
    torch = gpu_torch()
    from torchvision import ops
    from torchvision.transforms import v2
    boxes = torch.rand(300, 4, generator=torch.Generator().manual_seed(3)).cuda() * 100
    boxes[:, 2:] += boxes[:, :2] + 1
    kept = ops.nms(boxes, torch.linspace(1, 0, 300, device="cuda"), 0.3)
    same("kept", kept.tolist())
    regions = torch.cat([torch.zeros(300, 1, device="cuda"), boxes], 1)
    check(ops.roi_align(torch.ones(1, 8, 200, 200, device="cuda"), regions, 7).shape == (300, 8, 7, 7))
    pictures = torch.randint(256, (4, 3, 64, 64), dtype=torch.uint8, device="cuda")
    change = v2.Compose([v2.Resize(48), v2.RandomHorizontalFlip(1.0), v2.ToDtype(torch.float32, scale=True)])
    check(change(pictures).shape == (4, 3, 48, 48))


@test(limit_s=120)
def a_jpeg_is_read_by_the_gpu():
    need("torchvision")
    torch = gpu_torch()
    from torchvision.io import decode_jpeg, encode_jpeg
    picture = (torch.arange(3 * 64 * 64) % 256).to(torch.uint8).reshape(3, 64, 64)
    coded = encode_jpeg(picture, 95)
    decoded = decode_jpeg(coded, device="cuda")
    check(decoded.is_cuda and decoded.shape == picture.shape)


@test(limit_s=150)
def a_trainer_of_transformers():
    transformers = need("transformers")
    need("accelerate")
    torch = gpu_torch()
    config = transformers.BertConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
                                     vocab_size=1000)
    data = [{"input_ids": torch.full((16,), i % 1000), "labels": torch.tensor(i % 2)} for i in range(128)]
    with tempfile.TemporaryDirectory() as folder:
        options = transformers.TrainingArguments(folder, num_train_epochs=1, per_device_train_batch_size=16, bf16=True,
                                                 report_to=[], logging_steps=2, save_strategy="no", disable_tqdm=True)
        trainer = transformers.Trainer(model=transformers.BertForSequenceClassification(config), args=options, train_dataset=data)
        outcome = trainer.train()
    check(outcome.global_step == len(data) // options.train_batch_size and trainer.model.device.type == "cuda")


@test(limit_s=120)
def t5_and_clip():
    transformers = need("transformers")
    torch = gpu_torch(True)
    config = transformers.T5Config(d_model=64, d_ff=128, num_layers=2, num_heads=4, d_kv=16, vocab_size=500,
                                   decoder_start_token_id=0)
    model = transformers.T5ForConditionalGeneration(config).cuda().eval()
    ids = torch.randint(1, 500, (2, 12), generator=torch.Generator().manual_seed(4)).cuda()
    same("words", model.generate(ids, max_new_tokens=16, num_beams=3, do_sample=False).tolist())
    small = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
    clip = transformers.CLIPModel(transformers.CLIPConfig(text_config={**small, "vocab_size": 500, "eos_token_id": 2},
                                                          vision_config={**small, "image_size": 64, "patch_size": 16},
                                                          projection_dim=32)).cuda().eval()
    with torch.no_grad():
        answer = clip(input_ids=ids, pixel_values=torch.ones(2, 3, 64, 64, device="cuda"), attention_mask=torch.ones_like(ids))
    check(answer.logits_per_image.shape == (2, 2))


# ---- on JAX ----

def gpu_jax():
    jax = need("jax")
    if jax.default_backend() != "gpu":
        lacks("JAX sees no GPU")
    return jax


@test(limit_s=120)
def diffrax_solves():
    diffrax = need("diffrax")
    jax = gpu_jax()
    answer = diffrax.diffeqsolve(diffrax.ODETerm(lambda t, y, args: -y), diffrax.Tsit5(), 0.0, 1.0, 0.1, jax.numpy.ones(100),
                                 stepsize_controller=diffrax.PIDController(rtol=1e-6, atol=1e-6))
    check(abs(float(answer.ys[-1, 0]) - 0.367879) < 1e-4)


@test(limit_s=150)
def numpyro_samples():
    numpyro = need("numpyro")
    jax = gpu_jax()
    from numpyro import distributions
    from numpyro.infer import MCMC, NUTS

    def model(y):
        mean = numpyro.sample("mean", distributions.Normal(0, 10))
        numpyro.sample("y", distributions.Normal(mean, 1), obs=y)

    sampler = MCMC(NUTS(model), num_warmup=50, num_samples=50, progress_bar=False)
    sampler.run(jax.random.PRNGKey(0), 3 + jax.random.normal(jax.random.PRNGKey(1), (200,)))
    check(2.5 < float(sampler.get_samples()["mean"].mean()) < 3.5)


@test(limit_s=120)
def equinox_optimistix_and_lineax():
    eqx, lineax, optimistix = need("equinox"), need("lineax"), need("optimistix")
    jax = gpu_jax()
    jnp = jax.numpy
    model = eqx.nn.MLP(2, 1, 16, 2, key=jax.random.PRNGKey(0))
    x = jax.random.normal(jax.random.PRNGKey(1), (64, 2))

    @eqx.filter_jit
    def step(model):
        value, gradient = eqx.filter_value_and_grad(lambda m: ((jax.vmap(m)(x)[:, 0] - x[:, 0]) ** 2).mean())(model)
        return value, eqx.apply_updates(model, jax.tree_util.tree_map(lambda g: -0.05 * g, gradient))

    first, model = step(model)
    for _ in range(30):
        value, model = step(model)
    check(float(value) < float(first))
    matrix = jax.random.normal(jax.random.PRNGKey(2), (16, 16)) + 8 * jnp.eye(16)
    solved = lineax.linear_solve(lineax.MatrixLinearOperator(matrix), jnp.ones(16)).value
    check(bool(jnp.allclose(matrix @ solved, 1, atol=1e-3)))
    root = optimistix.root_find(lambda y, _: y ** 2 - 2, optimistix.Newton(rtol=1e-5, atol=1e-5), jnp.full((3,), 1.0)).value
    check(bool(jnp.allclose(root, 2 ** 0.5, atol=1e-4)))


@test(limit_s=120)
def pallas_kernels():
    """JAX's own kernels, through Triton."""
    jax = gpu_jax()
    need("jax.experimental.pallas")
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import triton as pallas_triton

    def add(x, y, out):
        out[...] = x[...] + y[...]

    x, y = jax.random.normal(jax.random.PRNGKey(0), (2, 4096))
    block = pl.BlockSpec((1024,), lambda i: (i,))
    out = jax.jit(pl.pallas_call(add, out_shape=jax.ShapeDtypeStruct((4096,), x.dtype), grid=(4,), in_specs=[block, block],
                                 out_specs=block, compiler_params=pallas_triton.CompilerParams()))(x, y)
    check(bool((out == x + y).all()))


@test(limit_s=120)
def jax_spreads_over_devices():
    jax = gpu_jax()
    from jax.sharding import NamedSharding, PartitionSpec
    mesh = jax.make_mesh((1,), ("i",))
    total = jax.shard_map(lambda x: jax.lax.psum(x.sum(), "i"), mesh=mesh, in_specs=PartitionSpec("i"), out_specs=PartitionSpec())
    x = jax.device_put(jax.numpy.arange(100.0), NamedSharding(mesh, PartitionSpec("i")))
    check(float(jax.jit(total)(x)) == 4950)
    check(float(jax.pmap(lambda x: jax.lax.psum(x, "j"), axis_name="j")(jax.numpy.ones((1, 10)))[0, 3]) == 1)


@test(limit_s=120)
def jax_calls_the_host():
    """Functions of the program's in compiled ones, with copies there and back."""
    jax = gpu_jax()
    import numpy
    from jax.experimental import io_callback
    told = []

    @jax.jit
    def function(x):
        y = jax.pure_callback(lambda v: numpy.sort(v), jax.ShapeDtypeStruct(x.shape, x.dtype), -x)
        io_callback(lambda v: told.append(float(v)), None, y[0], ordered=True)
        jax.debug.callback(lambda v: told.append(float(v)), y[-1])
        return y * 2

    for i in range(20):
        check(float(function(jax.numpy.arange(1000.0) + i)[0]) == -2 * (999 + i))
    jax.effects_barrier()
    check(len(told) == 40 and min(told) == -1018 and max(told) == 0, told)


@test(limit_s=120)
def jax_puts_arrays_into_pinned_memory():
    jax = gpu_jax()
    x = jax.numpy.arange(100000.0)
    there = jax.device_put(x, x.sharding.with_memory_kind("pinned_host"))
    check(there.sharding.memory_kind == "pinned_host")
    back = jax.device_put(there, x.sharding)
    check(bool((back == x).all()))


@test(limit_s=150)
def jax_attends_by_cudnn():
    jax = gpu_jax()
    q, k, v = (jax.random.normal(key, (2, 128, 4, 64), dtype=jax.numpy.bfloat16)
               for key in jax.random.split(jax.random.PRNGKey(0), 3))
    fused = jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation="cudnn")
    plain = jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation="xla")
    check(bool(jax.numpy.allclose(fused.astype(float), plain.astype(float), atol=3e-2)))


@test(limit_s=120)
def flax_with_its_new_modules():
    need("flax")
    nnx, optax = need("flax.nnx"), need("optax")
    jax = gpu_jax()

    class Model(nnx.Module):
        def __init__(self, rngs):
            self.first, self.last = nnx.Linear(8, 32, rngs=rngs), nnx.Linear(32, 1, rngs=rngs)
            self.drop = nnx.Dropout(0.1, rngs=rngs)

        def __call__(self, x):
            return self.last(self.drop(jax.nn.relu(self.first(x))))

    model = Model(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
    x = jax.random.normal(jax.random.PRNGKey(1), (64, 8))

    @nnx.jit
    def step(model, optimizer):
        value, gradient = nnx.value_and_grad(lambda m: ((m(x)[:, 0] - x[:, 0]) ** 2).mean())(model)
        optimizer.update(model, gradient)
        return value

    values = [float(step(model, optimizer)) for _ in range(30)]
    check(values[-1] < values[0], values)


# ---- NVIDIA's Python ----

ADD_AND_SCALE = """
extern "C" __global__ void scale(float *x, float by, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = by * i;
}
template <typename T> __global__ void add(const T *x, const T *y, T *out, size_t n) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = x[i] + y[i];
}
"""


def done(answer):
    """Checks the status of a function of cuda.bindings, and returns the values behind it."""
    status, *values = answer
    check(int(status) == 0, status)
    return values[0] if len(values) == 1 else values


@test(limit_s=90)
def bindings_compile_and_launch():
    """NVRTC, the driver and the runtime."""
    need("cuda")
    need("cuda.bindings")
    import ctypes
    import numpy
    from cuda.bindings import driver, nvrtc, runtime
    done(runtime.cudaFree(0))
    major, minor = (done(runtime.cudaDeviceGetAttribute(getattr(runtime.cudaDeviceAttr, f"cudaDevAttrComputeCapability{part}"), 0))
                    for part in ("Major", "Minor"))
    program = done(nvrtc.nvrtcCreateProgram(ADD_AND_SCALE.encode(), b"scale.cu", 0, [], []))
    done(nvrtc.nvrtcCompileProgram(program, 1, [f"--gpu-architecture=sm_{major}{minor}".encode()]))
    image = b" " * done(nvrtc.nvrtcGetCUBINSize(program))
    done(nvrtc.nvrtcGetCUBIN(program, image))
    kept = ctypes.create_string_buffer(image, len(image))
    module = done(driver.cuModuleLoadData(ctypes.addressof(kept)))
    kernel = done(driver.cuModuleGetFunction(module, b"scale"))
    stream = done(driver.cuStreamCreate(0))
    x = done(driver.cuMemAlloc(4096 * 4))
    done(driver.cuLaunchKernel(kernel, 16, 1, 1, 256, 1, 1, 0, stream, ((int(x), 3.0, 4096), (ctypes.c_void_p, ctypes.c_float,
                                                                                               ctypes.c_int)), 0))
    got = numpy.zeros(4096, numpy.float32)
    done(driver.cuMemcpyDtoHAsync(got.ctypes.data, x, got.nbytes, stream))
    done(driver.cuStreamSynchronize(stream))
    check((got == 3 * numpy.arange(4096)).all())
    done(driver.cuMemFree(x))
    done(driver.cuModuleUnload(module))


def cuda_core():
    need("cuda")
    try:
        need("cuda.core")
        import cuda.core as core
        return core if hasattr(core, "Device") else need("cuda.core.experimental")
    except ModuleNotFoundError as error:
        raise support.Skip(f"no cuda.core: {error}") from error


@test(limit_s=90)
def core_compiles_and_launches():
    core = cuda_core()
    import numpy
    device = core.Device()
    device.set_current()
    stream = device.create_stream()
    architecture = "sm_{}{}".format(*device.compute_capability)
    module = core.Program(ADD_AND_SCALE, code_type="c++", options=core.ProgramOptions(std="c++17", arch=architecture)).compile(
        "cubin", name_expressions=("add<float>",))
    kernel = module.get_kernel("add<float>")
    memory, pinned = device.memory_resource, core.LegacyPinnedMemoryResource()
    there = [memory.allocate(4096 * 4, stream=stream) for _ in range(3)]
    here = [pinned.allocate(4096 * 4, stream=stream) for _ in range(3)]
    views = [numpy.from_dlpack(one).view(numpy.float32) for one in here]
    views[0][:], views[1][:] = numpy.arange(4096), 7
    for a, b in zip(here[:2], there):
        a.copy_to(b, stream=stream)
    core.launch(stream, core.LaunchConfig(grid=16, block=256), kernel, *there, numpy.uint64(4096))
    there[2].copy_to(here[2], stream=stream)
    event = stream.record()
    event.sync()
    check((views[2] == numpy.arange(4096) + 7).all())
    for one in there:
        one.close(stream)
    stream.sync()


@test(limit_s=90)
def core_links():
    core = cuda_core()
    device = core.Device()
    device.set_current()
    stream = device.create_stream()
    architecture = "sm_{}{}".format(*device.compute_capability)
    options = core.ProgramOptions(std="c++17", arch=architecture, relocatable_device_code=True)
    parts = [core.Program(source, code_type="c++", options=options).compile("ptx") for source in (
        "__device__ int helped(int x) { return x * 2; }",
        'extern __device__ int helped(int); extern "C" __global__ void go(int *out) { *out = helped(21); }')]
    kernel = core.Linker(*parts, options=core.LinkerOptions(arch=architecture)).link("cubin").get_kernel("go")
    out = core.LegacyPinnedMemoryResource().allocate(4, stream=stream)
    on_gpu = device.memory_resource.allocate(4, stream=stream)
    core.launch(stream, core.LaunchConfig(grid=1, block=1), kernel, on_gpu)
    on_gpu.copy_to(out, stream=stream)
    stream.sync()
    import numpy
    check(int(numpy.from_dlpack(out).view(numpy.int32)[0]) == 42)


# ---- Triton ----

if triton:
    @triton.autotune(configs=[triton.Config({"BLOCK": 256}, num_warps=2), triton.Config({"BLOCK": 1024}, num_warps=4),
                              triton.Config({"BLOCK": 2048}, num_warps=8)], key=["n"])
    @triton.jit
    def tuned_add(x, y, out, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)

    @triton.jit
    def product_by_descriptors(a, b, c, tiles_m, tiles_n, tiles_k, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr):
        for tile in range(tl.program_id(0), tiles_m * tiles_n, PROGRAMS):
            row, column = tile // tiles_n * BLOCK, tile % tiles_n * BLOCK
            total = tl.zeros((BLOCK, BLOCK), tl.float32)
            for k in range(tiles_k):
                total = tl.dot(a.load([row, k * BLOCK]), b.load([k * BLOCK, column]), total)
            c.store([row, column], total.to(tl.float16))

    @triton.jit
    def copy_by_its_own_descriptor(x, out, rows, columns, BLOCK: tl.constexpr):
        from_x = tl.make_tensor_descriptor(x, shape=[rows, columns], strides=[columns, 1], block_shape=[BLOCK, BLOCK])
        to_out = tl.make_tensor_descriptor(out, shape=[rows, columns], strides=[columns, 1], block_shape=[BLOCK, BLOCK])
        at = [tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK]
        to_out.store(at, from_x.load(at) * 2)


@test(limit_s=120)
def triton_chooses_by_timing():
    need("triton")
    torch = gpu_torch()
    x, y = torch.randn(2, 1000001, device="cuda")
    out = torch.empty_like(x)
    for _ in range(3):
        tuned_add[lambda meta: (triton.cdiv(1000001, meta["BLOCK"]),)](x, y, out, 1000001)
    check(torch.equal(out, x + y))
    print("chosen:", tuned_add.best_config)


def needs_tensor_maps():
    need("triton")
    torch = gpu_torch()
    if torch.cuda.get_device_capability() < (9, 0):
        raise support.Skip("this GPU has no tensor maps")
    return torch


@test(limit_s=120)
def triton_loads_by_tensor_maps():
    """Maps made by the host, one program for each processor."""
    torch = needs_tensor_maps()
    need("triton.tools.tensor_descriptor")
    from triton.tools.tensor_descriptor import TensorDescriptor
    a, b = (torch.randn(512, 512, device="cuda", dtype=torch.float16) for _ in range(2))
    c = torch.empty_like(a)
    maps = [TensorDescriptor.from_tensor(one, [64, 64]) for one in (a, b, c)]
    programs = torch.cuda.get_device_properties(0).multi_processor_count
    product_by_descriptors[(programs,)](*maps, 8, 8, 8, PROGRAMS=programs, BLOCK=64)
    check(torch.allclose(c, a @ b, rtol=2e-2, atol=1e-1))
    same("product", bits(c))


@test(limit_s=120)
def triton_makes_tensor_maps():
    """Maps made by the kernel, in memory that an allocator gives."""
    torch = needs_tensor_maps()
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, device="cuda", dtype=torch.int8))
    x = torch.randn(256, 512, device="cuda")
    out = torch.empty_like(x)
    copy_by_its_own_descriptor[(4, 8)](x, out, 256, 512, BLOCK=64)
    check(torch.equal(out, x * 2))


# ---- CuPy and Numba ----

def gpu_cupy():
    cupy = need("cupy")
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        lacks(f"CuPy sees no GPU: {error}")
    return cupy


@test(limit_s=120)
def cupy_modules_and_fused_functions():
    cupy = gpu_cupy()
    module = cupy.RawModule(code=ADD_AND_SCALE, options=("--std=c++17",), name_expressions=["add<double>"])
    x, out = cupy.arange(10000.0), cupy.empty(10000)
    module.get_function("add<double>")((10,), (256,), (x, x, out, cupy.uint64(10000)))
    check(bool((out == 2 * x).all()))

    @cupy.fuse()
    def length(a, b):
        return cupy.sqrt(a * a + b)

    check(bool(cupy.allclose(length(x, 1.0), (x * x + 1) ** 0.5)))
    stream = cupy.cuda.Stream()
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    with stream:
        begin.record()
        check(int(cupy.unique(x % 10).size) == 10)
        end.record()
    end.synchronize()
    check(cupy.cuda.get_elapsed_time(begin, end) > 0)
    check(cupy.cuda.Device(0).compute_capability and cupy.cuda.runtime.memGetInfo()[1] > 0)


@test(limit_s=120)
def cupy_jit_and_scipy():
    cupy = gpu_cupy()
    need("cupyx")
    from cupyx import jit
    from cupyx.scipy import sparse

    @jit.rawkernel()
    def scale(x, y, n):
        i = jit.blockIdx.x * jit.blockDim.x + jit.threadIdx.x
        if i < n:
            y[i] = x[i] * 3

    x = cupy.arange(1000, dtype=cupy.float32)
    y = cupy.zeros_like(x)
    scale((4,), (256,), (x, y, cupy.uint32(1000)))
    check(bool((y == 3 * x).all()))
    matrix = sparse.random(200, 200, 0.1, "csr", random_state=1) + sparse.identity(200) * 10
    check(bool(cupy.allclose(matrix @ x[:200].astype(float), matrix.toarray() @ x[:200])))


@test(limit_s=150)
def numba_shares_and_reduces():
    need("numba")
    import numpy
    support.old_numpy(numpy)
    from numba import cuda, float32, vectorize
    if not cuda.is_available():
        lacks("Numba sees no GPU")

    @cuda.jit
    def block_sums(x, out):
        part = cuda.shared.array(256, float32)
        i = cuda.threadIdx.x
        part[i] = x[cuda.grid(1)]
        cuda.syncthreads()
        step = 128
        while step:
            if i < step:
                part[i] += part[i + step]
            cuda.syncthreads()
            step //= 2
        if i == 0:
            cuda.atomic.add(out, 0, part[0])

    x = numpy.arange(2560, dtype=numpy.float32)
    stream = cuda.stream()
    with cuda.pinned(x):
        on_gpu = cuda.to_device(x, stream)
        out = cuda.to_device(numpy.zeros(1, numpy.float32), stream)
        block_sums[10, 256, stream](on_gpu, out)
        total = out.copy_to_host(stream=stream)
        stream.synchronize()
    check(total[0] == x.sum())
    check(cuda.reduce(lambda a, b: a + b)(x.astype(numpy.float64)) == x.sum())

    @vectorize(["float32(float32, float32)"], target="cuda")
    def hypotenuse(a, b):
        return (a * a + b * b) ** 0.5

    check(numpy.allclose(hypotenuse(x, x), x * 2 ** 0.5))
    check(digest(on_gpu.copy_to_host()) == digest(x))


if __name__ == "__main__":
    support.main()
