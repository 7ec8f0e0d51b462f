//! The parameters that messages mention: each front end spells them its own way.
//!
//! ```text
//! library   format!("lower {}, or use {}", Parameter::Eta0, Parameter::Solver.set("newton"))
//! Display   lower eta0, or use solver = newton
//! program   lower --eta0, or use --solver newton
//! Python    lower eta0, or use solver='newton'
//! ```
//!
//! A message holds the name between two marks, characters that [`escaped`](crate::escaped) takes out of all input.
//! [`spelled`] replaces them.

use super::quote::escaped;
use std::fmt;

/// Marks the start of a name. See `marks` in `quote.rs`.
const START: char = '\u{e000}';
/// Marks the end of a name and its value.
const END: char = '\u{e001}';
/// Stands between a name and its value.
const VALUE: char = '\u{e002}';

macro_rules! parameters {
    ($($variant:ident $name:literal $about:literal)*) => {
        /// A parameter of reading, training or prediction, by one name for all front ends.
        ///
        /// `Display` writes the name between marks, for messages: use [`Parameter::name`] for the name alone.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Parameter {
            $(#[doc = $about] $variant,)*
        }

        impl Parameter {
            /// All parameters, in alphabetical order.
            pub const ALL: &'static [Parameter] = &[$(Parameter::$variant),*];

            /// The name of the parameter in Rust: `hash_bits`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Parameter::$variant => $name,)*
                }
            }
        }
    };
}

parameters! {
    Adaptive "adaptive" "The exponent of the adaptive lasso."
    Average "average" "The step from which on the weights are averaged."
    Cache "cache" "Where the data are kept in a form that reads faster."
    Categorical "categorical" "The columns whose numbers are names of categories."
    ClassWeight "class_weight" "The weight of each class."
    Drop "drop" "The columns to leave out."
    Epochs "epochs" "The number of passes over the rows."
    Eta0 "eta0" "The starting learning rate."
    Exclude "exclude" "The features whose weight is zero."
    Features "features" "The number of features."
    Folds "folds" "The number of folds of cross-validation."
    Format "format" "The format of the data."
    HashBits "hash_bits" "The base-2 logarithm of the number of buckets that names of features are hashed into."
    IndexBase "index_base" "The number of the first feature."
    Interact "interact" "The namespaces or columns whose features are multiplied."
    L1 "l1" "The weight λ₁ of the ℓ₁ penalty."
    L2 "l2" "The weight λ₂ of the squared ℓ₂ penalty."
    L1Ratio "l1_ratio" "The share of λ₁ in λ₁ + λ₂."
    LimitPredictions "limit_predictions" "Whether predictions are limited to the range of the training targets."
    Loss "loss" "The loss."
    Lower "lower" "The lowest value of the weights."
    Memory "memory" "The memory that training may use."
    Method "method" "The way in which a step applies the penalty."
    Missing "missing" "What a missing number of a table becomes: zero, the mean, or the mean and an indicator."
    Multiclass "multiclass" "The way in which more than two classes are learnt."
    Multilabel "multilabel" "Whether targets are sets of labels."
    Nonnegative "nonnegative" "Whether all weights must be at least zero."
    Offset "offset" "The number that is added to the score of each row."
    OffsetColumn "offset_column" "The column that holds the offset of each row."
    OutputFormat "output_format" "The format that data are converted to."
    Passes "passes" "The number of passes over rows that are read once: 1."
    PenaltyFactor "penalty_factor" "The factor of the penalty for each feature."
    Precision "precision" "The precision of the weights."
    Prediction "prediction" "The kind of prediction: probability, score or target."
    Renumber "renumber" "Whether features are numbered by frequency."
    Runs "runs" "The number of training runs that are averaged."
    SampleWeights "sample_weights" "The weight of each row."
    Scale "scale" "What each feature is divided by."
    Schedule "schedule" "The learning-rate schedule."
    Solver "solver" "The training algorithm."
    Start "start" "The model whose weights training starts from."
    Strict "strict" "Whether a feature that is unknown to the model is an error."
    Target "target" "The column that holds the target."
    Task "task" "What the targets are: classes, numbers or sets of labels."
    Text "text" "The way in which text becomes features."
    TextColumns "text_columns" "The columns of text, whose words are features."
    Threads "threads" "The number of threads."
    Thresholds "thresholds" "The score above which a label is predicted: zero, or tuned per label."
    Tolerance "tolerance" "The relative distance from the optimum at which a solver stops."
    Update "update" "The algorithm that applies the penalty: lazy, table or dense."
    Upper "upper" "The highest value of the weights."
    Validation "validation" "The held-out rows."
}

impl serde::Serialize for Parameter {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl Parameter {
    /// The parameter with a value, for a message that advises it.
    ///
    /// ```
    /// use lazyglm::{Error, Parameter};
    /// let error = Error::call("the loss has kinks", format!("use {}", Parameter::Solver.set("sgd")));
    /// assert_eq!(error.to_string(), "the loss has kinks; use solver = sgd");
    /// ```
    pub fn set(self, value: impl fmt::Display) -> String {
        format!("{START}{}{VALUE}{}{END}", self.name(), escaped(&value.to_string()))
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{START}{}{END}", self.name())
    }
}

/// How a front end writes a parameter: its name alone, or with the value to set.
pub type Spelling = fn(Parameter, Option<&str>) -> String;

/// The spelling of this crate's own `Display`: `eta0`, `solver = sgd`.
pub(super) fn plain(parameter: Parameter, value: Option<&str>) -> String {
    let name = parameter.name();
    value.map_or(name.to_string(), |value| format!("{name} = {value}"))
}

/// A message or a note of this crate with its parameters as a front end writes them, and control characters escaped.
///
/// ```
/// use lazyglm::{Parameter, spelled};
/// let note = format!("{} has no effect", Parameter::HashBits);
/// let flag = |parameter: Parameter, _: Option<&str>| format!("--{}", parameter.name().replace('_', "-"));
/// assert_eq!(spelled(&note, flag), "--hash-bits has no effect");
/// ```
pub fn spelled(text: &str, spelling: Spelling) -> String {
    let mut pieces = text.split(START);
    let mut written = pieces.next().unwrap_or_default().to_string();
    for piece in pieces {
        let marked = piece.split_once(END).and_then(|(inside, rest)| {
            let (name, value) = inside.split_once(VALUE).map_or((inside, None), |(name, v)| (name, Some(v)));
            let parameter = *Parameter::ALL.iter().find(|parameter| parameter.name() == name)?;
            Some((spelling(parameter, value), rest))
        });
        match marked {
            Some((parameter, rest)) => written.extend([parameter.as_str(), rest]),
            None => written += piece,
        }
    }
    escaped(&written).into_owned()
}

/// The start of a note that warns: the result may not be what the user wants. Front ends show such notes as warnings.
pub const WARNING: &str = "warning: ";
