//! What a training run requires of a solver, and the check against the table in [`solvers`](super::solvers).

use super::loss::Loss;
use super::solvers::{Capabilities, SOLVERS, Solver, Steps, TargetKind};
use crate::util::error::{Error, Result};
use crate::util::parameter::Parameter;

/// Requirements on a solver, as far as they are known.
///
/// ```
/// use lazyglm::{Request, Solver, TargetKind};
/// let wanted = Request { targets: Some(TargetKind::Labels), ..Request::default() };
/// assert!(Solver::Ftrl.check(&wanted).is_err());
/// ```
#[derive(Clone, Copy, Default)]
pub struct Request<'a> {
    /// The loss.
    pub loss: Option<&'a dyn Loss>,
    /// The kind of targets.
    pub targets: Option<TargetKind>,
    /// Whether rows are not kept in memory.
    pub on_disk: bool,
    /// Whether training starts from given weights.
    pub start: bool,
    /// Whether there are penalty factors.
    pub factors: bool,
    /// Whether weights must not be negative.
    pub nonnegative: bool,
    /// Whether weights have a lower bound.
    pub lower: bool,
    /// Whether weights have an upper bound.
    pub upper: bool,
    /// Whether features are excluded.
    pub exclude: bool,
    /// Whether a second fit has penalty factors from the first.
    pub adaptive: bool,
    /// Whether several runs are averaged.
    pub runs: bool,
    /// Whether the penalty is applied by its gradient, and not by proximal steps.
    pub method: bool,
    /// Whether updates are not lazy.
    pub update: bool,
    /// Whether a learning-rate schedule is given.
    pub schedule: bool,
    /// Whether the weights of many steps are averaged.
    pub average: bool,
    /// Whether rows have offsets.
    pub offsets: bool,
    /// Whether a threshold is tuned per label.
    pub thresholds: bool,
}

impl Request<'_> {
    /// The parameters that are requested.
    fn parameters(&self) -> impl Iterator<Item = Parameter> {
        let all = [
            (self.on_disk, Parameter::Memory),
            (self.start, Parameter::Start),
            (self.factors, Parameter::PenaltyFactor),
            (self.nonnegative, Parameter::Nonnegative),
            (self.lower, Parameter::Lower),
            (self.upper, Parameter::Upper),
            (self.exclude, Parameter::Exclude),
            (self.adaptive, Parameter::Adaptive),
            (self.offsets, Parameter::Offset),
            (self.runs, Parameter::Runs),
            (self.method, Parameter::Method),
            (self.update, Parameter::Update),
            (self.schedule, Parameter::Schedule),
            (self.average, Parameter::Average),
        ];
        all.into_iter().filter(|(wanted, _)| *wanted).map(|(_, parameter)| parameter)
    }
}

impl Solver {
    /// Rejects requirements that the solver does not support, and names the first two solvers that do.
    pub fn check(self, wanted: &Request) -> Result<()> {
        if wanted.thresholds && wanted.targets.is_some_and(|kind| kind != TargetKind::Labels) {
            let (what, labels) = (Parameter::Thresholds, Parameter::Multilabel);
            return Err(Error::call(
                format!("{what} is for labels"),
                format!("leave it out, or use {labels}"),
            ));
        }
        if wanted.thresholds && wanted.on_disk {
            let what = format!("{} needs all rows in memory", Parameter::Thresholds);
            return Err(Error::call(what, "leave it out, or raise the memory"));
        }
        let Some((what, unsupported)) = self.capabilities().lacks(wanted) else { return Ok(()) };
        let of_steps = wanted.parameters().any(|parameter| reason(parameter).is_some());
        let able = SOLVERS.iter().filter(|row| row.lacks(wanted).is_none());
        let able = able.filter(|row| !of_steps || row.steps == Steps::AsTold); // the others ignore them
        let able: Vec<String> = able.map(|row| Parameter::Solver.set(row.solver)).take(2).collect();
        let mut hint = match (unsupported, able.is_empty()) {
            (None, false) => format!("use {}", able.join(" or ")),
            (Some(parameter), false) => format!("leave {parameter} out, or use {}", able.join(" or ")),
            (None, true) => "no solver can do all of this: leave some of it out".to_string(),
            (Some(parameter), true) => format!("no solver can do all of this: leave {parameter} out"),
        };
        if wanted.loss.is_some_and(|loss| !self.capabilities().losses.include(loss)) {
            hint += ", or a smooth relative of the loss: squared-hinge, huber, squared-epsilon-insensitive";
        }
        Err(Error::call(what, hint))
    }
}

