//! Errors are values: what went wrong, where, and what to do next.
//!
//! Library code never panics on input, never prints and never exits. A program turns an [`Error`] into a
//! message with `Display` and into an exit code with [`Error::is_wrong_call`].

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::path::{Path, PathBuf};

/// Characters of a value that an error quotes.
const QUOTED: usize = 60;

/// Characters of each part of an error: the last bound, for lists of names and the like.
const LONGEST_PART: usize = 2000;

/// The text with its control characters escaped (`\\u{1b}`), so that no file can steer the terminal it is shown on.
/// Characters that reorder a line or end one (U+202A to U+202E, U+2066 to U+2069, U+2028, U+2029) are escaped too.
///
/// ```
/// use lazyglm::escaped;
/// assert_eq!([escaped("naïve"), escaped("a\x1b[31m\n")], ["naïve", "a\\u{1b}[31m\\n"]);
/// ```
pub fn escaped(text: &str) -> Cow<'_, str> {
    let steers = |c: char| c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match steers(c) {
            true => plain.extend(c.escape_default()),
            false => plain.push(c),
        }
    }
    Cow::Owned(plain)
}

/// A value of the input as an error quotes it: control characters escaped; of a long value, the start and its length.
///
/// ```
/// use lazyglm::excerpt;
/// assert_eq!(excerpt("2:x"), "2:x");
/// assert_eq!(excerpt("é".repeat(500)), "é".repeat(60) + "… (1000 bytes)");
/// ```
pub fn excerpt(value: impl AsRef<[u8]>) -> String {
    let value = value.as_ref();
    let text = String::from_utf8_lossy(&value[..value.len().min(4 * QUOTED + 4)]); // a character has up to four bytes
    match text.char_indices().nth(QUOTED) {
        None => escaped(&text).into_owned(),
        Some((end, _)) => {
            let mut start = escaped(&text[..end]).into_owned();
            let _ = write!(start, "… ({} bytes)", value.len()); // a String takes all that is written
            start
        }
    }
}

/// A part of an error, whatever was put into it.
fn bounded(part: &mut String) {
    let end = part.char_indices().nth(LONGEST_PART).map(|(end, _)| end);
    if end.is_none() && matches!(escaped(part), Cow::Borrowed(_)) {
        return;
    }
    let rest = if end.is_some() { "…" } else { "" };
    *part = escaped(&part[..end.unwrap_or(part.len())]).into_owned() + rest;
}

/// The result of everything in this crate that can fail.
///
/// ```
/// use lazyglm::{ElasticNet, Error, Result};
/// fn lasso(text: &str) -> Result<ElasticNet> {
///     let l1 = text.parse().map_err(|_| Error::call(format!("'{text}' is no number"), "give one"))?;
///     ElasticNet::new(l1, 0.0)
/// }
/// assert!(lasso("0.1").is_ok() && lasso("-0.1").is_err() && lasso("much").is_err());
/// ```
pub type Result<T> = std::result::Result<T, Error>;

/// Where in the input something went wrong; what is not known stays `None`.
///
/// ```
/// let place = lazyglm::Place::file("train.svm").line(7).column(12);
/// assert_eq!(place.to_string(), "train.svm:7:12");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file, or `-` for standard input.
    pub file: Option<PathBuf>,
    /// The line, counted from 1.
    pub line: Option<u64>,
    /// The byte in the line, counted from 1.
    pub column: Option<u64>,
}

impl Place {
    /// A place in this file.
    ///
    /// ```
    /// use lazyglm::Place;
    /// assert_eq!(Place::file("train.svm").to_string(), "train.svm");
    /// assert_eq!(Place::file("-").to_string(), "standard input");
    /// ```
    pub fn file(path: impl AsRef<Path>) -> Place {
        Place { file: Some(path.as_ref().to_path_buf()), ..Place::default() }
    }

    /// The same place, on this line (from 1).
    ///
    /// ```
    /// use lazyglm::Place;
    /// assert_eq!(Place::file("train.svm").line(7).to_string(), "train.svm:7");
    /// ```
    pub fn line(self, line: u64) -> Place {
        Place { line: Some(line), ..self }
    }

    /// The same place, at this byte of the line (from 1).
    ///
    /// ```
    /// use lazyglm::Place;
    /// assert_eq!(Place::default().line(7).column(12).to_string(), "input:7:12");
    /// ```
    pub fn column(self, column: u64) -> Place {
        Place { column: Some(column), ..self }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(path) if path.as_os_str() == "-" => write!(f, "standard input")?,
            Some(path) => write!(f, "{}", escaped(&path.to_string_lossy()))?,
            None => write!(f, "input")?,
        }
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(column) = self.column {
            write!(f, ":{column}")?;
        }
        Ok(())
    }
}

