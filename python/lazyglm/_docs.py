"""Descriptions of the parameters that both SGD estimators share with scikit-learn."""

SHARED = """    penalty : {'l2', 'l1', 'elasticnet'} or None, default='l2'
        The penalty.
    alpha : float, default=0.0001
        The strength of the penalty alpha·(l1_ratio·‖w‖₁ + (1 − l1_ratio)/2·‖w‖²). learning_rate='optimal' depends on it, too.
    l1_ratio : float or None, default=0.15
        The share of l1, with penalty='elasticnet'.
    fit_intercept : bool, default=True
        Whether there is an intercept. It has no penalty.
    max_iter : int, default=1000
        The largest number of epochs.
    shuffle : bool, default=True
        Whether to shuffle the rows in each epoch.
    verbose : int, default=0
        Whether to print lines for each epoch.
    epsilon : float, default=0.1
        The width of huber and of both epsilon-insensitive losses.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of rows and of the choice of held-out rows. An integer is the program's ``--seed``.
    early_stopping : bool, default=False
        Whether to stop by the score on held-out rows; the model is that of the best epoch.
    validation_fraction : float, default=0.1
        The share of rows held out for early stopping.
    n_iter_no_change : int, default=5
        The number of epochs without an improvement by ``tol`` after which training stops.
    warm_start : bool, default=False
        Whether ``fit`` starts from the weights of the previous fit.
    average : bool or int, default=False
        Whether the model is the mean of the weights over all steps; an integer is the first step that counts.
"""
