//! What is asked of one shard of the rows when there are many: pure functions, no transport.
//!
//! The rows of a problem lie in shards, on machines that do not know of each other. Whoever leads sends weights out and
//! adds up what comes back; each verb here is one such question, a function of the shard, the numbers sent and a seed
//! and of nothing else, so that an answer can be asked for again and is the same to the bit. MATHS.md has the method.

mod zero_test;

pub use zero_test::zero_test;
