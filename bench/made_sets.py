"""Made data sets of different kinds, by seeded generators: the same bytes on every machine with the same numpy.

    python -m bench.made_sets FOLDER

Each set has rows to learn from and, in a file of its own (NAME.judge.EXT), thousands of rows to judge on: with a few hundred, the best of a grid that is
picked on them would be below any honest choice by chance alone.

    clicks      svmlight   rare clicks (3 %), six categories with many rare levels
    customers   CSV        a wide table: numbers in different units, some missing, and categories
    tickets     CSV        a column of prose beside a number and a category
    baskets     JSON lines counts per row, some words in bursts
    visits      svmlight   counts as targets (Poisson), a few frequent and many rare features
    prices      CSV        heavy-tailed targets: the exponential of a linear score with noise
    genes       svmlight   400 rows of 2,000 dense measurements, of which 15 matter
    links       svmlight   nearly separable classes, features that are 0 or 1
    ratings     svmlight   one number per pair of a user and an item, most of which have few rows
    sensors     CSV        a table of numbers alone, in units from 1e-3 to 1e4, of which some are copies with noise
    reviews     text       short labelled texts, with pairs of words that turn the meaning
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import numpy as np

VERSION = 2


def write_all(folder: Path) -> list[tuple[Path, Path]]:
    """Writes all sets, unless an earlier run has done it, and returns their files: rows to learn from, and rows to judge on."""
    folder.mkdir(parents=True, exist_ok=True)
    stamp, wanted = folder / "stamp", f"version {VERSION}\n"
    files = [folder / name for name in FILES]
    if not (stamp.exists() and stamp.read_text() == wanted):
        for number, file in enumerate(files):
            FILES[file.name](np.random.default_rng(100 + number), file)
            set_apart(file, LEARN[file.name])
        stamp.write_text(wanted)  # last: a run cut short leaves no stamp
    return [(file, judge_of(file)) for file in files]


def judge_of(file: Path) -> Path:
    return file.with_name(f"{file.stem}.judge{file.suffix}")


def set_apart(file: Path, learn: int) -> None:
    """Moves all rows after the first ones into the file of rows to judge on; both have the header of a table."""
    lines = file.read_text().splitlines(keepends=True)
    header = lines[:1] if file.suffix == ".csv" else []
    first = len(header) + learn
    judge_of(file).write_text("".join(header + lines[first:]))
    file.write_text("".join(lines[:first]))


def zipf(random: np.random.Generator, levels: int, size, offset: float = 3.0) -> np.ndarray:
    """Numbers below `levels`, of which the first are the most frequent."""
    share = 1.0 / (np.arange(levels) + offset)
    return np.searchsorted(np.cumsum(share) / share.sum(), random.random(size)).clip(0, levels - 1)


def chance(score: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-score))


def svmlight(file: Path, targets, rows) -> None:
    """Rows of (index, value) in ascending order."""
    with file.open("w") as out:
        for target, row in zip(targets, rows):
            out.write(f"{target:g}" + "".join(f" {index}:{value:.6g}" for index, value in row) + "\n")


def table(file: Path, columns: dict) -> None:
    with file.open("w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values()))


def clicks(random: np.random.Generator, file: Path) -> None:
    rows, score, parts, first = 40_000, np.full(40_000, -4.2), [], 1
    for levels in (5, 20, 200, 2_000, 10_000, 10_000):
        level = zipf(random, levels, rows)
        score += random.normal(0, 0.6, levels)[level]
        parts.append(first + level)
        first += levels
    clicked = np.where(random.random(rows) < chance(score), 1, -1)
    svmlight(file, clicked, ([(index, 1) for index in row] for row in np.array(parts).T.tolist()))


def customers(random: np.random.Generator, file: Path) -> None:
    rows = 14_000
    wealth = random.normal(size=rows)
    numbers = {
        "age": (45 + 12 * random.normal(size=rows)).round(),
        "income": np.exp(10 + 0.6 * wealth + 0.2 * random.normal(size=rows)).round(-2),
        "balance": (1000 * wealth + 3000 * random.normal(size=rows)).round(2),
        "score": (600 + 40 * wealth + 30 * random.normal(size=rows)).round(),
        "visits": random.poisson(3, rows),
        "height": (172 + 9 * random.normal(size=rows)).round(1),
    }
    score = -1.0 + 0.8 * wealth + 0.04 * (numbers["age"] - 45) - 0.15 * numbers["visits"]
    columns = {}
    for name, values in numbers.items():
        missing = random.random(rows) < 0.08
        columns[name] = ["" if gone else f"{value:g}" for value, gone in zip(values, missing)]
        score += 0.4 * missing * (name == "income")
    for name, levels in (("region", 12), ("plan", 4), ("device", 30), ("town", 500), ("channel", 6)):
        level = zipf(random, levels, rows)
        score += random.normal(0, 0.4, levels)[level]
        columns[name] = [f"{name[0]}{k}" for k in level]
    columns["target"] = np.where(random.random(rows) < chance(score), "leaves", "stays")
    table(file, columns)


def words(random: np.random.Generator, count: int) -> list[str]:
    """Words that can be pronounced."""
    known: dict[str, None] = {}
    while len(known) < count:
        letters = [random.choice(list("bdfgklmnprstvz")) + random.choice(list("aeiou")) for _ in range(random.integers(1, 5))]
        known["".join(letters)] = None
    return list(known)


def tickets(random: np.random.Generator, file: Path) -> None:
    rows, known = 9_000, np.array(words(random, 6_000))
    weights = random.normal(0, 1.2, len(known)) * (random.random(len(known)) < 0.15)
    texts, score = [], np.empty(rows)
    for i in range(rows):
        chosen = zipf(random, len(known), 6 + random.poisson(18), offset=15.0)
        score[i] = weights[chosen].sum() - 0.3
        texts.append(" ".join(known[chosen]).capitalize() + ".")
    age, area = random.exponential(40, rows).round(1), zipf(random, 8, rows)
    score += random.normal(0, 0.5, 8)[area] - 0.005 * age
    target = np.where(random.random(rows) < chance(1.2 * score), "urgent", "normal")
    table(file, {"text": texts, "age": age, "area": [f"area {k}" for k in area], "target": target})


def baskets(random: np.random.Generator, file: Path) -> None:
    rows, items = 8_000, 4_000
    weights = random.normal(0, 1.0, items) * (random.random(items) < 0.2)
    with file.open("w") as out:
        for _ in range(rows):
            bought = np.unique(zipf(random, items, 5 + random.poisson(25), offset=20.0))
            counts = 1 + random.geometric(0.5, len(bought)) * (random.random(len(bought)) < 0.3) * random.integers(1, 6)
            score = (weights[bought] * (1 + np.log(counts))).sum()
            target = "yes" if random.random() < chance(score) else "no"
            out.write(json.dumps({"target": target} | {f"item{j}": int(n) for j, n in zip(bought, counts)}) + "\n")


def visits(random: np.random.Generator, file: Path) -> None:
    rows, features = 20_000, 3_000
    weights = random.normal(0, 0.25, features)
    listed, mean = [], np.empty(rows)
    for i in range(rows):
        chosen = np.unique(zipf(random, features, 12))
        mean[i] = np.exp(0.6 + weights[chosen].sum())
        listed.append([(j + 1, 1) for j in chosen])
    svmlight(file, random.poisson(mean.clip(0, 60)), listed)


def prices(random: np.random.Generator, file: Path) -> None:
    rows = 12_000
    area, year, rooms = np.exp(4.4 + 0.4 * random.normal(size=rows)), 2020 - random.exponential(30, rows), random.integers(1, 8, rows)
    street = zipf(random, 300, rows)
    log = 1.0 + 0.9 * np.log(area) + 0.004 * (year - 1990) + 0.03 * rooms + random.normal(0, 0.3, 300)[street]
    price = np.exp(log + 0.35 * random.standard_t(4, rows)).round(1)
    columns = {"area": area.round(1), "year": year.round().astype(int), "rooms": rooms, "street": [f"street {k}" for k in street]}
    table(file, columns | {"target": price})


def genes(random: np.random.Generator, file: Path) -> None:
    rows, features = 2_400, 2_000
    common = random.normal(size=(rows, 20)) @ random.normal(0, 0.5, (20, features))
    values = common + random.normal(size=(rows, features))
    weights = np.zeros(features)
    weights[random.choice(features, 15, replace=False)] = random.normal(0, 1.0, 15)
    targets = np.where(random.random(rows) < chance(values @ weights), 1, -1)
    svmlight(file, targets, (enumerate(row, start=1) for row in values.round(4).tolist()))


def links(random: np.random.Generator, file: Path) -> None:
    rows, features = 15_000, 30_000
    weights = random.normal(0, 2.0, features) * (random.random(features) < 0.3)
    listed, score = [], np.empty(rows)
    for i in range(rows):
        chosen = np.unique(zipf(random, features, 30, offset=10.0))
        score[i] = weights[chosen].sum()
        listed.append([(j + 1, 1) for j in chosen])
    svmlight(file, np.where(random.random(rows) < chance(4 * score), 1, -1), listed)


def ratings(random: np.random.Generator, file: Path) -> None:
    rows, users, items = 25_000, 1_500, 2_500
    user, item = zipf(random, users, rows, offset=30.0), zipf(random, items, rows, offset=30.0)
    of_users, of_items = random.normal(0, 0.45, users), random.normal(0, 0.5, items)
    rating = 3.5 + of_users[user] + of_items[item] + random.normal(0, 0.9, rows)
    pairs = zip((1 + user).tolist(), (1 + users + item).tolist())
    svmlight(file, rating.round().clip(1, 5), ([(a, 1), (b, 1)] for a, b in pairs))


def sensors(random: np.random.Generator, file: Path) -> None:
    rows, columns = 8_000, 40
    causes = random.normal(size=(rows, 12))
    mixed = causes @ random.normal(0, 0.6, (12, columns)) + 0.5 * random.normal(size=(rows, columns))
    weights = random.normal(0, 1.0, columns) * (random.random(columns) < 0.4)
    target = mixed @ weights + 0.8 * np.tanh(causes[:, 0]) + 1.5 * random.normal(size=rows)
    units = 10.0 ** random.integers(-3, 5, columns)
    numbers = {f"s{j}": [f"{x:.5g}" for x in units[j] * (mixed[:, j] + 2)] for j in range(columns)}
    table(file, numbers | {"target": [f"{y:.5g}" for y in target]})


def reviews(random: np.random.Generator, file: Path) -> None:
    rows, known = 7_000, np.array(words(random, 5_000))
    weights = random.normal(0, 1.1, len(known)) * (random.random(len(known)) < 0.2)
    turns = random.random(len(known)) < 0.01  # words after which the next one means the contrary
    with file.open("w") as out:
        for _ in range(rows):
            chosen = zipf(random, len(known), 4 + random.poisson(9), offset=20.0)
            sign = np.where(np.append(False, turns[chosen[:-1]]), -1.0, 1.0)
            score = (sign * weights[chosen]).sum() - 0.8
            label = "spam" if random.random() < chance(1.3 * score) else "ham"
            out.write(f"{label}\t{' '.join(known[chosen])}\n")


FILES = {
    "clicks.svm": clicks,
    "customers.csv": customers,
    "tickets.csv": tickets,
    "baskets.jsonl": baskets,
    "visits.svm": visits,
    "prices.csv": prices,
    "genes.svm": genes,
    "links.svm": links,
    "ratings.svm": ratings,
    "sensors.csv": sensors,
    "reviews.tsv": reviews,
}

# The rows to learn from; all others are to judge on.
LEARN = {
    "clicks.svm": 32_000,
    "customers.csv": 10_000,
    "tickets.csv": 5_000,
    "baskets.jsonl": 4_000,
    "visits.svm": 16_000,
    "prices.csv": 7_000,
    "genes.svm": 400,
    "links.svm": 12_000,
    "ratings.svm": 20_000,
    "sensors.csv": 3_000,
    "reviews.tsv": 4_000,
}

if __name__ == "__main__":
    for written, judge in write_all(Path(sys.argv[1])):
        print(written, judge)
