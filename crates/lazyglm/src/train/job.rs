//! The arguments of a solver.

use super::beside::Beside;
use crate::problem::loss::Loss;
use crate::problem::settings::Settings;
use crate::problem::source::{Problem, Sequence};
use crate::problem::task::Task;

/// The arguments of a solver: problem, held-out rows and settings.
#[derive(Clone, Copy)]
pub(super) struct Job<'a> {
    pub problem: &'a dyn Problem,
    pub validation: Option<&'a Task>,
    pub settings: &'a Settings,
    /// What is computed while the solver learns, if anything is.
    pub beside: Option<&'a Beside<'a>>,
}

impl<'a> Job<'a> {
    pub fn loss(&self) -> &'a dyn Loss {
        &**self.problem.loss()
    }

    pub fn sequence(&self) -> Sequence {
        Sequence::of(self.settings)
    }

    pub fn columns(&self) -> usize {
        self.problem.features().columns()
    }
}
