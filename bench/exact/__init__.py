"""Benchmark of the exact solvers: time to the optimum for many classes, hinge loss, paths, cross-validation and rows on disk."""
