"""The bugs that tools/planted-bugs plants, each with the laws that must notice it."""

from typing import NamedTuple


class Bug(NamedTuple):
    """The first `text` in `file` (below crates/lazyglm/src) becomes `bug`; one of `laws` must fail: a file of the library's tests/laws, `lib` for the
    tests inside the library, or `program/` and a file of the program's tests.

    `text` and `bug` are whole values, or whole statements, so that a switch can choose between them. `alone=True` is for a place where no switch
    can stand: this bug is built alone.
    """

    file: str
    text: str
    bug: str
    laws: list[str]
    alone: bool = False


BUGS = [
    # The closed form.
    Bug("optim/ledger/mod.rs", r"""self.debt.add(lasso * self.stretch.sum);
                self.stretch.add(self.stretch.sum * ridge);""", r"""self.stretch.add(self.stretch.sum * ridge);
                self.debt.add(lasso * self.stretch.sum);""", ["shrink"]),
    Bug("optim/ledger/mod.rs", "ridge / (1.0 - ridge)", "ridge", ["shrink"]),
    Bug("optim/ledger/mod.rs", "self.lost = (sum - self.sum) - more;", "", ["shrink"]),
    Bug("optim/kernel/folded.rs", "if PENALTY { pulled.undo_threshold(debt) } else { pulled }", "pulled", ["exact"]),
    Bug("optim/kernel/folded.rs", "amount * self.ledger.stretch()", "amount", ["exact"]),
    Bug("optim/kernel/folded.rs", "self.debt = W::from_f64(self.ledger.debt());", "self.debt = W::from_f64(self.ledger.debt() * 1.000000001);", ["exact"]),
    Bug("optim/kernel/folded.rs", "v.soft_threshold(debt).to_f64() * scale", "v.soft_threshold(debt).to_f64()", ["exact"]),
    Bug("optim/kernel/folded.rs", "const STEPS_ALONE: f64 = 256.0;", "const STEPS_ALONE: f64 = 1e9;", ["exact"], alone=True),
    Bug("optim/kernel/folded.rs", "(W::PATIENCE * (per_step * largest).sqrt()).clamp(largest / 4.0, 64.0 * largest)", "1e4 * largest", ["exact"]),
    Bug("optim/kernel/folded.rs", "2.0 * eta < rebase.eta && debt > 0.0", "false", ["exact"]),
    Bug("optim/kernel/folded.rs", "pay(std::mem::take(&mut self.stored[id as usize]))", "pay(self.stored[id as usize])", ["exact"]),
    # Lanes, searches, averages.
    Bug("optim/ledger/many.rs", "ridge / (1.0 - ridge)", "ridge", ["lanes"]),
    Bug("optim/kernel/lanes.rs", "each(|l| if none[l] { old.lanes()[l] } else { new[l] })", "new", ["lanes"]),
    Bug("optim/kernel/lanes.rs", "v[l].soft_threshold(debt[l]).times(factor[l])", "v[l].soft_threshold(debt[l])", ["lanes"]),
    Bug("optim/kernel/lanes.rs", "[0, 2, 4, 6].map(|k| both(&sums[k], &sums[k + 1]))", "[0, 1, 2, 3].map(|k| both(&sums[k], &sums[k + 4]))", ["lanes"]),
    Bug("optim/kernel/rebases.rs", "self.log.extend_from_slice(alive);", "", ["lanes"]),
    Bug("optim/kernel/rebases.rs", "self.log.extend_from_slice(ids);", "", ["lanes"]),
    Bug("optim/lanes.rs", "block.t += 1;", "block.t += 2;", ["lanes"]),
    Bug("optim/lane_loss.rs", "into[lane] = of(scores[lane], 1.0);", "into[lane] = of(scores[lane], -1.0);", ["lanes"]),
    Bug("train/search/lane_grid.rs", "folds.of(i as usize) != fold", "folds.of(i as usize) == fold", ["tune"]),
    Bug("train/search/lane_grid.rs", "one.block = one.block.select(&lanes);", "", ["tune"]),
    Bug("train/search/folds.rs", "shuffled.sort_by_key(|&i| task.numbers()[i as usize] > 0.0);", "", ["tune"]),
    Bug("train/search/halving.rs", "count - 1.0", "count", ["tune"]),
    Bug("optim/kernel/averaged.rs", "line.debt < size", "line.debt < 1e300", ["average"]),
    Bug("optim/kernel/averaged.rs", "self.total(cell) - self.frame.sum(stored)", "self.total(cell)", ["average"]),
    Bug("optim/kernel/averaged.rs", "self.steps > self.from", "true", ["average"]),
    # A rate for each weight.
    Bug("optim/prox_steps.rs", "-1.0 / 2.0", "1.0 / 2.0", ["adagrad"]),
    Bug("optim/prox_steps.rs", "g <= penalty.l1", "g <= 0.0", ["svrg"]),
    Bug("optim/prox_steps.rs", "time.ceil().clamp(1.0, n)", "(time.ceil() + 2.0).clamp(1.0, n)", ["svrg"]),
    Bug("optim/prox_steps.rs", "steps(penalty.l2, eta, n - h)", "steps(penalty.l2, eta, n - h + 1.0)", ["svrg"]),
    Bug("optim/adagrad.rs", "self.settle(row.ids);", "", ["adagrad"]),
    Bug("optim/adagrad.rs", "*square += g * g * metric;", "", ["adagrad"]),
    Bug("optim/adagrad.rs", "reach += bias_rate;", "", ["adagrad"]),
    Bug("optim/adagrad.rs", "if weight == 0.0 { 0.0 } else { t - last }", "if weight == 0.0 { 0.0 } else { t - last - 1.0 }", ["adagrad"]),
    Bug("problem/loss/logistic.rs", "0..30", "0..1", ["adagrad"]),
    Bug("optim/ftrl.rs", "(longer - *s) * inverse * w", "(longer - *s) * w", ["ftrl"]),
    Bug("optim/ftrl.rs", "(l1 * k, l2 * k)", "(l1, l2 * k)", ["ftrl"]),
    Bug("optim/svrg.rs", "self.mean_length / length", "1.0", ["svrg"]),
    Bug("optim/svrg.rs", "state.weight = state.old", "", ["svrg"]),
    Bug("optim/svrg.rs", "(amount + self.bias.drift)", "amount", ["svrg"]),
    Bug("optim/svrg.rs", "self.snapshot.gap <= self.options.tolerance", "self.snapshot.gap <= 1e3 * self.options.tolerance", ["svrg"]),
    # The paper's tables.
    Bug("optim/reference/table.rs", "(after, after)", "(after, before)", ["exact"]),
    Bug("optim/reference/table.rs", "(before / (1.0 + eta * self.penalty.l2), before)", "(before / (1.0 + eta * self.penalty.l2), before / (1.0 + eta * self.penalty.l2))", ["exact"]),
    Bug("optim/reference/table.rs", "self.last[j] = now;", "self.last[j] = if now > 3 { now - 1 } else { now };", ["exact"]),
    Bug("optim/reference/table.rs", "(-eta * l2).ln_1p()", "-(eta * l2).ln_1p()", ["exact"]),
    # The step, the losses, the judge, the files.
    Bug("problem/penalty/fobos.rs", "(magnitude - eta * penalty.l1) / (1.0 + eta * penalty.l2)", "magnitude / (1.0 + eta * penalty.l2) - eta * penalty.l1", ["shrink", "paper"]),
    Bug("problem/loss/huber.rs", "0.5 * self.delta * self.delta", "self.delta", ["loss"]),
    Bug("problem/loss/logistic.rs", "Some(0.25)", "Some(0.2)", ["loss"]),
    Bug("optim/newton/model.rs", "rest * (self.to[k] - self.from[k])", "rest * self.to[k]", ["newton"]),
    Bug("optim/newton/model.rs", "penalty.l1 * (to.abs() - from.abs())", "penalty.l1 * to.abs()", ["newton"]),
    Bug("optim/newton/gram.rs", "self.gradient[k] + q[k] + penalty.l2 * self.to[k]", "self.gradient[k] + q[k]", ["newton"]),
    Bug("optim/newton/path.rs", "l1 - most.max(NEAR * l1)", "2.0 * l1", ["path"]),
    Bug("optim/newton/line.rs", "missed * missed / terms.second_derivatives[i]", "0.0", ["path"]),
    Bug("optim/newton/dual.rs", "map(|(one, g)| one.share(g))", "map(|_| 1.0)", ["newton"]),
    Bug("optim/newton/dual.rs", "self.problem.bias && !self.balance(point, &mut slopes)", "false", ["newton"]),
    Bug("optim/newton/extrapolate.rs", "to + share * (to - from)", "to - share * (to - from)", ["path"]),
    Bug("simd/elementary.rs", "1.0 / 17.0,", "1.0 / 16.0,", ["lib"], alone=True),
    Bug("problem/loss/logistic.rs", "half.tanh() / (4.0 * half)", "half.tanh() / (5.0 * half)", ["loss"]),
    Bug("eval/objective/balance.rs", "-low.1 / (high.1 - low.1)", "0.5", ["gap"]),
    Bug("problem/penalty/one.rs", "self.penalty.l1 / (self.penalty.l1 + self.excess_gradient(g))", "1.0", ["gap"]),
    Bug("problem/penalty/one.rs", "beyond * beyond / (2.0 * l2)", "beyond * beyond / (4.0 * l2)", ["gap"]),
    Bug("problem/penalty/one.rs", "w * (beyond - 0.5 * l2 * w)", "0.0", ["gap"]),
    Bug("problem/penalty/one.rs", "l1.copysign(w)", "l1", ["objective"]),
    Bug("optim/kernel/penalty_factors.rs", "self.clip_pulled();", "", ["penalty_factors"]),
    Bug("optim/prox_steps.rs", "one.clip(steps(n - 1.0, one.clip(steps(1.0, weight))))", "one.clip(steps(n, weight))", ["adagrad"]),
    Bug("problem/loss/tweedie.rs", "slope * score - self.value(score, target)", "slope * score", ["loss"]),
    Bug("train/adaptive.rs", "if kept[j] { first.weighted_penalty().range(j) } else { [0.0, 0.0] }", "first.weighted_penalty().range(j)", ["adaptive"]),
    Bug("problem/schedule/inverse.rs", "1.0 + t as f64 / self.t0", "t as f64 / self.t0", ["schedule"]),
    Bug("model/file/mod.rs", "XxHash3_64::oneshot(&bytes[..end])", "XxHash3_64::oneshot(&bytes[end..])", ["file"]),
    Bug("util/number.rs", "integer as f64 / POWERS[decimals]", "integer as f64 * (1.0 / POWERS[decimals])", ["file"]),
    Bug("problem/task/row_weights.rs", "weights[i] > 0.0", "weights[i] >= 0.0", ["chunks"]),
    # Classes and labels.
    Bug("optim/softmax.rs", "self.scores[class] -= 1.0;", "self.scores[class] -= weight;", ["classes"]),
    Bug("optim/softmax.rs", "self.lanes.charge([self.eta; L], self.row.ids.len());", "if amounts != [0.0; L] { self.lanes.charge([0.999 * self.eta; L], self.row.ids.len()) }", ["classes"]),
    Bug("train/heads/lanes.rs", "heads.start as u32", "heads.start as u32 + 1", ["classes"]),
    Bug("train/holdout.rs", "unit.best = (epoch, loss);", "unit.best = (epoch, 0.9 * loss);", ["classes"]),
    Bug("train/holdout.rs", "unit.kept = patience.map(|_| model.heads(k));", "", ["classes"]),
    Bug("train/epoch_loop.rs", "epochs.before + epoch - 1", "epochs.before", ["classes"]),
    Bug("train/epoch_loop.rs", "at.stop = rule.after_part(model, &at)?;", "", ["tune"]),
    Bug("problem/lent.rs", "order.iter_mut().for_each(|k| *k = rows[*k as usize]);", "", ["lent"]),
    Bug("train/plateau.rs", "track.stalled < rule.patience", "track.stalled <= rule.patience", ["lent"]),
    Bug("optim/resumable.rs", "t.saturating_add(state.from).saturating_sub(state.steps)", "t.saturating_add(state.from)", ["lent"]),
    Bug("eval/objective/heads.rs", "(others * self.total[j] + (these - others) * own)", "(others * self.total[j] + these * own)", ["classes"]),
    Bug("eval/objective/heads.rs", "(score - sum).exp() - 1.0", "(score - sum).exp()", ["classes"]),
    Bug("model/file/heads.rs", "two[0] < two[1]", "true", ["classes"]),
    Bug("train/heads/thresholds.rs", "gain > best", "gain > best && given % 2 == 0", ["lib"]),
    Bug("train/heads/thresholds.rs", "sure_gain(before, [0, 0], f1)", "0.0", ["lib"]),
    # The mean of runs; better than nothing.
    Bug("optim/run_average.rs", "way[i as usize]", "i", ["mean"]),
    Bug("optim/run_average.rs", "*w /= count", "*w /= count + 1.0", ["mean"]),
    Bug("optim/run_average.rs", "random::permutation(rows, self.seed, k)", "random::permutation(rows, self.seed, 1)", ["mean"]),
    Bug("train/holdout_score.rs", "mean > SURE * se", "mean > 0.5 * SURE * se", ["lib"]),
    # The cache, the windows, the one-pass judge.
    Bug("data/cache/stamp.rs", "FileNumbers::of(&found)", "None", ["cache"]),
    Bug("data/cache/stamp.rs", "(found.ctime(), found.ctime_nsec())", "(0, 0)", ["cache"]),
    Bug("data/cache/file.rs", "block.rows.ids_are_in(self.known_ids())", "true", ["lib"]),
    Bug("data/cache/file.rs", "rows as u64 > length", "false", ["lib"]),
    Bug("data/cache/file.rs", "self.with_query <= rows && rising", "true", ["lib"]),
    Bug("data/loader/mod.rs", "!Cache::is_one(place)", "false", ["cache"]),
    Bug("train/certify/mod.rs", "Stamp::of(data)? == before", "true", ["gap"]),
    Bug("train/penalty_search/ray.rs", " settings.interrupted()", " false", ["auto"]),
    Bug("util/files.rs", "age > STALE", "age > STALE / 1000000", ["lib"]),
    Bug("data/cache/file.rs", "XxHash3_64::oneshot(bytes) == check", "true", ["cache"]),
    Bug("data/cache/numbers.rs", "(whole / power).to_bits() == number.to_bits()", "(whole / power - number).abs() < 1e-9", ["cache", "lib"]),
    Bug("data/loader/cached.rs", "AtomicUsize::new(0)", "AtomicUsize::new(usize::from(cache.parts.len() > 1))", ["cache"]),
    Bug("problem/windows/passes.rs", "lines.of(i - first)", "lines.of(i)", ["lib"]),
    Bug("problem/windows/passes.rs", "groups.push(Vec::new());", "groups.push(vec![part]);", ["lib"]),
    Bug("eval/objective/null_model.rs", "(1.0 - share) * at(self.low) + share * at(self.high)", "share * at(self.high)", ["objective"]),
    # The optimum: ridge, softmax, kinks, paths.
    Bug("optim/newton/ridge/cg.rs", "lift * tilts[k] - gradient[k] - l2[k] * weights[k]", "lift * tilts[k] - gradient[k]", ["ridge"]),
    Bug("optim/newton/ridge/cg.rs", "*product += l2 * v;", "", ["ridge"]),
    Bug("optim/newton/ridge/cg.rs", "0.5 * (square - along * along / length).max(0.0)", "0.0", ["ridge"]),
    Bug("optim/softmax_newton/optimality.rs", "share.min(one.share(g))", "1.0", ["softmax_newton"]),
    Bug("eval/objective/softmax_gap.rs", "taken[k] * if k == own { 1.0 + *r } else { *r }", "taken[k] * *r", ["softmax_newton"]),
    Bug("eval/objective/softmax_gap.rs", "(sum / n).abs()", "0.0", ["softmax_newton"]),
    Bug("optim/newton/multipliers/bound.rs", "value -= n * one.conjugate(g);", "", ["kinks"]),
    Bug("optim/newton/multipliers/bound.rs", "excess.abs() > 1e-14 * size", "false", ["kinks"]),
    Bug("train/search/exact.rs", "(spread / count).sqrt()", "spread.sqrt()", ["exact_path"]),
    Bug("train/search/exact.rs", "if self.metric.is_gain() { -1.0 } else { 1.0 }", "1.0", ["exact_path"]),
    Bug("train/search/exact.rs", "positive_part(weighted_penalty.one(j).steepness(*g)) / factor", "positive_part(weighted_penalty.one(j).steepness(*g))", ["exact_path"]),
    Bug("train/fold.rs", "counts[*id as usize] > 0", "true", ["auto"]),
    # Rows on disk, one pass.
    Bug("train/out_of_core/rounds.rs", "gap <= settings.tolerance", "gap <= 1e3 * settings.tolerance", ["out_of_core"]),
    Bug("train/out_of_core/kinks.rs", "0.5 * self.width * a * a", "0.0", ["lib"]),
    Bug("train/out_of_core/kinks.rs", "0.5 * self.width * slope * slope", "0.0", ["lib"]),
    Bug("train/heads/on_disk.rs", "self.0[unit / width].heads(unit % width)", "self.0[0].heads(unit % width)", ["heads_on_disk"]),
    Bug("train/heads/on_disk.rs", "(sample.len() as f64 / problem.rows() as f64).sqrt()", "1.0", ["heads_on_disk"]),
    Bug("train/copied.rs", "self.weights.push(batch.weights.map_or(1.0, |weights| weights[i]));", "self.weights.push(1.0);", ["lib"]),
    Bug("eval/objective/heads_on_disk.rs", "self.shares[first + l]", "self.shares[l]", ["lib"]),
    Bug("eval/objective/heads_on_disk.rs", "sets.signs(&rows_of[first + l])", "sets.signs(&rows_of[l])", ["lib"]),
    Bug("train/certify/on_disk.rs", "bound.map_or(certificate, |bound| certificate.at_least(bound))", "certificate", ["program/certify"]),
    Bug("problem/windows/passes.rs", "self.features.scaling.apply(&mut parsed.rows, self.as_f32);", "", ["program/certify"]),
    Bug("problem/windows/passes.rs", "parsed.offset(i)", "0.0", ["offsets_on_disk"]),
    Bug("problem/windows/passes.rs", "own * self.of_class.as_ref().map_or(1.0, |of| of[class(i)]) / self.mean_weight", "own", ["heads_on_disk", "program/memory"]),
    Bug("problem/windows/passes.rs", "number + (i - first) as u64", "*number", ["lib"]),
    Bug("optim/row_loop.rs", "examples.offset(i)", "0.0", ["offsets"]),
    Bug("optim/bias_rate.rs", "1.0 / (eta * (1.0 + 0.25 * t))", "0.0", ["lib"]),
    Bug("optim/bias_rate.rs", "self.density.present += present as u64;", "", ["lib"]),
    # Tables and text.
    Bug("data/scaling.rs", "1.0 + x.abs().ln()", "x.abs().ln()", ["tf_idf"]),
    Bug("data/scaling.rs", "((1.0 + n) / (1.0 + f64::from(df))).ln() + 1.0", "((1.0 + n) / (1.0 + f64::from(df))).ln()", ["tf_idf"]),
    Bug("data/scaling.rs", "square / n - (sum / n) * (sum / n)", "square / n", ["lib"]),
    Bug("data/format/columns/dates.rs", "self.days + 3", "self.days", ["columns"]),
    Bug("data/format/columns/dates.rs", "month <= 2", "month < 2", ["lib"]),
    Bug("data/format/columns/dates.rs", "if zone.starts_with('-') { 1.0 } else { -1.0 }", "1.0", ["lib"]),
    Bug("data/format/columns/dirty.rs", "all[k].count.saturating_add(cells.count)", "all[k].count.saturating_add(1)", ["lib"]),
    Bug("data/format/columns/dirty.rs", "cells.count += 1", "cells.count += 2", ["program/tables"]),
    Bug("data/format/text/terms.rs", "self.words.iter().skip(k).take(grams.to)", "self.words.iter().skip(k).take(grams.to + 1)", ["format_text"]),
    Bug("data/format/text/terms.rs", "buffer.push('\\'');", "", ["format_text"]),
    Bug("eval/metrics/bootstrap.rs", "low + (high - low) * at.fract()", "low", ["lib"]),
    Bug("eval/metrics/bootstrap.rs", "drawn[random.below(rows as u64) as usize] += 1.0", "drawn[random.below(rows as u64) as usize] = 1.0", ["lib"]),
    # Checkpoints.
    Bug("util/checkpoint/mod.rs", "contents.data == data", "true", ["checkpoint"]),
    Bug("util/checkpoint/file.rs", "XxHash3_64::oneshot(&bytes[..bytes.len() - check.len()]) != u64::from_le_bytes(*check)", "false", ["lib", "checkpoint"]),
]
