//! Many classes or labels: a head for each, learnt as lanes. [`ClassTask`] is what to learn, [`Room`] what fits into memory,
//! [`train`] learns it.
//!
//! ```
//! use lazyglm::{Dataset, Declared, HeadKind, Settings, train::classes::{ClassTask, Room, train}};
//! let file = std::env::temp_dir().join("lazyglm-doc-classes.svm");
//! std::fs::write(&file, "a 1:1\nb 2:1\nc 3:1\n".repeat(50)).unwrap();
//! let data = Dataset::read(&file, Declared::default()).unwrap();
//! let task = ClassTask::new(data, HeadKind::Softmax, None, None, None).unwrap();
//! let settings = Settings::default();
//! let room = Room::plan(&task, settings.precision, None).unwrap(); // before anything is allocated
//! let trained = train(&task, None, &settings, room, false, &mut |_| {}).unwrap();
//! assert_eq!(trained.heads.len(), 3);
//! assert!(trained.report.objective < trained.report.baseline);
//! ```

mod aims;
mod apart;
mod ask;
mod coupled;
mod memory;
mod rate;
mod sets;
mod task;
mod thresholds;
mod train;

pub use crate::util::memory::available;
pub use ask::Asked;
pub use memory::Room;
pub use sets::Sets;
pub use task::{ClassTask, Unknown, sets_of};
pub use train::{TrainedHeads, train};
