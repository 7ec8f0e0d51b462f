//! Sparse linear models with elastic-net regularisation, exactly, in time proportional to the non-zeros.
//!
//! When a row has p non-zero features out of d, a step of SGD or FoBoS with ℓ₁, ℓ₂² or elastic-net
//! regularisation shrinks all d weights. This crate touches only the p weights of the row and gets the same
//! weights, zeros included, as if it had updated all d at every step. The idea is that of "Efficient Elastic
//! Net Regularization for Sparse Linear Models" (Lipton & Elkan 2015), corrected (its Theorem 1 is wrong) and
//! taken further: no tables, no time stamps, two numbers for all weights together ([`optim::ledger`]).
//!
//! ```
//! use lazyglm::{Dataset, Declared, Model, Output, Prediction, Scorer, Settings, Task, train};
//!
//! // Two kinds of rows: feature 1 speaks for class "spam", feature 2 for class "ham"; feature 3 says nothing.
//! let folder = std::env::temp_dir().join("lazyglm-doc-lib");
//! std::fs::create_dir_all(&folder)?;
//! let file = folder.join("mail.svm");
//! std::fs::write(&file, "spam 1:1 3:1\nham 2:1 3:1\n".repeat(50))?;
//!
//! let data = Dataset::read(&file, Declared::default())?;
//! let task = Task::builder(data).build()?; // two classes: logistic loss
//! let settings = Settings::default();
//! let trained = train(&task, None, &settings, &mut |_progress| {})?;
//! assert!(trained.report.objective < 0.5);
//!
//! let model = Model::new(&task, &settings, trained);
//! model.save(&folder.join("mail.model"))?;
//! let model = Model::load(&folder.join("mail.model"))?;
//! let score = Scorer::new(&model).score(Dataset::read(&file, Declared { base: Some(0), count: None })?.rows.borrow(), 0);
//! assert_eq!(model.predict(score, Output::Target)?, Prediction::Class("spam"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The modules and their dependencies: `ARCHITECTURE.md`. The formulas: `docs/maths/`.

// What a user needs. `tests/laws/public_names.rs` pins these names: adding one is a decision.

// Data.
pub use data::convert;
pub use data::dataset::{Dataset, Load};
pub use data::features::{Declared, Features};
pub use data::format::ReadOptions;
pub use data::labels::Labels;
pub use data::loader::CacheMode;
pub use data::rows::{Examples, Rows, RowsRef, ValuesRef};
pub use data::sample_weights::SampleWeights;
pub use data::scaling::Scale;
pub use data::stats;
pub use problem::windows::{Windows, WindowsOptions};

// What to learn, and how.
pub use problem::heads::{Head, HeadKind};
pub use problem::loss::{self, Loss};
pub use problem::penalty::{ElasticNet, Method};
pub use problem::schedule;
pub use problem::settings::{Order, Precision, Settings, Start, UpdateName};
pub use problem::solvers::Solver;
pub use problem::source::Problem;
pub use problem::synth;
pub use problem::task::{ClassWeight, Targets, Task, TaskBuilder};

// Training and its figures.
pub use eval::objective;
pub use model::report::{Epoch, HeadReport, HeadsReport, Report, Stop, Tried, Validation};
pub use model::trained::Trained;
pub use train::certify::{Certify, Proved};
pub use train::search;
pub use train::{Progress, Stage, rate, train};

// Models.
pub use model::scorer::Scorer;
pub use model::warm_start::{PenaltyFactors, start_of};
pub use model::weight_bounds::WeightBounds;
pub use model::weights_table::with_weights_of;
pub use model::{Model, Output, Prediction};

// Errors.
pub use util::error::{Error, Kind, Place, Result};
pub use util::parameter::Parameter;

// For the program, the wheel and the laws: no promises are made about what follows. `unsafe` is possible in `simd` and
// `optim::kernel` alone.
#[forbid(unsafe_code)]
#[doc(hidden)]
pub mod data;
#[forbid(unsafe_code)]
#[doc(hidden)]
pub mod eval;
#[forbid(unsafe_code)]
#[doc(hidden)]
pub mod model;
#[doc(hidden)]
pub mod optim;
#[forbid(unsafe_code)]
#[doc(hidden)]
pub mod problem;
#[doc(hidden)]
pub mod simd;
#[forbid(unsafe_code)]
#[doc(hidden)]
pub mod train;
#[forbid(unsafe_code)]
#[doc(hidden)]
pub mod util;

#[doc(hidden)]
pub use data::{read_config::ReadConfig, rows::Row, rows::Value, scaling::Columns, vocabulary::Vocabulary};
#[doc(hidden)]
pub use model::{Counting, Seen, TfIdf, Training, Words};
#[doc(hidden)]
pub use problem::solvers::{Capabilities, Losses, SOLVERS, Steps, TargetKind};
#[doc(hidden)]
pub use problem::{
    heads::Heads, penalty::WeightedPenalty, request::Request, source::Source, task::targets_of,
};
#[doc(hidden)]
pub use util::{error::escaped, error::excerpt, parameter::Spelling, parameter::WARNING, parameter::spelled};
