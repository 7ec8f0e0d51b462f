"""LIBLINEAR's newGLMNET: -s 6, with -R so that it too leaves the bias free. It has no λ₂."""

from liblinear.liblinearutil import parameter, problem, train

NAME = "LIBLINEAR -s 6 -R"
LADDER = [3e-1, 1e-1, 3e-2, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6]


def supports(regression: bool, l2: float) -> str | None:
    return "no squared loss with l1" if regression else "no l2 beside l1" if l2 > 0 else None


def warm_up() -> None:
    pass


def prepare(X, y):
    return problem(y, X.tocsr()), X.shape


def fit(data, regression, l1, l2, rung):
    rows, (n, _) = data
    return train(rows, parameter(f"-s 6 -c {1 / (n * l1)!r} -e {rung!r} -B 1 -R -q"))


def learnt(data, found):
    weights, bias = found.get_decfun(0)
    sign = 1.0 if found.get_labels()[0] == 1 else -1.0
    return [sign * w for w in weights[: data[1][1]]], sign * bias
