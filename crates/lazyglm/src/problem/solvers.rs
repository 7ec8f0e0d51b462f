//! The table of solvers and their capabilities. The program, Python and the documentation print it, and
//! combinations that it excludes are rejected before any data are read.
//!
//! ```
//! use lazyglm::{Request, Solver, loss};
//! let hinge = loss::parse("hinge").unwrap();
//! let wanted = Request { loss: Some(&*hinge), ..Request::default() };
//! assert!(Solver::Sgd.check(&wanted).is_ok());
//! let refusal = Solver::Svrg.check(&wanted).unwrap_err().to_string();
//! assert!(refusal.contains("without kinks") && refusal.contains("solver = auto"), "{refusal}");
//! ```

use crate::problem::heads::HeadKind;
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TargetKind {
    /// Numbers, or two classes: one model.
    Single,
    /// More than two classes: one model per class.
    Classes,
    /// Any number of labels per row: one model per label.
    Labels,
}

impl TargetKind {
    /// The kind of targets for these heads; `None` stands for one model.
    pub fn of(heads: Option<HeadKind>) -> TargetKind {
        match heads {
            None => TargetKind::Single,
            Some(HeadKind::Labels) => TargetKind::Labels,
            Some(_) => TargetKind::Classes,
        }
    }

    pub(super) fn text(self) -> &'static str {
        match self {
            TargetKind::Single => "one model",
            TargetKind::Classes => "more than two classes",
            TargetKind::Labels => "labels",
        }
    }
}

/// The losses that a solver can minimise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Losses {
    /// Every loss.
    Any,
    /// Losses with a bounded second derivative.
    BoundedCurvature,
}

impl Losses {
    /// Whether a loss belongs to this set.
    pub fn include(self, loss: &dyn Loss) -> bool {
        match self {
            Losses::Any => true,
            Losses::BoundedCurvature => {
                loss.second_derivative(0.0, 1.0).is_some() && loss.curvature().is_some()
            }
        }
    }

    pub(super) fn text(self) -> &'static str {
        match self {
            Losses::Any => "any",
            Losses::BoundedCurvature => "without kinks and of bounded curvature",
        }
    }
}

/// Which settings of stochastic steps a solver supports: `method`, `update`, `schedule`, `average`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
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
#[derive(Clone, Copy, Debug, Serialize)]
#[non_exhaustive]
pub struct Capabilities {
    /// The solver.
    #[serde(rename = "name")]
    pub solver: Solver,
    /// One-line description of the solver.
    pub about: &'static str,
    /// The supported losses.
    pub losses: Losses,
    /// The supported kinds of targets.
    pub targets: &'static [TargetKind],
    /// Whether the solver supports rows that are not kept in memory.
    pub on_disk: bool,
    /// Whether the solver supports a warm start.
    pub start: bool,
    /// Whether the solver supports penalty factors.
    pub factors: bool,
    /// Whether the solver supports non-negative weights and other bounds.
    pub bounds: bool,
    /// Whether the solver can average several runs.
    pub runs: bool,
    /// Whether the solver stops at a tolerance.
    pub tolerance: bool,
    /// The supported settings of stochastic steps.
    pub steps: Steps,
    /// The parameters that the solver also supports for more than two classes and for labels.
    pub heads_with: &'static [Parameter],
    /// The same for rows that are not kept in memory; none if the solver needs all rows in memory for them.
    pub heads_on_disk_with: &'static [Parameter],
}

use TargetKind::{Classes, Labels, Single};

/// What the training of one model per class or label by SGD supports.
const HEADS_WITH: &[Parameter] = &[Parameter::Method, Parameter::Schedule];

/// What Newton's method supports for each class or label: all that it supports for one model.
const NEWTON_HEADS_WITH: &[Parameter] = &[
    Parameter::Start,
    Parameter::PenaltyFactor,
    Parameter::Nonnegative,
    Parameter::Lower,
    Parameter::Upper,
    Parameter::Exclude,
    Parameter::Adaptive,
    Parameter::Tolerance,
    Parameter::Method,
    Parameter::Update,
    Parameter::Schedule,
    Parameter::Average,
];

/// The table of solvers. To add a solver, add an entry here, and one in `train/solvers.rs` that names its
/// code.
pub static SOLVERS: &[Capabilities] = &[
    Capabilities {
        solver: Solver::Auto,
        about: "newton; svrg, or sgd for a loss with kinks, if rows on disk and their columns do not fit into memory; if no penalty is given, auto chooses one by held-out loss, and takes ftrl if its held-out loss is at least 0.5 % lower",
        losses: Losses::Any,
        targets: &[Single, Classes, Labels],
        on_disk: true,
        start: true,
        factors: true,
        bounds: true,
        runs: false,
        tolerance: true,
        steps: Steps::None,
        heads_with: NEWTON_HEADS_WITH,
        heads_on_disk_with: HEADS_WITH,
    },
    Capabilities {
        solver: Solver::Sgd,
        about: "stochastic gradient descent, one row per step, for a given number of epochs",
        losses: Losses::Any,
        targets: &[Single, Classes, Labels],
        on_disk: true,
        start: true,
        factors: true,
        bounds: true,
        runs: false,
        tolerance: false,
        steps: Steps::AsTold,
        heads_with: HEADS_WITH,
        heads_on_disk_with: HEADS_WITH,
    },
    Capabilities {
        solver: Solver::Newton,
        about: "proximal Newton method: the optimum to a tolerance, with a certificate; a loss with kinks (a slope that jumps) needs a penalty",
        losses: Losses::Any,
        targets: &[Single, Classes, Labels],
        on_disk: true,
        start: true,
        factors: true,
        bounds: true,
        runs: false,
        tolerance: true,
        steps: Steps::None,
        heads_with: NEWTON_HEADS_WITH,
        heads_on_disk_with: &[],
    },
    Capabilities {
        solver: Solver::Adagrad,
        about: "SGD with a learning rate per weight, for features in any units; eta0 multiplies all rates",
        losses: Losses::Any,
        targets: &[Single],
        on_disk: true,
        start: true,
        factors: true,
        bounds: true,
        runs: true,
        tolerance: false,
        steps: Steps::OwnRates,
        heads_with: &[],
        heads_on_disk_with: &[],
    },
    Capabilities {
        solver: Solver::Ftrl,
        about: "FTRL-Proximal, with a learning rate per weight, as in adagrad",
        losses: Losses::Any,
        targets: &[Single],
        on_disk: true,
        start: true,
        factors: true,
        bounds: true,
        runs: true,
        tolerance: false,
        steps: Steps::OwnRates,
        heads_with: &[],
        heads_on_disk_with: &[],
    },
    Capabilities {
        solver: Solver::Svrg,
        about: "variance-reduced SGD (prox-SVRG): the optimum to a tolerance, within a number of epochs; losses without kinks",
        losses: Losses::BoundedCurvature,
        targets: &[Single],
        on_disk: true,
        start: true,
        factors: true,
        bounds: true,
        runs: false,
        tolerance: true,
        steps: Steps::OwnRates,
        heads_with: &[],
        heads_on_disk_with: &[],
    },
];

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
