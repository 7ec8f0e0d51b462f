"""Writes api.md from signatures and docstrings: `python make_api.py > api.md`. A parameter, attribute or method without words is an error.

The tests compare api.md with what this writes.
"""

import inspect

import lazyglm

PARAMETERS = {
    "loss": "ℓ. Classes: hinge, log_loss, modified_huber, squared_hinge, perceptron, and the losses for numbers on ±1. Numbers: squared_error, huber, "
    "epsilon_insensitive, squared_epsilon_insensitive, absolute_error, quantile, poisson, gamma, tweedie",
    "penalty": "l2, l1, elasticnet or None",
    "alpha": "the weight of the penalty: alpha·(l1_ratio·‖w‖₁ + (1 − l1_ratio)/2·‖w‖²)",
    "l1_ratio": "the share of l1 in it; a search takes a list as well",
    "fit_intercept": "whether there is an intercept; it has no penalty",
    "max_iter": "epochs at most; in a search, the epochs of every model of 'sgd'",
    "tol": "with 'sgd', the improvement of the objective (or held-out score) that counts, and None never stops early; a solver that finds the optimum "
    "stops at this relative distance from it, and never at more than 1e-4",
    "shuffle": "whether each epoch has an order of its own",
    "verbose": "above 0, lines on each epoch are printed",
    "epsilon": "the width of huber and of both epsilon-insensitive losses",
    "n_jobs": "threads; None is one, −1 all cores",
    "random_state": "of the order of rows, and of the rows held out; an integer is the program's `--seed`",
    "learning_rate": "optimal, constant, invscaling, adaptive, pa1, pa2, by scikit-learn's formulas (`solver='sgd'`)",
    "eta0": "the starting rate; a search finds one if it is None",
    "power_t": "the exponent of invscaling",
    "early_stopping": "stop by the score on rows held out",
    "validation_fraction": "the share of rows held out for it",
    "n_iter_no_change": "epochs without improvement before the end",
    "class_weight": "a dict, 'balanced' or None",
    "warm_start": "begin where the last fit ended",
    "average": "True, or the first step that counts: the mean of weights over steps",
    "quantile": "the quantile that loss='quantile' learns",
    "power": "the power of the variance of loss='tweedie', between 1 and 2",
    "positive": "whether weights must not be negative",
    "lower": "the lowest value of each weight, at most 0: a number, or one per feature",
    "upper": "the highest value of each weight, at least 0: a number, or one per feature",
    "method": "how a step applies the penalty: 'fobos' (proximal step) or 'sgd' (its gradient, clipped at zero)",
    "precision": "what weights are kept in: 'f32', 'f64', or None, by the data",
    "progress": "a bar, by tqdm if it is installed",
    "solver": "'sgd', or another solver of the program ('newton', …), which copies the rows and chooses rates itself; a search knows 'newton' and 'sgd'",
    "scale": "'maxabs' or 'std': divide features while learning; `coef_` is in units of the data",
    "penalty_factor": "a factor of the penalty for each feature; not for 'sgd'",
    "intercept_rate": "with 'sgd', the rate of the intercept in the end, as a multiple of that of the weights; below 1, it begins at 1 and falls within some thousand rows",
    "alphas": "the penalties to try, or how many",
    "eps": "the smallest alpha of an automatic grid, relative to the smallest at which l1_ratio=1 makes all weights zero",
    "cv": "the number of folds, a splitter, or pairs of training and held-out rows",
    "scoring": "a scorer of scikit-learn by name, or a callable; None is minus the held-out loss, in scikit-learn's units",
    "choose": "'best', or 'one_se': the strongest penalty within one standard error of it",
    "max_features": "the largest number of features of the model, or None",
    "multi_class": "more than two classes as one 'multinomial' model, or one model per class ('ovr'); 'auto': multinomial for log_loss with 'newton'; SGDClassifier has no 'auto'",
    "halving": "drop hopeless penalties on the way ('sgd')",
    "schedule": "the rate over time: a schedule of the program ('sgd')",
}

