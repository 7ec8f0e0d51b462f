"""Jobs that are lazyglm's alone: training within a memory limit; and how large caches are, ours beside the others'."""

from __future__ import annotations

import time

from bench import measure
from bench.contenders import CACHE_EPOCH, Contender, Settings
from bench.contenders import lazyglm as ours

EPOCHS = 3  # enough that reading ahead matters and start-up does not
SHARE = 4  # the data are this many times the limit


def memory(who: list[Contender], data, settings: Settings, nonzeros: int, rows: int, repeats: int) -> dict:
    """Data of about four times the limit, within the limit and without, both from the cache."""
    result = {"job": "memory", "rows": [], "skipped": []}
    program = next((c for c in who if isinstance(c, ours.Lazyglm)), None)
    if program is None:
        result["skipped"].append("lazyglm: does not take part")
        return result
    missing = [flag for flag in ("--memory", "--cache") if not program.has(flag)]
    if missing:
        result["skipped"].append(f"lazyglm: this build has no {' and no '.join(missing)}")
        return result
    size = 8 * nonzeros + 16 * rows  # index and value of four bytes each; where a row starts, and its target
    limit = max(size // SHARE // 2**20, 1)
    try:
        program.prepare(CACHE_EPOCH, data, settings)
        free, bound = [], []
        for _ in range(repeats):
            free.append(program.train(data, settings, EPOCHS, "auto"))
            bound.append(program.train(data, settings, EPOCHS, "auto", ["--memory", f"{limit}M"]))
    except measure.Failed as why:
        result["skipped"].append(f"lazyglm: {why}")
        return result
    base = min(o.seconds for o in free)
    for name, runs in (("in memory", free), (f"--memory {limit}M", bound)):
        best = min(runs, key=lambda o: o.seconds)
        result["rows"].append(
            {
                "contender": name,
                "seconds": best.seconds,
                "ratio": best.seconds / base,
                "train_seconds": best.notes["seconds_train"],
                "peak": max(o.peak for o in runs),
                "limit": limit * 2**20 if runs is bound else None,
                "objective": best.objective,
                "size": size,
            }
        )
    return result


def cache_size(who: list[Contender], data, settings: Settings) -> dict:
    """Bytes of text and of each contender's cache; and how long ours takes to open, if the program can say."""
    text = data.train.stat().st_size
    result = {"job": "cache-size", "rows": [], "skipped": [], "text": text}
    seen = set()
    for contender in who:
        why = contender.jobs().get(CACHE_EPOCH, "not its job")
        if why:
            result["skipped"].append(f"{contender.name}: {why}")
            continue
        try:
            cache = contender.prepare(CACHE_EPOCH, data, settings)
        except measure.Failed as failed:
            result["skipped"].append(f"{contender.name}: {failed}")
            continue
        if cache is None or cache in seen:  # two variants of a contender share one
            continue
        seen.add(cache)
        size = cache.stat().st_size
        row = {"contender": contender.name, "cache": size, "ratio": size / text, "open": None}
        if isinstance(contender, ours.Lazyglm) and " stats " in ours.said(contender.program, "--help"):
            start = time.perf_counter()
            ours.said(contender.program, "stats", cache)
            row["open"] = time.perf_counter() - start
        result["rows"].append(row)
    return result
