"""The Python estimators against scikit-learn's: `python -m bench.python.run --help`."""