ATTRIBUTES = {
    "coef_": "w, one row a model (of numbers: one array)",
    "intercept_": "b, one a model",
    "classes_": "the classes",
    "n_iter_": "epochs, or steps of a solver that finds the minimum; at most over models",
    "t_": "one more than the rows learnt",
    "n_features_in_": "how many features there are",
    "loss_history_": "the mean loss of each epoch's rows, each before it was learnt",
    "validation_history_": "with early stopping, the held-out score after each epoch",
    "dual_gap_": "the relative duality gap; None with 'sgd' (see `duality_gap`), and without a penalty",
    "stop_reason_": "the rule that ended a solver: 'gap' proves `tol`, 'predicted_decrease' does not; None with 'sgd'",
    "alpha_": "the alpha that was chosen",
    "l1_ratio_": "the l1_ratio that was chosen",
    "best_estimator_": "the model with it, on all rows",
    "solver_": "the solver that was chosen",
    "search_": "what was tried: a list of dicts with solver, penalty, held-out loss and standard error, non-zeros, rows, seconds, chosen",
    "reason_": "why the model was chosen",
    "best_index_": "the row of `cv_results_` with the best mean score; the entry of `search_` that was chosen",
    "one_se_index_": "the row that the one-standard-error rule chooses",
    "best_score_": "the best mean score; without `scoring`, minus the held-out loss",
    "n_splits_": "the number of splits",
    "scores_": "held-out scores, of shape (n_splits, n_l1_ratio, n_alphas); NaN beyond the end of a path",
    "mse_path_": "for squared_error without `scoring`: the squared errors as ElasticNetCV has them, (n_l1_ratio, n_alphas, n_splits)",
    "alphas_": "the grid, falling; one row an l1_ratio if there are several",
    "cv_results_": "the scores as GridSearchCV has them; also `se_test_score`, `mean_nonzeros`, `epochs` (or steps), `dropped`",
    "path_alphas_": "the alphas of `path_coef_`",
    "path_coef_": "weights at every alpha of the chosen l1_ratio, a sparse row each; one matrix a class if there are more than two",
    "eta0_": "the starting rate ('sgd')",
}

INHERITED = {
    "get_params": "scikit-learn's",
    "set_params": "scikit-learn's",
    "get_metadata_routing": "scikit-learn's",
    "set_fit_request": "scikit-learn's metadata routing",
    "set_partial_fit_request": "scikit-learn's metadata routing",
    "set_score_request": "scikit-learn's metadata routing",
    "score": "accuracy for classes, R² for numbers",
}

ESTIMATORS = [
    lazyglm.AutoClassifier,
    lazyglm.AutoRegressor,
    lazyglm.ElasticNetClassifier,
    lazyglm.ElasticNetRegressor,
    lazyglm.ElasticNetClassifierCV,
    lazyglm.ElasticNetRegressorCV,
    lazyglm.SGDClassifier,
    lazyglm.SGDRegressor,
]


def fitted(estimator):
    """One of two classes or of numbers, fitted: what it has is what is described."""
    rows = [[float(i % 7), float(i % 3)] for i in range(40)]
    options = {"tol": None, "max_iter": 2} if estimator.__name__.startswith("SGD") else {}
    options |= {"alphas": 2, "cv": 2} if estimator.__name__.endswith("CV") else {}
    options |= {} if estimator.__name__ in ("ElasticNetClassifier", "ElasticNetRegressor") else {"random_state": 0}
    return estimator(**options).fit(rows, [i % 2 for i in range(40)])


def attributes(estimator):
    model = fitted(estimator)
    names = {name for name in dir(model) if name.endswith("_") and not name.startswith("_")}
    return [name for name in ATTRIBUTES if name in names] + sorted(names - set(ATTRIBUTES))


def methods(estimator):
    public = [name for name in dir(estimator) if not name.startswith("_") and not name.endswith("_")]
    return [name for name in public if callable(getattr(estimator, name))]


def words_of(estimator, name):
    if name in INHERITED:
        return INHERITED[name]
    text = inspect.getdoc(getattr(estimator, name))
    if not text:
        raise KeyError(f"{estimator.__name__}.{name} has no docstring")
    return " ".join(text.split("\n\n")[0].split())


def signature(function):
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name != "self"]
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
    return str(inspect.Signature(bare))


def table(head, rows):
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |")
    print()


def main():
    print("# API reference\n\nWritten by `make_api.py` from what is installed; the tests say that it is complete.\n")
    for estimator in ESTIMATORS:
        print(f"## {estimator.__name__}\n\n{words_of(lazyglm, estimator.__name__)}\n")
        parameters = inspect.signature(estimator).parameters
        table(["parameter", "default", ""], [(f"`{p.name}`", f"`{p.default!r}`", PARAMETERS[p.name]) for p in parameters.values()])
        table(["attribute", ""], [(f"`{name}`", ATTRIBUTES[name]) for name in attributes(estimator)])
        rows = [(f"`{name}{signature(getattr(estimator, name))}`", words_of(estimator, name)) for name in methods(estimator)]
        table(["method", ""], rows)
    print("## Functions\n")
    table(["function", ""], [(f"`{f.__name__}{signature(f)}`", words_of(lazyglm, f.__name__)) for f in (lazyglm.load, lazyglm.read)])


if __name__ == "__main__":
    main()
