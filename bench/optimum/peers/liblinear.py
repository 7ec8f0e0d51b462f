"""LIBLINEAR's newGLMNET: -s 6, with -R so that it too leaves the bias free. It has no λ₂."""

from liblinear.liblinearutil import parameter, problem, train

NAME = "LIBLINEAR -s 6 -R"
LADDER = [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6]


def supports(regression: bool, l2: float) -> str | None:
    return "no squared loss with l1" if regression else "no l2 beside l1" if l2 > 0 else None


def warm_up() -> None:
    pass


def fit(X, y, regression, l1, l2, rung):
    C = 1 / (X.shape[0] * l1)
    model = train(problem(y, X.tocsr()), parameter(f"-s 6 -c {C!r} -e {rung!r} -B 1 -R -q"))
    weights, bias = model.get_decfun(0)
    sign = 1.0 if model.get_labels()[0] == 1 else -1.0
    return [sign * w for w in weights[: X.shape[1]]], sign * bias
