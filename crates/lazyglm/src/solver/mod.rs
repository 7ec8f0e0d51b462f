//! One algorithm a file. [`online`] is the loop over rows; [`eta0`] finds its starting rate.

pub mod eta0;
pub mod online;
