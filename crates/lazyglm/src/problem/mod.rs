//! What is to be learnt: losses, penalties, schedules, tasks with their targets, settings, and the table of solvers.

pub(crate) mod dual_point;
pub mod heads;
pub mod lent;
pub mod loss;
pub mod penalty;
pub mod request;
pub mod schedule;
pub mod settings;
pub mod solvers;
pub mod source;
pub mod synth;
pub mod task;
pub mod windows;
