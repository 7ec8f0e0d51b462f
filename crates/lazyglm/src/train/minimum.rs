//! What a solver found: the heads, why it stopped, and what it proved.

use crate::eval::objective::Certificate;
use crate::model::report::Stop;
use crate::optim::newton::NewtonStop;
use crate::problem::heads::Head;
use crate::util::state::{Fields, State};

/// A minimiser of F.
pub(super) struct Minimum {
    /// The weights and the bias of each head; one head for one model.
    pub heads: Vec<Head>,
    /// Why the solver stopped; the worst reason of all heads.
    pub stop: Stop,
    /// Whether the objective of a head, or its quadratic model, was infinite or NaN.
    pub diverged: bool,
    /// The largest number of Newton steps of a head.
    pub steps: usize,
    /// The largest predicted decrease of the last step of a head, relative to its F.
    pub predicted_decrease: f64,
    /// F of a softmax.
    pub objective: Option<f64>,
    /// A lower bound on F of each head, if the solver found one.
    pub duals: Vec<Option<f64>>,
    /// The certificate, if the solver left what it takes.
    pub certificate: Option<Certificate>,
    /// The number of heads with a bias alone, because the solve was interrupted before they began.
    pub untouched: usize,
}

impl State for Minimum {
    fn fields(&mut self, fields: &mut Fields) {
        self.heads.fields(fields);
        self.stop.fields(fields);
        self.diverged.fields(fields);
        self.steps.fields(fields);
        self.predicted_decrease.fields(fields);
        self.objective.fields(fields);
        self.duals.fields(fields);
        self.certificate.fields(fields);
    }
}

impl Minimum {
    pub fn of(heads: Vec<Head>, stop: NewtonStop, steps: usize, predicted_decrease: f64) -> Minimum {
        let (stop, diverged) = match stop {
            NewtonStop::Gap => (Stop::Gap, false),
            NewtonStop::PredictedDecrease => (Stop::PredictedDecrease, false),
            NewtonStop::Precision => (Stop::Precision, false),
            NewtonStop::Steps => (Stop::Steps, false),
            NewtonStop::Interrupted => (Stop::Interrupted, false),
            NewtonStop::NoMinimum => (Stop::NoMinimum, false),
            NewtonStop::Diverged => (Stop::Steps, true),
        };
        let (objective, duals, certificate, untouched) = (None, vec![None; heads.len()], None, 0);
        Minimum { heads, stop, diverged, steps, predicted_decrease, objective, duals, certificate, untouched }
    }

    /// No heads, at their optimum.
    pub fn nothing() -> Minimum {
        Minimum::of(Vec::new(), NewtonStop::Gap, 0, 0.0)
    }

    /// The heads of two minimisers together.
    pub fn and(mut self, other: Minimum) -> Minimum {
        self.heads.extend(other.heads);
        self.duals.extend(other.duals);
        let order =
            [Stop::Interrupted, Stop::NoMinimum, Stop::Steps, Stop::Precision, Stop::PredictedDecrease];
        let stop = order.into_iter().find(|stop| [&self.stop, &other.stop].contains(&stop));
        Minimum {
            stop: stop.unwrap_or(Stop::Gap),
            diverged: self.diverged || other.diverged,
            steps: self.steps.max(other.steps),
            predicted_decrease: self.predicted_decrease.max(other.predicted_decrease),
            objective: None,
            certificate: None,
            untouched: self.untouched + other.untouched,
            ..self
        }
    }
}
