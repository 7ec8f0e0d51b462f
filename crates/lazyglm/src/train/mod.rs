//! Training. [`epoch_loop`] is the loop over epochs; each solver has a file; [`search`] and `auto` train many models to choose
//! one.

mod adagrad;
mod adaptive;
mod auto;
mod beside;
pub mod certify;
mod chain;
mod copied;
pub mod epoch_loop;
pub mod estimator;
mod evaluate;
mod fold;
mod ftrl;
mod ftrl_candidate;
pub mod heads;
mod holdout;
mod holdout_score;
mod job;
mod limits;
mod minimiser;
mod minimum;
mod newton;
mod one_pass;
mod out_of_core;
mod penalty_search;
pub mod plateau;
pub mod polish;
mod progress;
mod retry;
pub mod scikit_learn;
pub mod search;
mod sgd;
pub mod side_by_side;
mod solvers;
mod stochastic;
mod svrg;
mod tf_idf_choice;
mod told;
pub mod units;
mod zero_test;
pub mod zeros;

pub use one_pass::{OnePass, Passed, Streamed};
pub use progress::{Progress, Stage};
pub use sgd::rate;
pub use solvers::train;
pub use tf_idf_choice::{
    scaled_if_better, scaled_numbers_if_better, scaled_on_disk_if_better, tf_idf_if_better,
};
pub use told::apart;
