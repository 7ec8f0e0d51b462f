//! The table of solvers and their capabilities. The program, Python and the documentation print it, and
//! combinations that it excludes are rejected before any data are read.
//!
//! ```
//! use lazyglm::{Request, Solver, loss};
//! let hinge = loss::parse("hinge").unwrap();
//! let wanted = Request { loss: Some(&*hinge), ..Request::default() };
//! assert!(Solver::Sgd.check(&wanted).is_ok());
//! let refusal = Solver::Newton.check(&wanted).unwrap_err().to_string();
//! assert!(refusal.contains("without kinks") && refusal.contains("solver = auto"), "{refusal}");
//! ```

use crate::problem::loss::Loss;
use crate::util::error::{Error, Result};
use crate::util::parameter::Parameter;
use crate::util::registry::suggest;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A training algorithm.
///
/// ```
/// use lazyglm::Solver;
/// assert_eq!("svrg".parse::<Solver>().unwrap(), Solver::Svrg);
/// assert_eq!("saga".parse::<Solver>().unwrap(), Solver::Svrg, "as it was called before");
/// assert_eq!(Solver::Sgd.to_string(), "sgd");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Solver {
    /// Chooses one of the other solvers, and the penalty if none is given.
    Auto,
    /// Stochastic gradient descent, one row per step.
    #[default]
    #[serde(alias = "online")]
    Sgd,
    /// Proximal Newton method, which runs to the optimum.
    Newton,
    /// Stochastic gradient descent with a learning rate per weight.
    Adagrad,
    /// FTRL-Proximal.
    Ftrl,
    /// Variance-reduced stochastic gradient descent (prox-SVRG), which runs to the optimum.
    #[serde(alias = "saga")]
    Svrg,
}

/// Kind of the targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TargetKind {
    /// Numbers, or two classes: one model.
    Single,
    /// More than two classes: one model per class.
    Classes,
    /// Any number of labels per row: one model per label.
    Labels,
}

/// The losses that a solver can minimise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Losses {
    /// Every loss.
    Any,
    /// Losses with a second derivative.
    Smooth,
    /// Losses with a bounded second derivative.
    BoundedCurvature,
}

impl Losses {
    /// Whether a loss belongs to this set.
    pub fn include(self, loss: &dyn Loss) -> bool {
        match self {
            Losses::Any => true,
            Losses::Smooth => loss.second_derivative(0.0, 1.0).is_some(),
            Losses::BoundedCurvature => {
                loss.second_derivative(0.0, 1.0).is_some() && loss.curvature().is_some()
            }
        }
    }

    fn text(self) -> &'static str {
        match self {
            Losses::Any => "any",
            Losses::Smooth => "without kinks",
            Losses::BoundedCurvature => "without kinks and of bounded curvature",
        }
    }
}

/// Which settings of stochastic steps a solver supports: `method`, `update`, `schedule`, `average`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Steps {
    /// All of these settings.
    AsTold,
    /// None of these settings, because each weight has its own learning rate. `eta0`, `epochs` and `order`
    /// are supported.
    OwnRates,
    /// None of these settings, and no epochs.
    None,
}

/// Capabilities of one solver.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Capabilities {
    /// The solver.
    pub solver: Solver,
    /// One-line description of the solver.
    pub about: &'static str,
    /// The supported losses.
    pub losses: Losses,
    /// The supported kinds of targets.
    pub targets: &'static [TargetKind],
    /// Whether the solver supports rows that are not kept in memory.
    pub on_disk: bool,
    /// Whether the solver supports penalty factors.
    pub factors: bool,
    /// Whether the solver supports non-negative weights.
    pub bounds: bool,
    /// Whether the solver can average several runs.
    pub runs: bool,
    /// Whether the solver stops at a tolerance.
    pub tolerance: bool,
    /// The supported settings of stochastic steps.
    pub steps: Steps,
}

use TargetKind::{Classes, Labels, Single};

/// The table of solvers. To add a solver, add an entry here, and one in `train/solvers.rs` that names its
/// code.
pub static SOLVERS: &[Capabilities] = &[
    Capabilities {
        solver: Solver::Auto,
        about: "chooses for you: newton if the rows are in memory and the loss is smooth, else sgd; if no penalty is given, it chooses the penalty on held-out rows, and ftrl if that predicts them better",
        losses: Losses::Any,
        targets: &[Single, Classes, Labels],
        on_disk: true,
        factors: true,
        bounds: true,
        runs: false,
        tolerance: true,
        steps: Steps::None,
    },
    Capabilities {
        solver: Solver::Sgd,
        about: "stochastic steps, one row at a time, for a given number of epochs",
        losses: Losses::Any,
        targets: &[Single, Classes, Labels],
        on_disk: true,
        factors: true,
        bounds: true,
        runs: false,
        tolerance: false,
        steps: Steps::AsTold,
    },
    Capabilities {
        solver: Solver::Newton,
        about: "the optimum to a tolerance, with a certificate; rows in memory, losses without kinks",
        losses: Losses::Smooth,
        targets: &[Single],
        on_disk: false,
        factors: true,
        bounds: true,
        runs: false,
        tolerance: true,
        steps: Steps::None,
    },
    Capabilities {
        solver: Solver::Adagrad,
        about: "stochastic steps with a rate for each weight, in any units; eta0 is their common factor",
        losses: Losses::Any,
        targets: &[Single],
        on_disk: true,
        factors: false,
        bounds: false,
        runs: true,
        tolerance: false,
        steps: Steps::OwnRates,
    },
    Capabilities {
        solver: Solver::Ftrl,
        about: "FTRL-Proximal: the best weights for all rows so far, as far as they are known; rates like those of adagrad",
        losses: Losses::Any,
        targets: &[Single],
        on_disk: true,
        factors: false,
        bounds: false,
        runs: true,
        tolerance: false,
        steps: Steps::OwnRates,
    },
    Capabilities {
        solver: Solver::Svrg,
        about: "steps whose noise fades (SVRG): to the optimum, at a tolerance or after so many epochs; losses without kinks",
        losses: Losses::BoundedCurvature,
        targets: &[Single],
        on_disk: true,
        factors: false,
        bounds: false,
        runs: false,
        tolerance: true,
        steps: Steps::OwnRates,
    },
];

