//! All tests of the program in one: linked once, and run side by side.

mod adaptive;
mod answers;
mod auto;
mod bad_formats;
mod bad_input;
mod bad_model;
mod bounds;
mod cache;
mod certify;
mod classes;
mod common;
mod consistency;
mod contract;
mod convert;
mod data;
mod extremes;
#[cfg(unix)]
mod faults;
mod hostile;
mod inspect;
mod list;
mod measures;
mod memory;
mod messages;
mod names;
mod newton;
mod no_effect;
mod offsets;
mod one_pass;
mod out_of_core;
mod pages;
mod path;
#[cfg(unix)]
mod pipes;
mod predictions;
mod progress;
mod resume;
mod scaling;
#[cfg(unix)]
mod shared_folder;
mod shell;
mod shown;
#[cfg(unix)]
mod signals;
mod solvers;
mod stats;
mod tables;
mod threads;
mod thresholds;
mod timings;
mod tune;
mod updates;
mod validation;
mod weights;
mod wrong_calls;