/// The reason why solvers with a learning rate per weight do not support a setting of steps; `None` for other
/// parameters.
fn reason(parameter: Parameter) -> Option<&'static str> {
    match parameter {
        Parameter::Schedule => Some("each weight has its own learning rate"),
        Parameter::Method => Some("its steps are proximal"),
        Parameter::Update => Some("its updates are always lazy"),
        Parameter::Average => Some("its result is the weights of the last step"),
        _ => None,
    }
}

impl Capabilities {
    /// Whether the solver supports a parameter for this kind of targets. A solver without stochastic steps ignores
    /// their settings, and counts as supporting them.
    pub fn supports(&self, parameter: Parameter, targets: Option<TargetKind>) -> bool {
        let heads = targets.is_some_and(|kind| kind != TargetKind::Single);
        let ever = match parameter {
            Parameter::Memory => self.on_disk,
            Parameter::Start => self.start,
            Parameter::PenaltyFactor => self.factors,
            Parameter::Adaptive => self.factors && self.bounds,
            Parameter::Nonnegative | Parameter::Lower | Parameter::Upper | Parameter::Exclude => self.bounds,
            Parameter::Runs => self.runs,
            Parameter::Tolerance => self.tolerance,
            other => reason(other).is_none() || self.steps != Steps::OwnRates,
        };
        ever && match (heads, parameter) {
            (false, _) => true,
            (true, Parameter::Memory) => !self.heads_on_disk_with.is_empty(),
            (true, other) => self.heads_with.contains(&other),
        }
    }

    /// Whether the solver supports a parameter for such targets and rows.
    fn supports_in(&self, parameter: Parameter, wanted: &Request) -> bool {
        let heads = wanted.targets.is_some_and(|kind| kind != TargetKind::Single);
        let on_disk = heads && wanted.on_disk && parameter != Parameter::Memory;
        self.supports(parameter, wanted.targets) && (!on_disk || self.heads_on_disk_with.contains(&parameter))
    }

    /// A description of the first requirement that the solver does not support, and the parameter to leave out.
    fn lacks(&self, wanted: &Request) -> Option<(String, Option<Parameter>)> {
        let solver = Parameter::Solver.set(self.solver);
        if let Some(loss) = wanted.loss.filter(|loss| !self.losses.include(*loss)) {
            let kind = self.losses.text();
            return Some((format!("{solver} needs a loss {kind}, and '{}' is not one", loss.spec()), None));
        }
        if let Some(kind) = wanted.targets.filter(|kind| !self.targets.contains(kind)) {
            return Some((format!("{solver} is for one model, and cannot learn {}", kind.text()), None));
        }
        let what = wanted.parameters().find(|&parameter| !self.supports_in(parameter, wanted))?;
        let kind = wanted.targets.filter(|_| self.supports(what, None)).map(TargetKind::text);
        let in_memory = Request { on_disk: false, ..*wanted };
        if let (true, Some(kind)) =
            (self.supports_in(what, &in_memory), kind.filter(|_| what != Parameter::Memory))
        {
            return Some((
                format!("{what} is not for {kind} if the rows do not fit into memory"),
                Some(what),
            ));
        }
        Some(match (what, kind) {
            (Parameter::Memory, _) => {
                let whose = kind.unwrap_or(&solver);
                let why = match wanted.targets.filter(|_| kind.is_some()) {
                    Some(TargetKind::Labels) => {
                        ": each label has a model of its own, which would read all rows from disk"
                    }
                    Some(_) => ": steps and certificate need the probability of each class in each row",
                    None => "",
                };
                (
                    format!("all rows must be in memory for {whose}, and they do not fit into {what}{why}"),
                    None,
                )
            }
            (Parameter::Offset, Some(kind)) => {
                // Each of independent heads could have the offset, but they are learnt, evaluated and certified without.
                let why = match wanted.targets {
                    Some(TargetKind::Labels) => "it is the offset of one model, and each label has its own",
                    _ => "the same number for all classes of a row changes no probability of a softmax",
                };
                (format!("{what} is not for {kind}: {why}"), Some(what))
            }
            (_, Some(kind)) => (format!("{what} is not for {kind}"), Some(what)),
            _ => {
                let why = reason(what).map_or(String::new(), |why| format!(": {why}"));
                (format!("{what} is not for {solver}{why}"), Some(what))
            }
        })
    }
}
