"""A small data set for tests that train."""

import random
from pathlib import Path

from bench import data


def write(folder: Path) -> data.Data:
    """400 rows of 8 of 300 features; index 0 occurs."""
    draw = random.Random(1)
    one = data.Data("small", folder, True, width=300, greater=1.0)
    with open(one.train, "w") as file:
        for _ in range(400):
            names = sorted(draw.sample(range(300), 8))
            sign = 1 if sum(names) > 1200 else -1
            file.write(f"{sign} {' '.join(f'{j}:{draw.random():.4f}' for j in names)}\n")
    return one
