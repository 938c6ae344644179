"""A training step in JAX: three layers, gradients, and a loss that is looked at."""
import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # the ways share one GPU
import jax  # noqa: E402

import load  # noqa: E402

jnp = jax.numpy


def loss_of(layers, x, y):
    for w, b in layers[:-1]:
        x = jnp.tanh(x @ w + b)
    w, b = layers[-1]
    return ((x @ w + b - y) ** 2).mean()


@jax.jit
def step(layers, x, y):
    loss, slopes = jax.value_and_grad(loss_of)(layers, x, y)
    return jax.tree_util.tree_map(lambda value, slope: value - 0.01 * slope, layers, slopes), loss


def measure():
    keys = jax.random.split(jax.random.PRNGKey(0), 5)
    layers = [(jax.random.normal(key, (512, 512)) / 32, jnp.zeros(512)) for key in keys[:3]]
    x, y = (jax.random.normal(key, (256, 512)) for key in keys[3:])

    def train():
        nonlocal layers
        layers, loss = step(layers, x, y)
        return float(loss)

    train()
    while True:
        yield
        load.row("JAX training step", load.single(train, 200) * 1e3, "ms")


if __name__ == "__main__":
    load.serve(measure())
