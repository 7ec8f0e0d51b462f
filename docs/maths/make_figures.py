"""Draws the figures of the mathematical note, and prints its numeric examples: `python3 docs/maths/make_figures.py`.

Every number is computed here from the formulas of the note; nothing is typed in. With `--check`, the script compares the
figures with the files instead of writing them. It needs matplotlib and numpy.
"""

import io
import math
import sys
from fractions import Fraction
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

HERE = Path(__file__).parent
BLUE, ORANGE, RED, GREEN, GREY = "#1f6feb", "#bf8700", "#cf222e", "#1a7f37", "#57606a"
L1, L2 = 0.01, 0.1  # the penalty of the numeric example


def sgd(m: float, eta: float, l1: float = L1, l2: float = L2) -> float:
    """One penalty step of SGD on a magnitude."""
    return max(0.0, (1 - eta * l2) * m - eta * l1)


def fobos(m: float, eta: float, l1: float = L1, l2: float = L2) -> float:
    """One penalty step of FoBoS on a magnitude."""
    return max(0.0, (m - eta * l1) / (1 + eta * l2))


def trajectory(m: float, rates: list[float], step=sgd) -> list[float]:
    """The magnitudes before the first step and after each step."""
    found = [m]
    for eta in rates:
        found.append(step(found[-1], eta))
    return found


def theorem_1(m: float, rates: list[float], factor: float, corrected: bool) -> float:
    """Theorem 1 without clipping: `factor` multiplies the second term, and the corrected table divides by P(k + 1)."""
    product, total = 1.0, 0.0
    for eta in rates:
        after = product * (1 - eta * L2)
        total += eta / (after if corrected else product)
        product = after
    return m * product - factor * product * total


def figure(columns: int = 1, width: float = 6.4):
    drawn, axes = plt.subplots(1, columns, figsize=(width, 3.2), layout="constrained")
    for one in np.atleast_1d(axes):
        one.spines[["top", "right"]].set_visible(False)
    return drawn, axes


def lazy_trajectory():
    """A weight that rows touch three times: its dense trajectory, and the values that lazy updates compute."""
    steps, l1, l2, eta = 60, 0.02, 0.05, 0.5
    touches = {0: 1.0, 14: 0.35, 40: -0.5}  # what the row adds to the weight at the start of the step
    dense, lazy, weight, since, kept = [], [], 0.0, 0, 0.0
    ratio = 1 - eta * l2
    for t in range(steps):
        if t in touches:
            gap = ratio ** (t - since)
            kept = math.copysign(max(0.0, abs(kept) * gap - l1 * (1 - gap) / l2), kept)  # brought current
            lazy.append((t, kept))
            kept, since = kept + touches[t], t
            weight += touches[t]
            lazy.append((t, kept))
        dense.append(weight)
        weight = math.copysign(sgd(abs(weight), eta, l1, l2), weight)
    gap = ratio ** (steps - since)
    lazy.append((steps, math.copysign(max(0.0, abs(kept) * gap - l1 * (1 - gap) / l2), kept)))
    dense.append(weight)
    assert abs(lazy[-1][1] - dense[-1]) < 1e-12
    drawn, axes = figure()
    axes.step(range(steps + 1), dense, where="post", color=GREY, lw=1.2, label="dense: one penalty step per row")
    axes.plot(*zip(*lazy, strict=True), "o", color=BLUE, ms=5, label="lazy: computed when the weight is read")
    axes.axhline(0, color=GREY, lw=0.6)
    axes.set(xlabel="step t", ylabel="weight w")
    axes.legend(frameon=False)
    return drawn


def shared_centre():
    """Orbits without clipping: both methods and all rates contract towards the same point."""
    l1, l2 = 0.05, 0.1
    drawn, axes = figure()
    for start, color in ((1.0, BLUE), (0.4, GREEN), (-0.2, ORANGE)):
        for method, style in (("SGD", "-"), ("FoBoS", "--")):
            m, found = start, [start]
            for t in range(40):
                eta = 1.5 / math.sqrt(t + 1)
                m = (1 - eta * l2) * m - eta * l1 if method == "SGD" else (m - eta * l1) / (1 + eta * l2)
                found.append(m)
            axes.plot(found, style, color=color, lw=1.2, label=f"{method}, from {start:g}" if start == 1.0 else None)
    axes.axhline(-l1 / l2, color=RED, lw=1, ls=":", label="centre \N{MINUS SIGN}λ₁/λ₂")
    axes.axhline(0, color=GREY, lw=0.6)
    axes.set(xlabel="number of penalty steps", ylabel="magnitude without clipping")
    axes.legend(frameon=False)
    return drawn


