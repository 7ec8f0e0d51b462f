//! Looks up `name:key=value,key=value` in a table of named entries.
//!
//! Losses and schedules are tables of entries. The program's help, lists in errors, the documentation and the
//! tests are generated from the tables. A typo is rejected with the nearest name, and a number with its
//! allowed range.
//!
//! ```
//! use lazyglm::{loss, schedule};
//! assert!(loss::parse("huber:delta=0.5").is_ok() && schedule::Spec::parse("power:p=0.75,t0=100").is_ok());
//! let error = loss::parse("huber:delta=-1").unwrap_err();
//! assert_eq!(error.to_string(), "loss 'huber' cannot have delta=-1; delta is a number above 0");
//! ```

use crate::util::error::{Error, Result, excerpt};

/// A numeric parameter of an entry.
///
/// ```
/// use lazyglm::loss;
/// let quantile = loss::TABLE.iter().find(|entry| entry.name == "quantile").unwrap();
/// let tau = quantile.keys[0];
/// assert_eq!((tau.name, tau.default, tau.low, tau.high, tau.open), ("tau", "0.5", 0.0, 1.0, true));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Name of the parameter, before `=`.
    pub name: &'static str,
    /// Description of the default value.
    pub default: &'static str,
    /// The smallest allowed value, excluded if `open`.
    pub low: f64,
    /// The largest allowed value, excluded if `open`.
    pub high: f64,
    /// Whether the ends of the range are excluded.
    pub open: bool,
}

impl Key {
    /// A parameter that takes any positive number.
    ///
    /// ```
    /// const WIDTH: lazyglm::util::registry::Key = lazyglm::util::registry::Key::positive("width", "1");
    /// assert_eq!((WIDTH.low, WIDTH.open), (0.0, true), "zero itself is refused");
    /// ```
    pub const fn positive(name: &'static str, default: &'static str) -> Key {
        Key { name, default, low: 0.0, high: f64::INFINITY, open: true }
    }

    fn admits(&self, value: f64) -> bool {
        value.is_finite()
            && if self.open {
                self.low < value && value < self.high
            } else {
                self.low <= value && value <= self.high
            }
    }

    fn range(&self) -> String {
        match (self.open, self.high) {
            (true, f64::INFINITY) => format!("above {}", self.low),
            (false, f64::INFINITY) => format!("{} or more", self.low),
            (true, high) => format!("above {} and below {high}", self.low),
            (false, high) => format!("from {} to {high}", self.low),
        }
    }
}

/// An entry of a table.
///
/// ```
/// use lazyglm::util::registry::{Entry, find};
/// type Make = fn(f64) -> f64;
/// let table: [Entry<Make>; 2] = [
///     Entry { name: "double", formula: "2x", keys: &[], make: |x| 2.0 * x },
///     Entry { name: "square", formula: "x²", keys: &[], make: |x| x * x },
/// ];
/// assert_eq!((find("map", &table, "square").unwrap().entry.make)(3.0), 9.0);
/// ```
#[derive(Clone, Copy)]
pub struct Entry<Make> {
    /// Name of the entry.
    pub name: &'static str,
    /// Formula of the entry, for help and documentation.
    pub formula: &'static str,
    /// The parameters of the entry.
    pub keys: &'static [Key],
    /// Constructor that takes the given numbers, in the order of `keys`.
    pub make: Make,
}

/// A parsed choice: an entry, and the numbers given for its parameters.
///
/// ```
/// use lazyglm::{util::registry, schedule::TABLE};
/// let choice = registry::find("schedule", TABLE, "power:t0=100").unwrap();
/// assert_eq!((choice.entry.name, choice.given), ("power", vec![None, Some(100.0)]), "p keeps its default");
/// ```
pub struct Choice<'a, Make> {
    /// The chosen entry.
    pub entry: &'a Entry<Make>,
    /// One number per parameter of the entry, or `None` for the default.
    pub given: Vec<Option<f64>>,
}

