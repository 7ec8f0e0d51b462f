//! Sparse linear models with elastic-net regularisation, exactly, in time proportional to the non-zeros.
//!
//! When a row has p non-zero features out of d, a step of SGD or FoBoS with ℓ₁, ℓ₂² or elastic-net
//! regularisation shrinks all d weights. This crate touches only the p weights of the row and gets the same
//! weights, zeros included, as if it had updated all d at every step. The idea is that of "Efficient Elastic
//! Net Regularization for Sparse Linear Models" (Lipton & Elkan 2015), corrected (its Theorem 1 is wrong) and
//! taken further: no tables, no time stamps, two numbers for all weights together ([`optim::ledger`]).
//!
//! ```
//! use lazyglm::{Dataset, Declared, Model, Output, Prediction, Scorer, Settings, Task, model::file, train};
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
//! The modules and their dependencies: `ARCHITECTURE.md`. The formulas: `MATHS.md`.

#[doc(hidden)]
pub mod data;
#[doc(hidden)]
pub mod eval;
#[doc(hidden)]
pub mod model;
#[doc(hidden)]
pub mod optim;
#[doc(hidden)]
pub mod problem;
#[doc(hidden)]
pub mod simd;
#[doc(hidden)]
pub mod train;
#[doc(hidden)]
pub mod util;

pub use data::convert;
pub use data::dataset::{Dataset, Load};
pub use data::features::{Declared, Features};
pub use data::labels::Labels;
pub use data::loader::CacheMode;
pub use data::read_config::ReadConfig;
pub use data::rows::{Examples, Row, Rows, RowsRef, Value, ValuesRef};
pub use data::sample_weights::SampleWeights;
pub use data::scaling::{Columns, Scale};
pub use data::stats;
pub use data::vocabulary::Vocabulary;
pub use eval::objective;
pub use model::report::{Epoch, HeadReport, HeadsReport, Report, Stop, Tried, Validation};
pub use model::scorer::Scorer;
pub use model::trained::Trained;
pub use model::warm_start::{PenaltyFactors, start_of};
pub use model::weights_table::with_weights_of;
pub use model::{Counting, Model, Output, Prediction, Seen, Training, Words};
pub use problem::heads::{Head, HeadKind, Heads};
pub use problem::loss::{self, Loss};
pub use problem::penalty::{ElasticNet, Method, WeightedPenalty};
pub use problem::schedule;
pub use problem::settings::{Order, Precision, Settings, Start, UpdateName};
pub use problem::solvers::{Capabilities, Losses, Request, SOLVERS, Solver, Steps, TargetKind};
pub use problem::source::{Problem, Source};
pub use problem::synth;
pub use problem::task::{ClassWeight, Targets, Task, TaskBuilder, targets_of};
pub use problem::windows::{Windows, WindowsOptions};
pub use train::certify::{Certify, Proved};
pub use train::{Progress, Stage, rate, train};
pub use util::error::{Error, Kind, Place, Result, escaped, excerpt};
pub use util::parameter::{Parameter, Spelling, WARNING, spelled};