def folded_frame():
    """The stored value stays while the weight decays; debt and stretch grow."""
    steps, l1, l2, eta, start = 60, 0.02, 0.03, 0.5, 0.6
    stretch, debt, stretches, debts, weights = 1.0, 0.0, [1.0], [0.0], [start]
    for _ in range(steps):
        debt += eta * l1 * stretch  # FoBoS
        stretch += stretch * eta * l2
        stretches.append(stretch)
        debts.append(debt)
        weights.append(max(0.0, start - debt) / stretch)
    dense = trajectory(start, [eta] * steps, lambda m, e: fobos(m, e, l1, l2))
    assert np.allclose(weights, dense, atol=1e-13)
    drawn, axes = figure(2, 7.6)
    axes[0].axhline(start, color=BLUE, lw=1.6, label="stored value v")
    axes[0].plot(debts, color=RED, lw=1.4, label="debt θ")
    axes[0].plot(stretches, color=GREEN, lw=1.4, label="stretch S")
    axes[0].set(xlabel="charges since v was written", title="the frame", ylim=(0, None))
    axes[1].plot(weights, color=BLUE, lw=1.6, label="(v \N{MINUS SIGN} θ)₊ / S")
    axes[1].plot(range(0, steps + 1, 4), dense[::4], "o", ms=3, color=GREY, label="dense steps")
    axes[1].set(xlabel="charges since v was written", title="the weight", ylim=(0, None))
    for one in axes:
        one.legend(frameon=False)
    return drawn


def erratum():
    """Theorem 1 as printed, with λ₁ restored, and corrected, against step-by-step updates."""
    steps, eta = 40, 0.5
    exact = trajectory(1.0, [eta] * steps)
    rates = [[eta] * k for k in range(steps + 1)]
    printed = [max(0.0, theorem_1(1.0, r, 1.0, False)) for r in rates]
    restored = [max(0.0, theorem_1(1.0, r, L1, False)) for r in rates]
    corrected = [max(0.0, theorem_1(1.0, r, L1, True)) for r in rates]
    assert np.allclose(corrected, exact, atol=1e-14)
    drawn, axes = figure(2, 7.6)
    axes[0].plot(exact, color=GREY, lw=3, alpha=0.5, label="step by step")
    axes[0].plot(corrected, "--", color=BLUE, lw=1.3, label="corrected")
    axes[0].plot(printed, color=RED, lw=1.3, label="as printed")
    axes[0].set(xlabel="steps", ylabel="weight", title="from w = 1")
    axes[0].legend(frameon=False)
    excess = [100 * (found / truth - 1) for found, truth in zip(restored, exact, strict=True)]
    axes[1].plot(excess, color=ORANGE, lw=1.4)
    axes[1].set(xlabel="steps", ylabel="weight too large, in %", title="λ₁ restored, B as printed")
    return drawn


def rounding_errors(steps: int = 1_000_000):
    """Errors of dense steps and of the ledger in f64, at some numbers of steps. The weight starts at 1, its largest value."""
    eta, l1, l2 = 0.1, 1e-6, 1e-6
    looks = sorted({round(10 ** (k / 4)) for k in range(0, 1 + int(4 * math.log10(steps)))})
    decay, taken = 1 - eta * l2, eta * l1
    ratio, centre = 1 - Fraction(eta) * Fraction(l2), Fraction(l1) / Fraction(l2)
    dense, (stretch, lost_s), (debt, lost_d) = 1.0, (1.0, 0.0), (0.0, 0.0)
    grow, found = eta * l2 / (1 - eta * l2), []
    for t in range(1, steps + 1):
        dense = decay * dense - taken
        more = stretch * grow - lost_s  # Kahan's compensated sums
        total = stretch + more
        stretch, lost_s = total, (total - stretch) - more
        more = taken * stretch - lost_d
        total = debt + more
        debt, lost_d = total, (total - debt) - more
        if t in looks:
            exact = power(ratio, t) * (1 + centre) - centre
            found.append((t, *(float(abs(Fraction(x) - exact)) for x in (dense, (1.0 - debt) / stretch))))
    return found