/// Looks up `text` (`name` or `name:key=value,…`) in a table. The key may be left out if there is only one. Errors
/// call the entries `noun`s.
///
/// ```
/// use lazyglm::{loss::TABLE, util::registry::find};
/// assert_eq!(find("loss", TABLE, "huber:delta=2").unwrap().given, [Some(2.0)]);
/// assert_eq!(find("loss", TABLE, "huber:2").unwrap().given, [Some(2.0)]);
/// let error = find("loss", TABLE, "huber:dleta=2").err().unwrap().to_string();
/// assert!(error.starts_with("loss 'huber' has no key 'dleta'; did you mean 'delta'?"));
/// ```
pub fn find<'a, Make>(noun: &str, table: &'a [Entry<Make>], text: &str) -> Result<Choice<'a, Make>> {
    let (name, keys) = text.split_once(':').map_or((text, None), |(name, keys)| (name, Some(keys)));
    let names: Vec<&str> = table.iter().map(|entry| entry.name).collect();
    let entry = table
        .iter()
        .find(|entry| entry.name == name)
        .ok_or_else(|| Error::call(format!("there is no {noun} '{name}'"), suggest(name, &names)))?;
    let mut given = vec![None; entry.keys.len()];
    for pair in keys.into_iter().flat_map(|keys| keys.split(',')) {
        let (k, value) = one_pair(noun, entry.name, entry.keys, pair)?;
        if given[k].replace(value).is_some() {
            return Err(Error::call(
                format!("{noun} '{name}' is given {} twice", entry.keys[k].name),
                "give it once",
            ));
        }
    }
    Ok(Choice { entry, given })
}

fn one_pair(noun: &str, name: &str, keys: &[Key], pair: &str) -> Result<(usize, f64)> {
    let names: Vec<&str> = keys.iter().map(|key| key.name).collect();
    let (key, value) = match (pair.split_once('='), &names[..]) {
        (Some(both), _) => both,
        (None, [only]) if pair.parse::<f64>().is_ok() => (*only, pair),
        _ => {
            let hint = format!("write {noun} '{name}:key=value'");
            return Err(Error::call(format!("'{pair}' is not of the form key=value"), hint));
        }
    };
    let k = names.iter().position(|n| *n == key).ok_or_else(|| {
        let hint = if names.is_empty() { "it takes none".to_string() } else { suggest(key, &names) };
        Error::call(format!("{noun} '{name}' has no key '{key}'"), hint)
    })?;
    match value.parse::<f64>() {
        Ok(number) if keys[k].admits(number) => Ok((k, number)),
        _ => Err(Error::call(
            format!("{noun} '{name}' cannot have {key}={value}"),
            format!("{key} is a number {}", keys[k].range()),
        )),
    }
}

/// A hint for an unknown name: "did you mean 'x'?" if a name is similar, and the list of names.
///
/// ```
/// let hint = lazyglm::util::registry::suggest("hinje", &["logistic", "hinge"]);
/// assert_eq!(hint, "did you mean 'hinge'? There are: logistic, hinge");
/// ```
pub fn suggest(typed: &str, names: &[&str]) -> String {
    suggest_all(&[typed], names)
}

/// The same for several unknown names.
pub(crate) fn suggest_all(typed: &[&str], names: &[&str]) -> String {
    let near = |typed: &&str| {
        let nearness = names.iter().map(|name| (strsim::jaro_winkler(typed, name), name));
        let near = nearness.filter(|(nearness, _)| *nearness > 0.7).max_by(|a, b| a.0.total_cmp(&b.0));
        near.map(|(_, name)| format!("'{}'", excerpt(name)))
    };
    let (near, all): (Vec<String>, String) = (typed.iter().filter_map(near).collect(), listed(names));
    match near.is_empty() {
        true => format!("there are: {all}"),
        false => format!("did you mean {}? There are: {all}", near.join(", ")),
    }
}

/// The first names of a list for a message, each shortened to a readable length.
pub(crate) fn listed(names: &[impl AsRef<str>]) -> String {
    let some: Vec<String> = names.iter().take(LISTED).map(|name| excerpt(name.as_ref())).collect();
    let more = names.len().saturating_sub(LISTED);
    some.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
}

/// Maximum number of names that a message lists.
const LISTED: usize = 40;
