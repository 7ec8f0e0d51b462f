//! The names of notes and warnings, for `--silence` and `lazyglm list messages`.
//!
//! A message belongs to the first entry of its level with one of these parts in its text; a part that begins with `^` must be
//! the beginning. The library writes its messages without knowing of names, so the text is all there is to go by.

use std::sync::OnceLock;

/// What a message says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Information.
    Note,
    /// The result may not be what the user wants.
    Warning,
}

use Level::{Note, Warning};

/// A kind of message.
struct Message {
    name: &'static str,
    level: Level,
    about: &'static str,
    parts: &'static [&'static str],
}

const fn message(
    level: Level,
    name: &'static str,
    about: &'static str,
    parts: &'static [&'static str],
) -> Message {
    Message { name, level, about, parts }
}

/// All kinds of messages.
const MESSAGES: &[Message] = &[
    message(
        Warning,
        "checkpoint-failed",
        "the checkpoint could not be written",
        &["checkpoint could not be written", "checkpoint cannot be written"],
    ),
    message(
        Warning,
        "diverged",
        "training diverged and began anew, or a class was dropped",
        &["diverged", "were not trained"],
    ),
    message(
        Warning,
        "few-rows",
        "the rows of a single pass are too few for a search of the learning rate",
        &["too few for a search"],
    ),
    message(
        Warning,
        "no-penalty-chosen",
        "the memory is too little to choose a penalty for classes or labels on disk",
        &["too little to choose a penalty"],
    ),
    message(
        Warning,
        "few-values",
        "the targets are a few whole numbers, which may be classes",
        &["distinct whole numbers"],
    ),
    message(
        Warning,
        "interrupted",
        "what an interrupted run reached, and where its checkpoint is",
        &["^interrupted"],
    ),
    message(Warning, "lost-values", "an output format cannot hold some values", &["cannot hold"]),
    message(Warning, "many-categories", "a column has nearly as many categories as rows", &["categories in"]),
    message(
        Warning,
        "missing-words",
        "words in a column of numbers count as missing",
        &["as missing; the first is"],
    ),
    message(
        Warning,
        "no-effect",
        "a flag has no effect here",
        &["has no meaning", "has no effect", "is for --update lazy"],
    ),
    message(
        Warning,
        "no-features",
        "no feature of the rows occurs in the model",
        &["no feature of these rows", "no row has a feature"],
    ),
    message(
        Warning,
        "no-minimum",
        "the objective has no minimum without a penalty",
        &["there is no minimum", "no minimum within"],
    ),
    message(Warning, "offsets", "offsets are missing, or are not used", &["offset"]),
    message(
        Warning,
        "search-cut",
        "a search ended before weaker penalties than the best were compared",
        &["before weaker penalties"],
    ),
    message(Warning, "thresholds", "thresholds of labels could not be tuned", &["thresholds are 0"]),
    message(Warning, "tolerance", "the solver did not reach the tolerance", &["was not reached"]),
    message(
        Warning,
        "unknown-targets",
        "classes or labels that never occurred in training",
        &["never occurred in training"],
    ),
    message(Warning, "worse-than-none", "the model is worse than the bias alone", &["worse than the bias"]),
    message(Note, "alias", "a solver was given by a former name", &["is an alias of"]),
    message(Note, "adaptive", "what the first fit of the adaptive lasso kept", &["the first fit kept"]),
    message(Note, "auto", "what the solver auto chose, and why", &["^auto: "]),
    message(Note, "bench", "what a benchmark is doing", &["^making ", "^timing "]),
    message(Note, "budget", "--budget ended the search", &["--budget "]),
    message(
        Note,
        "cache",
        "a cache was written, could not be written, or is made again",
        &["read instead of the data", "no cache", "made again from the data"],
    ),
    message(
        Note,
        "checkpoint",
        "where the run begins, and how far it came",
        &["the run goes on from", "the run begins at its start", "penalties tried so far"],
    ),
    message(
        Note,
        "classes",
        "how classes, or labels, are trained",
        &["more than two classes", "targets have commas", "of two classes"],
    ),
    message(
        Note,
        "columns",
        "what the columns of a table are taken for",
        &["^columns: ", "are not listed among the columns"],
    ),
    message(
        Note,
        "disk",
        "how rows that do not fit into memory are trained",
        &["rows on disk", "rows are on disk", "into --memory"],
    ),
    message(
        Note,
        "grid",
        "points of a grid were dropped, or the best one is at its end",
        &["of the grid", "were dropped"],
    ),
    message(
        Note,
        "hashing",
        "how many buckets stand for several features",
        &["stand for more than one feature"],
    ),
    message(
        Note,
        "labels",
        "labels that are repeated or rare, or may be numbers",
        &["name a label twice", "have one row only", "or numbers to predict?"],
    ),
    message(Note, "learning-rate", "the learning rate that a search found", &["^eta0 "]),
    message(
        Note,
        "limits",
        "predictions are limited to the range of the targets",
        &["predictions are limited"],
    ),
    message(
        Note,
        "loss",
        "the loss that the targets imply",
        &["^loss ", "targets are more than two numbers"],
    ),
    message(
        Note,
        "l1-max",
        "l1 is so strong that all weights are zero, or l1_max is of other rows",
        &["l1_max"],
    ),
    message(Note, "memory", "the memory that many models need", &[" weights: ", "memory for rows"]),
    message(
        Note,
        "number-scale",
        "numbers of a table are divided by their standard deviation",
        &["by their standard deviation"],
    ),
    message(Note, "one-pass", "what a single pass over the rows cannot give", &["^one pass "]),
    message(Note, "penalty", "the penalty, if none was given", &["^penalty "]),
    message(Note, "query-ids", "query ids are ignored", &["was ignored"]),
    message(
        Note,
        "row-weights",
        "rows have weights or offsets",
        &["rows are weighted", "in training: if they are not"],
    ),
    message(
        Note,
        "tf-idf",
        "counts, or values that are all one, are replaced by tf-idf",
        &["by their tf-idf", "by their idf"],
    ),
    message(Note, "thresholds-tuned", "how thresholds of labels were tuned", &["thresholds tuned"]),
    message(
        Note,
        "unknown-features",
        "features that did not occur in training, or that the data do not have",
        &["never occurred in training", "do not occur in training", "do not have"],
    ),
    message(Note, "written", "what convert wrote", &["^wrote "]),
];