/// What went wrong. Boxed inside [`Error`], so that a `Result` stays one word wide.
///
/// ```
/// use lazyglm::{ElasticNet, Kind};
/// let error = ElasticNet::new(-1.0, 0.0).unwrap_err();
/// match error.kind() {
///     Kind::Call { hint, .. } => assert_eq!(hint, "give a number from 0 up"),
///     other => panic!("not a wrong call: {other}"),
/// }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Kind {
    /// The operating system refused to read or write.
    #[error("{place}: {source}; {hint}")]
    Io {
        /// The file.
        place: Place,
        /// What the system said.
        source: std::io::Error,
        /// What to do.
        hint: String,
    },
    /// The data are not what they should be.
    #[error("{place}: {what}; {hint}")]
    Data {
        /// Where.
        place: Place,
        /// What was found.
        what: String,
        /// What to do.
        hint: String,
    },
    /// The call itself is wrong: a name, a number or a combination. The program's exit code is then 2.
    #[error("{what}; {hint}")]
    Call {
        /// What was asked.
        what: String,
        /// What to ask instead.
        hint: String,
    },
    /// Training left the finite numbers.
    #[error("training diverged at {place} (epoch {epoch}, step {step}): {what}; {hint}")]
    Diverged {
        /// The row that was being learnt.
        place: Place,
        /// The epoch, from 1.
        epoch: u64,
        /// The step, from 0.
        step: u64,
        /// The number that was not finite.
        what: String,
        /// Which knob to turn.
        hint: String,
    },
    /// Somebody stopped the run before there was anything to keep.
    #[error("interrupted before anything was learnt: nothing was written")]
    Interrupted,
    /// A model file that cannot be used.
    #[error("{place}: {what}; {hint}")]
    Model {
        /// The file.
        place: Place,
        /// Which rule it breaks.
        what: String,
        /// What to do.
        hint: String,
    },
}

/// Any failure of this crate: a boxed [`Kind`].
///
/// ```
/// let error = lazyglm::loss::parse("logstic").unwrap_err();
/// assert!(error.is_wrong_call());
/// assert!(error.to_string().contains("did you mean 'logistic'?"));
/// ```
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(Box<Kind>);

impl Error {
    /// What went wrong.
    pub fn kind(&self) -> &Kind {
        &self.0
    }

    /// Whether the caller is at fault (exit code 2) rather than the data or the run (exit code 1).
    ///
    /// ```
    /// use lazyglm::{Dataset, Declared, loss};
    /// assert!(loss::parse("guess").unwrap_err().is_wrong_call());
    /// assert!(!Dataset::read("no such file".as_ref(), Declared::default()).unwrap_err().is_wrong_call());
    /// ```
    pub fn is_wrong_call(&self) -> bool {
        matches!(*self.0, Kind::Call { .. })
    }

    /// Whether this is the reader of our output having gone away, as in `lazyglm … | head`.
    ///
    /// ```
    /// use std::io::ErrorKind;
    /// let error = |kind: ErrorKind| lazyglm::Error::io("-", kind.into(), "try again");
    /// assert!(error(ErrorKind::BrokenPipe).is_broken_pipe());
    /// assert!(!error(ErrorKind::NotFound).is_broken_pipe());
    /// ```
    pub fn is_broken_pipe(&self) -> bool {
        matches!(&*self.0, Kind::Io { source, .. } if source.kind() == std::io::ErrorKind::BrokenPipe)
    }

    /// The same error, `lines` further down the file: for parsers that see a block of it.
    pub(crate) fn further_down(mut self, lines: u64) -> Error {
        if let Kind::Data { place: Place { line: Some(line), .. }, .. } = &mut *self.0 {
            *line += lines;
        }
        self
    }

    /// A wrong call.
    ///
    /// ```
    /// let error = lazyglm::Error::call("there is no verb 'trian'", "did you mean 'train'?");
    /// assert_eq!(error.to_string(), "there is no verb 'trian'; did you mean 'train'?");
    /// ```
    pub fn call(what: impl Into<String>, hint: impl Into<String>) -> Error {
        Kind::Call { what: what.into(), hint: hint.into() }.into()
    }

    /// Wrong data, at a place.
    ///
    /// ```
    /// use lazyglm::{Error, Place};
    /// let error = Error::data(Place::file("train.svm").line(3), "the row has no target", "give it one");
    /// assert_eq!(error.to_string(), "train.svm:3: the row has no target; give it one");
    /// ```
    pub fn data(place: Place, what: impl Into<String>, hint: impl Into<String>) -> Error {
        Kind::Data { place, what: what.into(), hint: hint.into() }.into()
    }

    /// A refused read or write.
    ///
    /// ```
    /// let full = std::io::Error::other("the disk is full");
    /// let error = lazyglm::Error::io("mail.model", full, "make room");
    /// assert_eq!(error.to_string(), "mail.model: the disk is full; make room");
    /// ```
    pub fn io(path: impl AsRef<Path>, source: std::io::Error, hint: impl Into<String>) -> Error {
        Kind::Io { place: Place::file(path), source, hint: hint.into() }.into()
    }
}

impl From<Kind> for Error {
    /// Every error is made here: no part of it has control characters, and none is long.
    fn from(mut kind: Kind) -> Error {
        match &mut kind {
            Kind::Io { hint, .. } => bounded(hint),
            Kind::Interrupted => {}
            Kind::Data { what, hint, .. }
            | Kind::Call { what, hint }
            | Kind::Diverged { what, hint, .. }
            | Kind::Model { what, hint, .. } => [what, hint].into_iter().for_each(bounded),
        }
        Error(Box::new(kind))
    }
}
