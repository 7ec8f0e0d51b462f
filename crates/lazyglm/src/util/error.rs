//! Errors are values: what went wrong, where, and what to do next.
//!
//! Library code never panics on input, never prints and never exits. A program turns an [`Error`] into a
//! message with [`Error::spelled`] or `Display`, and into an exit code with [`Error::is_wrong_call`].

use super::parameter::{Parameter, Spelling, plain, spelled};
use super::quote::bounded;
pub use super::quote::{escaped, excerpt};
use std::fmt;
use std::path::{Path, PathBuf};

/// The result of everything in this crate that can fail.
///
/// ```
/// use lazyglm::{ElasticNet, Error, Result};
/// fn lasso(text: &str) -> Result<ElasticNet> {
///     let l1 = text.parse().map_err(|_| Error::call(format!("'{text}' is not a number"), "give one"))?;
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
#[non_exhaustive]
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
/// The texts hold marked names of parameters: [`Error::spelled`] and `Display` write them out.
///
/// ```
/// use lazyglm::{ElasticNet, Kind, Parameter};
/// let error = ElasticNet::new(-1.0, 0.0).unwrap_err();
/// match error.kind() {
///     Kind::Call { parameter, .. } => assert_eq!(*parameter, Some(Parameter::L1)),
///     other => panic!("not a wrong call: {other}"),
/// }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Kind {
    /// The operating system refused to read or write.
    Io {
        /// The file.
        place: Place,
        /// What the system said.
        source: std::io::Error,
        /// What to do.
        hint: String,
    },
    /// The data are not what they should be.
    Data {
        /// Where.
        place: Place,
        /// What was found.
        what: String,
        /// What to do.
        hint: String,
    },
    /// The call itself is wrong: a name, a number or a combination. The program's exit code is then 2.
    Call {
        /// What was asked.
        what: String,
        /// What to ask instead; empty if `what` says it.
        hint: String,
        /// The parameter whose value is wrong, if one alone is.
        parameter: Option<Parameter>,
    },
    /// Training diverged (NaN or infinity).
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
    /// The caller stopped the run before there was a model.
    Interrupted,
    /// A model file that cannot be used.
    Model {
        /// The file.
        place: Place,
        /// Which rule it breaks.
        what: String,
        /// What to do.
        hint: String,
    },
}

impl Kind {
    /// What failed, and what to do about it (may be empty), with parameters marked.
    fn parts(&self) -> (String, &str) {
        match self {
            Kind::Io { place, source, hint } => (format!("{place}: {source}"), hint),
            Kind::Data { place, what, hint } | Kind::Model { place, what, hint } => {
                (format!("{place}: {what}"), hint)
            }
            Kind::Call { what, hint, .. } => (what.clone(), hint),
            Kind::Diverged { place, epoch, step, what, hint } => {
                (format!("training diverged at {place} (epoch {epoch}, step {step}): {what}"), hint)
            }
            Kind::Interrupted => ("interrupted: there is no model yet, and no model was written".into(), ""),
        }
    }

    /// The whole message, with parameters marked.
    fn marked(&self) -> String {
        let (what, hint) = self.parts();
        let between = if hint.is_empty() { "" } else { "; " };
        format!("{what}{between}{hint}")
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&spelled(&self.marked(), plain))
    }
}

/// Any failure of this crate: a boxed [`Kind`].
///
/// ```
/// let error = lazyglm::loss::parse("logstic").unwrap_err();
/// assert!(error.is_wrong_call());
/// assert!(error.to_string().contains("did you mean 'logistic'?"));
/// ```
pub struct Error(Box<Kind>);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Error {
    /// The message, for `unwrap` and for a `main` that returns a `Result`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({:?})", self.to_string())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.0 {
            Kind::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl Error {
    /// What went wrong.
    pub fn kind(&self) -> &Kind {
        &self.0
    }

    /// What failed, and what to do about it (may be empty), with the parameters as a front end writes them.
    ///
    /// ```
    /// use lazyglm::{Error, Parameter};
    /// fn flag(parameter: Parameter, value: Option<&str>) -> String {
    ///     format!("--{} {}", parameter.name(), value.unwrap_or("X"))
    /// }
    /// let hint = format!("use {}", Parameter::Solver.set("sgd"));
    /// let error = Error::call(format!("{} is not for newton", Parameter::Eta0), hint);
    /// assert_eq!(error.spelled(flag), ("--eta0 X is not for newton".into(), "use --solver sgd".into()));
    /// assert_eq!(error.to_string(), "eta0 is not for newton; use solver = sgd");
    /// ```
    pub fn spelled(&self, spelling: Spelling) -> (String, String) {
        let (what, hint) = self.0.parts();
        (spelled(&what, spelling), spelled(hint, spelling))
    }

    /// The whole message with its parameters still marked, for a note that quotes the error.
    pub(crate) fn marked(&self) -> String {
        self.0.marked()
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
        Kind::Call { what: what.into(), hint: hint.into(), parameter: None }.into()
    }

    /// A wrong value of a parameter, and what it may be.
    ///
    /// ```
    /// use lazyglm::{Error, Kind, Parameter};
    /// let error = Error::parameter(Parameter::Eta0, "x", "a number above 0, or 'auto'");
    /// assert_eq!(error.to_string(), "invalid eta0 'x': expected a number above 0, or 'auto'");
    /// assert!(matches!(error.kind(), Kind::Call { parameter: Some(Parameter::Eta0), .. }));
    /// ```
    pub fn parameter(parameter: Parameter, value: impl fmt::Display, expected: impl fmt::Display) -> Error {
        let what = format!("invalid {parameter} '{}': expected {expected}", excerpt(value.to_string()));
        Kind::Call { what, hint: String::new(), parameter: Some(parameter) }.into()
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
            | Kind::Call { what, hint, .. }
            | Kind::Diverged { what, hint, .. }
            | Kind::Model { what, hint, .. } => [what, hint].into_iter().for_each(bounded),
        }
        Error(Box::new(kind))
    }
}
