"""SGDClassifier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets, unique_labels

from lazyglm import _params
from lazyglm._attributes import Seen
from lazyglm._bases import ClassifierMixin, available_if
from lazyglm._data import weights_of
from lazyglm._docs import SHARED
from lazyglm._labels import LabelSets, label_sets
from lazyglm._losses import LOG_LINK, LOSSES
from lazyglm._sgd import LinearSGD
from lazyglm._targets import Targets, label_targets, offset_keyword, targets_to_score

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from typing_extensions import Self

    from lazyglm._types import Labels, RandomState, Rows

CLASSIFIER_LOSSES = {name: LOSSES[name] for name in LOSSES if name not in ("quantile", "absolute_error", *LOG_LINK)}
#: The losses whose scores say how probable a class is.
PROBABLE = ("log_loss", "modified_huber")
CLASSIFIER_RULES: dict[str, _params.Rule] = {
    "loss": _params.one_of(*CLASSIFIER_LOSSES),
    "class_weight": ((lambda v: v is None or isinstance(v, dict) or v == "balanced"), "a dict, 'balanced' or None"),
}


def _gives_probabilities(estimator: Any) -> bool:
    if estimator.loss not in PROBABLE:
        raise AttributeError(f"probability estimates are not available for loss={estimator.loss!r}")
    return True


class LinearClassifier(ClassifierMixin):
    """Base class of classifiers: predictions from ``_scores``, which has one column per model. Not part of the public API."""

    def decision_function(self: Any, X: Rows, offset: ArrayLike | None = None) -> NDArray[np.float64]:
        """The score of each row: its signed distance from the boundary.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, texts or path of shape (n_rows, n_features)
            The rows.
        offset : array-like of shape (n_rows,) or None, default=None
            Numbers that are added to the scores, for a model that was trained with offsets.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            One score per row, or one per class if there are more than two.
        """
        scores = self._scores(X, offset)
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self: Any, X: Rows, offset: ArrayLike | None = None) -> NDArray[Any]:
        """The class of each row.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, texts or path of shape (n_rows, n_features)
            The rows.
        offset : array-like of shape (n_rows,) or None, default=None
            Numbers that are added to the scores, for a model that was trained with offsets.

        Returns
        -------
        ndarray of shape (n_rows,)
            The classes. Labels are predicted as they were given: as an indicator matrix, or as a list of sets.
        """
        scores = self.decision_function(X, **offset_keyword(offset))
        if self._kind == "labels":
            return self._labels_of(scores)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    def _labels_of(self: Any, scores: Any) -> Any:
        """The labels of each row, as they were given."""
        marks = scores.reshape(-1, len(self.classes_)) > self._thresholds
        return [set(self.classes_[row].tolist()) for row in marks] if self._as_sets else marks.astype(int)

    def score(self: Any, X: Rows, y: Labels | None = None, sample_weight: ArrayLike | None = None, offset: ArrayLike | None = None) -> float:
        """The accuracy: the share of rows whose class is predicted. With labels, all labels of the row must be predicted.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, texts or path of shape (n_rows, n_features)
            The rows.
        y : array-like of shape (n_rows,) or None, default=None
            The classes. None if X is the path of a file, which has them.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            The weight of each row.
        offset : array-like of shape (n_rows,) or None, default=None
            Numbers that are added to the scores, for a model that was trained with offsets.

        Returns
        -------
        float
            The accuracy.
        """
        y = targets_to_score(self, X, y, offset)
        if self._kind != "labels":
            from sklearn.metrics import accuracy_score  # takes long to import, and is needed here alone

            return float(accuracy_score(y, self.predict(X, **offset_keyword(offset)), sample_weight=sample_weight))
        rows_weights: Any = sample_weight
        marks = self.decision_function(X, **offset_keyword(offset)).reshape(-1, len(self.classes_)) > self._thresholds
        given = label_sets(y, None if not self._as_sets else self.classes_)
        if given is None:
            raise ValueError("y must be a label indicator matrix or a list of label sets, as in fit")
        return float(np.average(np.all(marks == given.indicator.toarray().astype(bool), axis=1), weights=rows_weights))

    @available_if(_gives_probabilities)
    def predict_proba(self: Any, X: Rows, offset: ArrayLike | None = None) -> NDArray[np.float64]:
        """The probability of each class, or of each label.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, texts or path of shape (n_rows, n_features)
            The rows.
        offset : array-like of shape (n_rows,) or None, default=None
            Numbers that are added to the scores, for a model that was trained with offsets.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The probabilities. With one model per class, they are normalised to sum to one.
        """
        scores = self.decision_function(X, **offset_keyword(offset))
        if self._kind == "softmax":
            return softmax(scores, axis=1)
        positive = expit(scores) if self.loss == "log_loss" else (np.clip(scores, -1, 1) + 1) / 2
        if self._kind == "labels":
            return positive
        if positive.ndim == 1:
            return np.column_stack([1 - positive, positive])
        total = positive.sum(axis=1, keepdims=True)
        positive[total.ravel() == 0] = 1.0  # all say no: none is likelier than another
        return positive / positive.sum(axis=1, keepdims=True)

    @available_if(_gives_probabilities)
    def predict_log_proba(self: Any, X: Rows, offset: ArrayLike | None = None) -> NDArray[np.float64]:
        """The logarithm of :meth:`predict_proba`.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, texts or path of shape (n_rows, n_features)
            The rows.
        offset : array-like of shape (n_rows,) or None, default=None
            Numbers that are added to the scores, for a model that was trained with offsets.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The logarithms of the probabilities.
        """
        return np.log(self.predict_proba(X, **offset_keyword(offset)))


class SGDClassifier(LinearClassifier, LinearSGD):
    __doc__ = (
        """Linear classifiers (SVM, logistic regression, ...) by stochastic gradient descent with an exact penalty.

    Parameters are those of :class:`sklearn.linear_model.SGDClassifier`, with the same meaning, and some more.

    Parameters
    ----------
    loss : str, default='hinge'
        'hinge', 'log_loss', 'modified_huber', 'squared_hinge', 'perceptron', and the losses of :class:`SGDRegressor` for numbers, on ±1.
