"""A record as tables: both sides and the ratio, the answer next to the time."""

from __future__ import annotations

from bench import jobs
from bench.contenders import CACHE_EPOCH, TEXT_TO_MODEL
from bench.table import count, megabytes, number, seconds, table, times

TITLES = {
    TEXT_TO_MODEL: "text-to-model: svmlight text → model file, one epoch",
    CACHE_EPOCH: f"cache-epoch: one epoch from the contender's own cache; epoch: one more of it; judged after {1 + jobs.FURTHER}",
}


def head(record: dict) -> str:
    size, machine = record["size"], record["machine"]
    return (
        f"{record['data']}: {size['rows']:,} rows × {size['features']:,} features, "
        f"{size['nonzeros'] / size['rows']:.1f} non-zeros a row, {size['bytes'] / 1e6:.0f} MB of text; "
        f"{size['held_out']:,} rows held out\n"
        f"l1 {record['l1']:g}, l2 {record['l2']:g}; {machine['cpu']}, {machine['cores']} cores, load {machine['load'][0]}; "
        f"least of {record['repeats']} turns\n"
    )


def job(result: dict) -> str:
    epochs = result["job"] == CACHE_EPOCH
    heads = ["", "seconds", "median", "ratio", *(["epoch", "ratio"] if epochs else []), "cpu", "F(w, b)", "held out"]
    heads += ["non-zeros", "peak"]
    rows = []
    for row in result["rows"]:
        further = [seconds(row["epoch"]) if row["epoch"] > 0 else "noise", times(row["epoch_ratio"])] if epochs else []
        rows.append(
            [row["contender"], seconds(row["seconds"]), seconds(row["median"]), times(row["ratio"]), *further]
            + [seconds(row["cpu"]), number(row["objective"]), number(row["held_out"]), count(row["nonzeros"])]
            + [megabytes(row["peak"])]
        )
    return page(TITLES[result["job"]], heads, rows, result["skipped"])


def cache_size(result: dict) -> str:
    rows = [
        [row["contender"], megabytes(result["text"]), megabytes(row["cache"]), f"{row['ratio']:.3f}", seconds(row["open"])]
        for row in result["rows"]
    ]
    return page("cache-size: bytes on disk", ["", "text", "cache", "cache/text", "open"], rows, result["skipped"])


def memory(result: dict) -> str:
    rows = [
        [row["contender"], seconds(row["seconds"]), times(row["ratio"]), seconds(row["train_seconds"])]
        + [megabytes(row["limit"]), megabytes(row["peak"]), megabytes(row["size"])]
        + [number(row["objective"]), number(row["held_out"]), count(row["nonzeros"])]
        for row in result["rows"]
    ]
    heads = ["", "seconds", "ratio", "training", "limit", "peak", "data", "F(w, b)", "held out", "non-zeros"]
    return page("memory: lazyglm within a limit of a quarter of the data, from its cache", heads, rows, result["skipped"])


def page(title: str, heads: list[str], rows: list[list[str]], skipped: list[str]) -> str:
    lines = [title]
    if rows:
        lines.append(table(heads, rows))
    lines += [f"    skipped: {line}" for line in skipped]
    return "\n".join(lines) + "\n"
