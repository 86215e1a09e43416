"""De Plaen & Suykens' figure 4: zeros and ones of MNIST, reduced to two latent variables and generated from them."""

import numpy as np

from ... import plots
from ...datasets import load
from ...kernels import RBF
from ...models.probabilistic import ProbabilisticKernelPCA
from ...preimage import Smoother
from .output import Output, listed, table

NAME = "deplaen-4"
BANDWIDTH = 4.0  # the paper's, for pixels between 0 and 1
ROWS, COMPONENTS = 500, 2
EXPLAINED, NOISE = 0.2797, 0.0014  # the caption's, as shares of the whole variance
NEAREST = 10
STEPS = 9  # of the grid over the two latent variables
SHOWN = 10  # digits
DRAWS, QUICK_DRAWS = 20, 3
SEED = 0

ABOUT = """\
500 zeros and ones of MNIST, pixels in [0, 1], RBF of bandwidth 4, two latent variables, noise by maximum likelihood.
Above: digits (a), and the same after reduction to two numbers and back (b). Below: digits generated over a grid, the
first latent variable from −1 to 1 to the right and the second upwards (c). Pre-images are weighted means of all 500
digits, as in the paper, and of the ten of largest weight."""


def run(out, quick=False, report=lambda line: None):
    """Write ``deplaen-4.csv``, two pictures and ``.md`` into a folder; see :func:`mercer.app.reproduce.run`."""
    output, n = Output(out, NAME, quick), QUICK_DRAWS if quick else DRAWS
    digits = load("mnist01")["X_train"]
    X = pixels(digits[:ROWS])
    ways = {"all 500": fitted(X, ROWS), "the ten nearest": fitted(X, NEAREST)}
    report(f"fitted {ROWS} digits")
    rows = [measured("first 500", X, fitted(X, NEAREST))]
    for seed in range(n):
        drawn = pixels(digits[np.random.default_rng(seed).choice(len(digits), ROWS, replace=False)])
        rows.append(measured(f"draw {seed}", drawn, fitted(drawn, NEAREST)))
        report(f"draw {seed + 1} of {n}")
    rows.append(measured("first 500, bandwidth 4√2", X, fitted(X, NEAREST, BANDWIDTH * np.sqrt(2))))
    output.csv(rows)
    output.picture(reduced(X, ways), "Digits, and the same from two latent variables", "-ab")
    output.picture(generated(ways), "Digits generated over a grid of two latent variables", "-c")
    output.text("De Plaen & Suykens, figure 4", *text(rows, n))
    return rows


def pixels(digits):
    return digits / 255.0  # the largest value of a byte


def fitted(X, neighbours, bandwidth=BANDWIDTH):
    kernel, way = RBF.from_sigma(bandwidth), Smoother(neighbours)
    return ProbabilisticKernelPCA(COMPONENTS, kernel=kernel, preimage=way, random_state=SEED).fit(X)


def measured(name, X, model):
    """What the caption gives, and how far reconstructions are off."""
    back = model.inverse_transform(model.transform(X))
    return {
        "rows": name,
        "explained": float(model.explained_variance_ratio_.sum()),
        "noise share": float(model.noise_variance_ / model.total_variance_),
        "paper, explained": EXPLAINED,
        "paper, noise share": NOISE,
        "RMS error of a pixel": float(np.sqrt(np.mean((back - X) ** 2))),
    }


def reduced(X, ways):
    """(a) and (b): digits of both kinds, and their reconstructions in both ways."""
    some = X[:SHOWN]
    back = [model.inverse_transform(model.transform(some)) for model in ways.values()]
    figure, panels = plots.papers.board(1, 1, 0.55 * SHOWN + 1.2, 0.55 * 3)
    ax = plots.images(np.concatenate([some, *back]), n_columns=SHOWN, ax=panels[0, 0])
    plots.papers.labelled(ax, ["original", *ways])
    return figure


def generated(ways):
    """(c): the digits behind a grid, in both ways."""
    figure, panels = plots.papers.board(1, len(ways), 3.6, 4.0)
    for ax, (name, model) in zip(panels[0], ways.items(), strict=True):
        plots.images(model.inverse_transform(grid(model)), n_columns=STEPS, ax=ax).set_title(f"mean of {name}")
    return figure


def grid(model):
    """h for α from −1 to 1 in the paper's kernel space, k_c = Bα: y = λ^½α there, and (λ − ρ)^½h here."""
    alpha = np.linspace(-1, 1, STEPS)
    A = np.array([(a, b) for b in alpha[::-1] for a in alpha])
    return A * np.sqrt(model.explained_variance_ / (model.explained_variance_ - model.noise_variance_))


def text(rows, n):
    """The caption's figures beside ours."""
    first, draws, wide = rows[0], rows[1:-1], rows[-1]
    held = np.array([r["explained"] for r in draws])
    noise = np.array([r["noise share"] for r in draws])
    lines = [
        ["paper", f"{EXPLAINED:.2%}", f"{NOISE:.2%}"],
        ["the first 500", f"{first['explained']:.2%}", f"{first['noise share']:.2%}"],
        [f"{n} random draws of 500", f"{held.mean():.2%} ± {held.std(ddof=1):.2%}", f"{noise.mean():.2%}"],
        ["the first 500, bandwidth 4√2", f"{wide['explained']:.2%}", f"{wide['noise share']:.2%}"],
    ]
    implied = (1 - EXPLAINED) / (ROWS - COMPONENTS)
    notes = (
        f"""The caption agrees with itself: (1 − {EXPLAINED})/({ROWS} − {COMPONENTS}) = {implied:.2%}. So σ² is a share
        of the whole variance, with the divisor N − q.""",
        f"""Its {EXPLAINED:.2%} are not reached at bandwidth 4 with pixels in [0, 1]: the spread over draws is far too
        small to explain the difference. A bandwidth of 4√2, that is exp(−d²/64), gives {wide["explained"]:.2%}: the
        paper may have had another factor 2 in its kernel, or other pixels. We cannot tell.""",
        """The first latent variable leads from zeros to ones, the second tilts them. The mean of all digits blurs; the
        mean of the ten of largest weight is sharp, and jumps where the blurred one fades from one digit to another.""",
    )
    return ABOUT, table(["rows", "explained", "σ²"], lines), listed(*notes)
