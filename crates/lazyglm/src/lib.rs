//! Sparse linear models with elastic-net regularisation, exactly, in time proportional to the non-zeros.
//!
//! When a row has p non-zero features out of d, a step of SGD or FoBoS with ℓ₁, ℓ₂² or elastic-net
//! regularisation shrinks all d weights. This crate touches only the p weights of the row and gets the same
//! weights, zeros included, as if it had updated all d at every step. The idea is that of "Efficient Elastic
//! Net Regularization for Sparse Linear Models" (Lipton & Elkan 2015), corrected (its Theorem 1 is wrong) and
//! taken further: no tables, no time stamps, two numbers for all weights together ([`ledger`]).
//!
//! ```
//! use lazyglm::{Dataset, Declared, Model, Output, Prediction, Scorer, Settings, Task, model_file, train};
//!
//! // Two kinds of rows: feature 1 speaks for class "spam", feature 2 for class "ham"; feature 3 says nothing.
//! let folder = std::env::temp_dir().join("lazyglm-doc-lib");
//! std::fs::create_dir_all(&folder)?;
//! let file = folder.join("mail.svm");
//! std::fs::write(&file, "spam 1:1 3:1\nham 2:1 3:1\n".repeat(50))?;
//!
//! let data = Dataset::read(&file, Declared::default())?;
//! let task = Task::new(data, None, None, None)?; // two classes: logistic loss
//! let settings = Settings::default();
//! let trained = train(&task, None, &settings, &mut |_progress| {})?;
//! assert!(trained.report.objective < 0.5);
//!
//! let model = Model::new(&task, &settings, trained);
//! model_file::save(&model, &folder.join("mail.model"))?;
//! let model = model_file::load(&folder.join("mail.model"))?;
//! let score = Scorer::new(&model).score(Dataset::read(&file, Declared { base: Some(0), count: None })?.rows.borrow(), 0);
//! assert_eq!(model.predict(score, Output::Target)?, Prediction::Class("spam"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The rooms and who may import whom: `ARCHITECTURE.md`. The formulas: `MATHS.md`.

mod blocks;
mod cache;
mod certify;
pub mod classes;
pub mod convert;
pub mod data;
mod error;
mod features;
pub mod files;
pub mod format;
pub mod format_out;
mod heads;
mod input;
pub mod kernel;
mod labels;
pub mod ledger;
pub mod loss;
mod memory;
pub mod metrics;
mod model;
pub mod model_file;
pub mod naming;
pub mod number;
pub mod objective;
mod penalty;
pub mod random;
mod reader;
pub mod reference;
pub mod registry;
mod report;
mod rows;
mod sample_weights;
mod scaling;
mod scan;
pub mod schedule;
mod scorer;
mod settings;
pub mod shard;
pub mod solver;
mod solvers;
pub mod source;
mod start;
pub mod stats;
mod stream;
mod supply;
mod survey;
pub mod synth;
mod task;
mod trainer;
pub mod tune;
pub mod update;
mod vocabulary;
mod weights_file;

pub use certify::{Certify, Proved};
pub use data::{Dataset, Load};
pub use error::{Error, Kind, Place, Result, escaped, excerpt};
pub use features::{Declared, Features};
pub use heads::{Head, HeadKind, Heads};
pub use input::Reading;
pub use labels::Labels;
pub use loss::Loss;
pub use model::{Counting, Model, Output, Prediction, Seen, Training, Words};
pub use penalty::{ElasticNet, Method, Prices};
pub use report::{Epoch, HeadReport, HeadsReport, Report, Stop, Tried, Validation};
pub use rows::{Examples, Row, Rows, RowsRef, Value, ValuesRef};
pub use sample_weights::SampleWeights;
pub use scaling::{Columns, Scale};
pub use scorer::Scorer;
pub use settings::{Order, Precision, Settings, Start, UpdateName};
pub use solvers::{Capabilities, Losses, Request, SOLVERS, Solver, Steps, TargetKind};
pub use start::{PenaltyFactors, start_of};
pub use stream::{Stream, StreamOptions};
pub use supply::CacheMode;
pub use task::{ClassWeight, Task, targets_of};
pub use trainer::{Progress, Stage, Trained, rate, train, train_stream};
pub use vocabulary::Vocabulary;
pub use weights_file::with_weights_of;