/// Requirements on a solver, as far as they are known.
///
/// ```
/// use lazyglm::{Request, Solver, TargetKind};
/// let wanted = Request { targets: Some(TargetKind::Labels), ..Request::default() };
/// assert!(Solver::Newton.check(&wanted).is_err());
/// ```
#[derive(Clone, Copy, Default)]
pub struct Request<'a> {
    /// The loss.
    pub loss: Option<&'a dyn Loss>,
    /// The kind of targets.
    pub targets: Option<TargetKind>,
    /// Whether rows are not kept in memory.
    pub on_disk: bool,
    /// Whether there are penalty factors.
    pub factors: bool,
    /// Whether weights must not be negative.
    pub bounds: bool,
    /// Whether several runs are averaged.
    pub runs: bool,
}

impl Solver {
    /// The solver's entry in the table.
    pub fn capabilities(self) -> &'static Capabilities {
        SOLVERS.iter().find(|row| row.solver == self).unwrap_or(&SOLVERS[0]) // a test checks that every solver has an entry
    }

    /// The name of the solver in options.
    ///
    /// ```
    /// assert_eq!(lazyglm::Solver::Newton.name(), "newton");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Solver::Auto => "auto",
            Solver::Sgd => "sgd",
            Solver::Newton => "newton",
            Solver::Adagrad => "adagrad",
            Solver::Ftrl => "ftrl",
            Solver::Svrg => "svrg",
        }
    }

    /// Rejects requirements that the solver does not support, and names the first two solvers that do.
    pub fn check(self, wanted: &Request) -> Result<()> {
        let Some(what) = self.capabilities().lacks(wanted) else { return Ok(()) };
        let able = SOLVERS.iter().filter(|row| row.lacks(wanted).is_none());
        let able: Vec<String> = able.map(|row| Parameter::Solver.set(row.solver)).take(2).collect();
        let mut hint = match able.is_empty() {
            false => format!("use {}", able.join(" or ")),
            true => "no solver can do all of this: leave some of it out".to_string(),
        };
        if wanted.loss.is_some_and(|loss| !self.capabilities().losses.include(loss)) {
            hint += ", or a smooth relative of the loss: squared-hinge, huber, squared-epsilon-insensitive";
        }
        Err(Error::call(what, hint))
    }
}

impl Capabilities {
    /// A description of the first requirement that the solver does not support.
    fn lacks(&self, wanted: &Request) -> Option<String> {
        let solver = Parameter::Solver.set(self.solver);
        if let Some(loss) = wanted.loss.filter(|loss| !self.losses.include(*loss)) {
            let kind = self.losses.text();
            return Some(format!("{solver} needs a loss {kind}, and '{}' is not one", loss.spec()));
        }
        if let Some(kind) = wanted.targets.filter(|kind| !self.targets.contains(kind)) {
            let what = if kind == TargetKind::Labels { "labels" } else { "more than two classes" };
            return Some(format!("{solver} is for one model, and cannot learn {what}"));
        }
        if wanted.on_disk && !self.on_disk {
            return Some(format!(
                "{solver} needs all rows in memory, and they do not fit into {}",
                Parameter::Memory
            ));
        }
        let missing = [
            (wanted.factors && !self.factors, Parameter::PenaltyFactor),
            (wanted.bounds && !self.bounds, Parameter::Nonnegative),
            (wanted.runs && !self.runs, Parameter::Runs),
        ];
        let (_, what) = missing.into_iter().find(|(missing, _)| *missing)?;
        Some(format!("{what} is not for {solver}"))
    }
}

impl fmt::Display for Solver {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Solver {
    type Err = Error;

    fn from_str(text: &str) -> Result<Solver> {
        match text {
            "online" => return Ok(Solver::Sgd),
            "saga" => return Ok(Solver::Svrg),
            _ => {}
        }
        let found = SOLVERS.iter().map(|row| row.solver).find(|solver| solver.name() == text);
        found.ok_or_else(|| {
            let names: Vec<&str> = SOLVERS.iter().map(|row| row.solver.name()).collect();
            Error::call(format!("there is no solver '{text}'"), suggest(text, &names))
        })
    }
}