"""
        + SHARED
        + """    learning_rate : {'optimal', 'constant', 'invscaling', 'adaptive', 'pa1', 'pa2'}, default='optimal'
        The learning-rate schedule of solver='sgd', with scikit-learn's formulas. 'optimal' starts lower for losses whose slope has no bound,
        such as squared_hinge.
    power_t : float, default=0.5
        The exponent of 'invscaling'.
    class_weight : dict, 'balanced' or None, default=None
        Weights of classes, which multiply the weights of their rows.
    n_jobs : int or None, default=None
        The number of threads for several classes, predictions, and solvers other than 'sgd'. None is one, -1 is all cores.
    method : {'fobos', 'sgd'}, default='fobos'
        How a step applies the penalty: its proximal step, or its gradient clipped at zero.
    precision : {'f32', 'f64'} or None, default=None
        The precision of the weights; None is that of the data.
    progress : bool, default=False
        Show a progress bar (with tqdm, if it is installed).
    solver : str, default='sgd'
        'sgd' takes stochastic steps, one row at a time. 'newton' finds the optimum to a proved ``tol`` (a loss with kinks needs a penalty).
        Every solver of the program is known by its name. Those other than 'sgd' copy the rows. A parameter that has no effect with the
        solver comes with a warning.
    eta0 : float, default=0.01
        With solver='sgd', as in scikit-learn. For 'adagrad', 'ftrl', 'svrg' and the multinomial 'sgd', it is the starting rate. At the
        default, they search for one.
    tol : float or None, default=1e-3
        With solver='sgd', as in scikit-learn. Solvers that find the optimum ('newton', 'svrg', 'auto') stop at a relative
        distance of at most ``tol`` from the optimum, and never at more than 1e-4.
    scale : {'maxabs', 'std'} or None, default=None
        Divide each feature by its largest magnitude, or by its standard deviation, while learning: the penalty then falls on
        the weights of the scaled features. ``coef_`` is in the units of the data.
    penalty_factor : array-like of shape (n_features,) or None, default=None
        Scales the penalty of each feature; 0 removes it. Not for solver='sgd'.
    multi_class : {'ovr', 'multinomial'}, default='ovr'
        More than two classes are one model per class against the rest or, with loss='log_loss', one multinomial model (softmax), for solver='newton',
        and for solver='sgd', which then copies the rows, finds its own rate and runs ``max_iter`` epochs.
    intercept_rate : float or None, default=None
        The rate of the intercept for solver='sgd', as a multiple of that of the weights. None: the mean share of features in a row, at least 0.01.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        The weights; a sparse matrix after :meth:`sparsify`.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercept of each row of ``coef_``.
    classes_ : ndarray of shape (n_classes,)
        The classes, or the labels.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of str objects
        The columns of the frame that was learnt; only there if X was a frame with names.
    n_iter_ : int
        The number of epochs; with several classes, the largest of any class.
    t_ : float
        The number of rows that were learnt, plus one.
    loss_history_ : ndarray, or one per class
        The running loss of each epoch: the mean loss of its rows, each measured before the model learns the row.
    dual_gap_ : float, one per class, or None
        The relative duality gap, an upper bound on the relative distance from the optimum. None with solver='sgd', which
        does not compute it (see :meth:`duality_gap`), and if no bound is known.
    stop_reason_ : str or None
        The rule that ended a solver other than 'sgd'; 'interrupted' after Ctrl-C; else None.
    validation_history_ : ndarray, one per class, or None
        With early stopping: the score on the rows held out, after each epoch.

    Examples
    --------
    >>> import numpy as np
    >>> from lazyglm import SGDClassifier
    >>> X = np.array([[-1.0, -1], [-2, -1], [1, 1], [2, 1]])
    >>> y = np.array(["ham", "ham", "spam", "spam"])
    >>> model = SGDClassifier(loss="log_loss", penalty="elasticnet", random_state=1).fit(X, y)
    >>> model.predict([[-0.8, -1]])
    array(['ham'], dtype='<U4')
    """
    )

    loss_functions = CLASSIFIER_LOSSES
    _splitter = "StratifiedShuffleSplit"
    _takes_labels = True
    class_weight: dict[Any, float] | str | None
    multi_class: str
    classes_: NDArray[Any]
    _rules = {**CLASSIFIER_RULES, "n_jobs": _params.N_JOBS, **_params.COMMON, "multi_class": _params.one_of("ovr", "multinomial")}

    def __init__(
        self,
        loss: str = "hinge",
        *,
        penalty: str | None = "l2",
        alpha: float = 0.0001,
        l1_ratio: float | None = 0.15,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        verbose: int = 0,
        epsilon: float = 0.1,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        learning_rate: str = "optimal",
        eta0: float = 0.01,
        power_t: float = 0.5,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: dict[Any, float] | str | None = None,
        warm_start: bool = False,
        average: bool | int = False,
        method: str = "fobos",
        precision: str | None = None,
        progress: bool = False,
        solver: str = "sgd",
        scale: str | None = None,
        penalty_factor: ArrayLike | None = None,
        intercept_rate: float | None = None,
        multi_class: str = "ovr",
    ) -> None:
        self._keep(locals())

    @available_if(_params.goes_on)
    def partial_fit(
        self, X: Rows, y: Labels | None = None, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None, offset: ArrayLike | None = None, target: str | None = None
    ) -> Self:
        """Learns these rows once. Calls with chunks of rows give exactly the model of one pass over all rows.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, texts or path of shape (n_rows, n_features)
            The rows. Frames, texts and files after the first have the features of the first.
        y : array-like of shape (n_rows,) or None, default=None
            The classes, or labels: an indicator matrix, or a list of sets. None if X is the path of a file, which has them.
        classes : array-like of shape (n_classes,) or None, default=None
            All classes or labels, at the first call. A later call may add classes: a new class begins without weights, and those of the others stay.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            The weight of each row.
        offset : array-like of shape (n_rows,) or None, default=None
            A number per row, which is added to the score of the row, as in ``fit``.
        target : str or None, default=None
            The target column, if X is the path of a table. Needed at the first call alone.

        Returns
        -------
        SGDClassifier
            This estimator.
        """
        first = not self.__sklearn_is_fitted__()
        self._check_params(for_partial_fit=True)
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight 'balanced' is not supported for partial_fit. In order to use 'balanced' weights, use "
                "compute_class_weight('balanced', classes=classes, y=y). In place of y you can use a large enough "
                "sample of the full training set target to properly estimate the class frequency distributions. Pass "
                "the resulting weights as the class_weight parameter."
            )
        X, y, sample_weight = self._opened_again(X, y, sample_weight, target)
        if (not first and self._kind == "labels") or (y is not None and label_sets(y) is not None):
            return self._partial_fit_labels(X, y, classes, sample_weight, offset, first)
        X, y, _ = self._validated(X, y, reset=first)
        check_classification_targets(y)
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        known = unique_labels(classes) if first else self.classes_
        if not first and classes is not None and not np.array_equal(declared := unique_labels(classes), known):
            if not np.all(np.isin(known, declared)):
                raise ValueError(f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {known!r}")
            self._grow(declared)
            known = declared
        if len(known) < 2:
            raise ValueError(f"The number of classes has to be greater than one; got {len(known)} class")
        return self._partial_fit(X, self._targets(X, y, sample_weight, known).with_offsets(offset), first=first)

    def _partial_fit_labels(self, X: Any, y: Any, classes: Any, sample_weight: Any, offset: Any, first: bool) -> Self:
        """The same for rows with any number of labels each."""
        known = None if classes is None else unique_labels(classes)
        known = known if first else self.classes_
        X, y, labels = self._validated(X, y, reset=first, classes=known)
        if labels is None or (not first and self._kind != "labels"):
            raise ValueError("rows of all calls have one class each, or any number of labels each: y is of another kind than before")
        if first and known is None and labels.as_sets:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        if labels.indicator.shape[1] != len(labels.classes) or (classes is not None and not np.array_equal(unique_labels(classes), labels.classes)):
            raise ValueError(f"the labels are {labels.classes!r}, and these rows have others")
        return self._partial_fit(X, self._targets(X, labels, sample_weight).with_offsets(offset), first=first)

    def _grow(self, classes: Any) -> None:
        """Adds classes, with a model without weights for each. The single model of two classes becomes one model per class."""
        learners = self._go_on()
        weights, biases = (np.array(each) for each in zip(*(learner.now() for learner in learners), strict=True))
        if len(learners) == 1:
            weights, biases = np.concatenate([-weights, weights]), np.concatenate([-biases, biases])
        coef, intercept = np.zeros((len(classes), weights.shape[1])), np.zeros(len(classes))
        places = np.searchsorted(classes, self.classes_)
        coef[places], intercept[places] = weights, biases
        first = learners[0]
        self._learners = self._new_learners(coef, intercept, first.made_with[3], t=first.t, epochs=first.epochs)
        self._looked, self._polished, self.classes_ = Seen(), None, classes

    def _targets(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Targets:
        if isinstance(y, LabelSets):
            return label_targets(self, y, weights_of(sample_weight, X.shape[0], may_be_zero=self.early_stopping))
        if classes is None:
            check_classification_targets(y)
            classes = np.unique(y)
            if len(classes) < 2:
                raise ValueError(f"The number of classes has to be greater than one; got {len(classes)} class")
        if len(classes) == 2:  # a byte per row: numbers of classes would be eight
            second = y == classes[1]
            known = second | (y == classes[0])
        else:
            codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
            known = classes[codes] == y
        if not np.all(known):
            word = y[~known][:1].tolist()[0]
            raise ValueError(f"y contains {word!r}, which is not among the classes {classes.tolist()}; partial_fit takes new ones with classes=, beside all of these")
        of_class = None
        if self.class_weight is not None:
            of_class = compute_class_weight(self.class_weight, classes=classes, y=y)
        weights = weights_of(sample_weight, X.shape[0], may_be_zero=self.early_stopping)
        if len(classes) > 2:
            class_weights = None if of_class is None else [float(weight) for weight in of_class]
            return Targets(len(classes), codes.astype(np.float64), weights, class_weights, classes)
        if of_class is not None:
            weights = np.where(second, of_class[1], of_class[0]) * (1.0 if weights is None else weights)
        return Targets(1, np.where(second, 1.0, -1.0), weights, None, classes)
