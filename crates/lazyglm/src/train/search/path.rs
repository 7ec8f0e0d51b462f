//! The regularisation path: one model per λ₁, all trained as lanes of one pass.

use super::grid::Point;
use super::lane_grid::LaneGrid;
use super::{HeldOutRows, lost};
use crate::eval::objective::{self, Objective};
use crate::model::report::Stop;
use crate::optim::sgd::Diverged;
use crate::problem::settings::Settings;
use crate::problem::source::Sequence;
use crate::problem::task::Task;
use crate::train::epoch_loop::{Epochs, Position, StopRule, fit};
use crate::train::units::Unit;
use crate::util::error::{Error, Kind, Place, Result};
use crate::util::state::Fields;

/// The model at one point of a path.
#[derive(Clone, Debug)]
pub struct TrainedPoint {
    /// The penalty and the starting learning rate.
    pub point: Point,
    /// The objective on the training rows.
    pub objective: Objective,
    /// The mean held-out loss, if there are held-out rows.
    pub validation_loss: Option<f64>,
    /// The non-zero weights with their columns, in ascending order of columns.
    pub weights: Vec<(u32, f64)>,
    /// The bias.
    pub bias: f64,
    /// The step at which the model diverged (NaN or infinity), if it did; it then has no weights.
    pub diverged: Option<u64>,
    /// Number of finished epochs. It is below that of the settings if the run was interrupted.
    pub epochs: u64,
}

/// A stop rule that runs all epochs, unless the run is interrupted.
struct AllEpochs<'a> {
    settings: &'a Settings,
    unit: Option<Unit>,
    finished: u64, // epochs
}

impl StopRule<LaneGrid<'_>> for AllEpochs<'_> {
    fn after_part(&mut self, _: &mut LaneGrid, _: &Position) -> Result<Option<Stop>> {
        Ok(self.settings.interrupted().then_some(Stop::Interrupted))
    }

    fn after_epoch(&mut self, _: &mut LaneGrid, at: &Position) -> Result<Option<Stop>> {
        self.finished = at.epoch - u64::from(at.stop.is_some());
        Ok(None)
    }

    fn unit(&self) -> Option<Unit> {
        self.unit.clone()
    }

    fn fields(&mut self, _: &mut Fields) {}

    fn diverged(&self, at: Diverged, place: Place, epoch: u64) -> Error {
        lost(at, place, epoch) // a grid removes lanes that diverge, and goes on
    }
}

/// Number of parts of an epoch, after each of which the run may be interrupted.
const SLICES: usize = 16;

/// Trains one model per point, as many at once as `memory` bytes of weights allow.
///
/// If the run is interrupted, the result has the models that have finished an epoch, as they are then; without any, it is
/// [`Kind::Interrupted`].
///
/// ```
/// use lazyglm::{Settings, synth, train::search::{path, points}};
/// let task = synth::documents(&synth::Shape { rows: 1_000, features: 200, ..Default::default() }).task;
/// let settings = Settings { eta0: Some(0.5), ..Settings::default() };
/// let trained = path(&task, None, &settings, &points(&[1e-4, 1e-2, 1.0], &[0.0], &[0.5]), 1 << 30).unwrap();
/// let nonzeros: Vec<usize> = trained.iter().map(|one| one.weights.len()).collect();
/// assert!(nonzeros[0] == 0 && nonzeros[0] < nonzeros[1] && nonzeros[1] < nonzeros[2], "λ₁ falls along a path");
/// ```
pub fn path(
    task: &Task,
    validation: Option<&Task>,
    settings: &Settings,
    points: &[Point],
    memory: usize,
) -> Result<Vec<TrainedPoint>> {
    let width = settings.precision;
    let lanes = width.most_lanes();
    let blocks = (memory / (task.data.rows.columns() * width.lane_bytes(lanes)).max(1)).max(1);
    let all: Vec<usize> = (0..points.len()).collect();
    let mut trained = Vec::with_capacity(points.len());
    for group in all.chunks(lanes * blocks) {
        let which: Vec<(usize, Vec<usize>)> = group.chunks(lanes).map(|some| (0, some.to_vec())).collect();
        let mut grid = LaneGrid::new(task, &HeldOutRows::None, settings, points, &which)?;
        let (epochs, stride) = (settings.epochs, task.len().div_ceil(SLICES));
        let epochs = Epochs { before: 0, most: epochs, sequence: Sequence::of(settings), stride };
        let unit = Unit::of(settings, "path", task, None)?.map(|unit| {
            let numbers = |&p: &usize| [points[p].penalty.l1, points[p].penalty.l2, points[p].eta0];
            let numbers: Vec<f64> = group.iter().flat_map(numbers).collect();
            Unit { key: unit.key.and_numbers(&numbers), ..unit }
        });
        let mut rule = AllEpochs { settings, unit, finished: 0 };
        let interrupted = fit(&mut grid, task, &epochs, &mut rule)? == Stop::Interrupted;
        if interrupted && rule.finished == 0 {
            break;
        }
        let lost = grid.diverged();
        grid.weights(&mut |p, weights, bias| {
            let point = points[p];
            let held_out = |task: &Task| objective::mean_loss(task.examples(), &*task.loss, &weights, bias);
            trained.push(TrainedPoint {
                point,
                objective: objective::objective(task.examples(), &*task.loss, point.penalty, &weights, bias),
                validation_loss: validation.map(held_out),
                weights: (0u32..).zip(weights.iter().copied()).filter(|(_, w)| *w != 0.0).collect(),
                bias,
                diverged: lost.iter().find(|(lost, ..)| *lost == p).map(|(.., at)| at.t),
                epochs: rule.finished,
            });
        });
        if interrupted {
            break;
        }
    }
    match trained.is_empty() && settings.interrupted() {
        true => Err(Kind::Interrupted.into()),
        false => Ok(trained),
    }
}