def power(base: Fraction, exponent: int) -> Fraction:
    """A power to about 100 digits: exact fractions would have millions."""
    digits = 10**100
    result, factor = Fraction(1), base
    while exponent:
        if exponent & 1:
            result = Fraction(round(result * factor * digits), digits)
        factor = Fraction(round(factor * factor * digits), digits)
        exponent >>= 1
    return result


def rounding():
    """How errors grow with the number of steps."""
    steps, dense, ledger = zip(*rounding_errors(), strict=True)
    drawn, axes = figure()
    axes.loglog(steps, np.maximum(dense, 1e-17), "o-", ms=3, color=RED, lw=1.2, label="dense steps in f64")
    axes.loglog(steps, np.maximum(ledger, 1e-17), "o-", ms=3, color=BLUE, lw=1.2, label="ledger in f64")
    bound = [max(1e-12, 3 * t * 2.0**-53) for t in steps]
    axes.minorticks_off()
    axes.loglog(steps, bound, ":", color=GREY, lw=1.2, label="tolerance of the tests")
    axes.set(xlabel="steps T", ylabel="error, relative to the largest weight")
    axes.legend(frameon=False)
    return drawn


FIGURES = {
    "lazy-trajectory": lazy_trajectory,
    "shared-centre": shared_centre,
    "folded-frame": folded_frame,
    "erratum": erratum,
    "rounding": rounding,
}


def numbers() -> None:
    """Prints the numeric examples of erratum.md and accuracy.md."""
    ten, falling = [0.5] * 10, [0.5 / math.sqrt(t + 1) for t in range(10)]
    for name, rates in (("1 step", ten[:1]), ("10 steps", ten), ("10 steps, falling rate", falling)):
        found = [theorem_1(1.0, rates, *how) for how in ((1.0, False), (L1, False), (L1, True))]
        printed, restored, corrected = found
        print(f"{name}: exact {trajectory(1.0, rates)[-1]:.10f}, corrected {corrected:.10f}")
        print(f"  printed {printed:.10f}, with λ₁ restored {restored:.10f}")
    exact, restored = trajectory(1.0, ten)[-1], theorem_1(1.0, ten, L1, False)
    print(f"restored is too large by {100 * (restored / exact - 1):.2f} %; penalty {0.95**10 - exact:.7f}")
    print(f"from 0.066: exact {trajectory(0.066, ten)[-1]}, restored {theorem_1(0.066, ten, L1, False):.7f}")
    twice = 1.0
    for eta in ten:
        twice = sgd(max(0.0, twice - eta * (L1 + L2 * twice)), eta)
    print(f"penalty paid twice: {twice:.4f}; one step short: {trajectory(1.0, ten)[-2]:.4f}")
    print(f"two steps at ηλ₂ = 2.4 multiply by {(1 - 1.2 * 2) ** 2:.2f}")
    last = rounding_errors()[-1]
    print(f"after {last[0]} steps: dense {last[1]:.1e}, ledger {last[2]:.1e}, tolerance {3 * last[0] * 2.0**-53:.1e}")


def main() -> int:
    plt.rcParams.update({"svg.hashsalt": "lazyglm", "svg.fonttype": "none", "font.size": 9, "font.family": "sans-serif"})
    stale = []
    for name, draw in FIGURES.items():
        drawn, out = draw(), io.StringIO()
        drawn.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
        plt.close(drawn)
        text = "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"
        path = HERE / f"{name}.svg"
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.name)
    numbers()
    if stale:
        print(f"error: {', '.join(stale)} differ from the formulas", file=sys.stderr)
        print("help: run python3 docs/maths/make_figures.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
