"""Names of losses."""

#: scikit-learn's names of losses and the library's specifications. A name in braces is a parameter of the estimator.
LOSSES = {
    "hinge": "hinge",
    "log_loss": "logistic",
    "modified_huber": "modified-huber",
    "squared_hinge": "squared-hinge",
    "perceptron": "perceptron",
    "squared_error": "squared",
    "huber": "huber:delta={epsilon}",
    "epsilon_insensitive": "epsilon-insensitive:epsilon={epsilon}",
    "squared_epsilon_insensitive": "squared-epsilon-insensitive:epsilon={epsilon}",
    "quantile": "quantile:tau={quantile}",
    "poisson": "poisson",
    "gamma": "gamma",
    "tweedie": "tweedie:p={power}",
    "absolute_error": "absolute",
}

#: The losses whose prediction is the exponential of the score.
LOG_LINK = ("poisson", "gamma", "tweedie")