static SILENCED: OnceLock<Vec<String>> = OnceLock::new();

/// The name that stands for all messages.
const ALL: &str = "all";

/// Parses the value of `--silence`.
pub fn known(name: &str) -> Result<String, String> {
    match name == ALL || MESSAGES.iter().any(|message| message.name == name) {
        true => Ok(name.to_string()),
        false => {
            Err("there is no message with this name; `lazyglm list messages` prints the names".to_string())
        }
    }
}

/// Silences the messages with these names.
pub fn silence(names: Vec<String>) {
    SILENCED.get_or_init(|| names);
}

/// Whether a message is silenced.
pub fn is_silent(level: Level, text: &str) -> bool {
    let name = name(level, text);
    debug_assert!(name.is_some(), "a message without a name: {text}");
    let silenced = SILENCED.get().map_or(&[][..], Vec::as_slice);
    silenced.iter().any(|one| one == ALL || Some(one.as_str()) == name)
}

/// The name of a message.
fn name(level: Level, text: &str) -> Option<&'static str> {
    let has = |part: &&str| match part.strip_prefix('^') {
        Some(start) => text.starts_with(start),
        None => text.contains(part),
    };
    let of_level = MESSAGES.iter().filter(|message| message.level == level);
    of_level.into_iter().find(|message| message.parts.iter().any(has)).map(|message| message.name)
}

/// The table of `lazyglm list messages`.
pub fn table() -> String {
    let line = |message: &Message| {
        let level = if message.level == Warning { "warning" } else { "note" };
        format!("  {:<18} {level:<8} {}\n", message.name, message.about)
    };
    format!(
        "Notes and warnings, for --silence NAME ('all' for all of them):\n{}",
        MESSAGES.iter().map(line).collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_used_once_and_each_part_leads_to_its_message() {
        for message in MESSAGES {
            assert_eq!(
                MESSAGES.iter().filter(|other| other.name == message.name).count(),
                1,
                "{}",
                message.name
            );
            for part in message.parts {
                let text = part.trim_start_matches('^');
                assert_eq!(name(message.level, text), Some(message.name), "{part}");
            }
        }
    }
}
