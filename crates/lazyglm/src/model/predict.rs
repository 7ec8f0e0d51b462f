//! Converts scores to predictions: a probability, a class or a number.

use super::Model;
use crate::problem::loss::{Admits, score_limits};
use crate::util::error::{Error, Result};
use crate::util::parameter::Parameter;

/// Kind of prediction.
///
/// ```
/// use lazyglm::{Model, Output, Settings, loss, synth, train};
/// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
/// let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
/// let model = Model::new(&task, &Settings::default(), trained);
/// let hinge = Model { loss: loss::parse("hinge").unwrap(), ..model };
/// assert!(hinge.predict(1.0, Output::Score).is_ok());
/// assert!(hinge.predict(1.0, Output::Probability).is_err(), "the hinge loss knows of none");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Output {
    /// The probability of the positive class.
    Probability,
    /// The raw score w·x + b.
    Score,
    /// The predicted class or number.
    Target,
}

/// A prediction for one row.
///
/// ```
/// use lazyglm::Prediction;
/// let text = |prediction: Prediction| match prediction {
///     Prediction::Number(number) => number.to_string(),
///     Prediction::Class(name) => name.to_string(),
/// };
/// assert_eq!([Prediction::Number(0.25), Prediction::Class("spam")].map(text), ["0.25", "spam"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Prediction<'a> {
    /// A probability, score or predicted target.
    Number(f64),
    /// The name of a class.
    Class(&'a str),
}

impl Model {
    /// Converts a score to a prediction.
    ///
    /// ```
    /// use lazyglm::{Model, Output, Prediction, Settings, synth, train};
    /// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
    /// let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
    /// let model = Model::new(&task, &Settings::default(), trained);
    /// assert_eq!(model.predict(0.0, Output::Probability).unwrap(), Prediction::Number(0.5));
    /// assert_eq!(model.predict(2.0, Output::Target).unwrap(), Prediction::Class("1"));
    /// ```
    pub fn predict(&self, score: f64, what: Output) -> Result<Prediction<'_>> {
        let classifier = self.loss.admits() == Admits::Classes;
        match what {
            Output::Score => Ok(Prediction::Number(score)),
            Output::Probability if self.loss.gives_probability() => {
                Ok(Prediction::Number(self.loss.inverse_link(score)))
            }
            Output::Probability => Err(Error::call(
                format!("loss '{}' gives no probabilities", self.loss.spec()),
                format!(
                    "ask for {} or {}, or train with {}",
                    Parameter::Prediction.set("score"),
                    Parameter::Prediction.set("target"),
                    Parameter::Loss.set("logistic")
                ),
            )),
            Output::Target if classifier => {
                let classes = self.classes.as_ref().map(|c| c[usize::from(score > 0.0)].as_str());
                Ok(Prediction::Class(classes.unwrap_or_default()))
            }
            Output::Target => {
                let number = self.loss.inverse_link(score);
                Ok(Prediction::Number(self.limits.map_or(number, |[low, high]| number.clamp(low, high))))
            }
        }
    }

    /// The score whose prediction is the limited prediction of this score; the score itself without limits.
    ///
    /// ```
    /// use lazyglm::{Model, Settings, loss, synth, train};
    /// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
    /// let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
    /// let (loss, limits) = (loss::parse("poisson").unwrap(), Some([0.0, 1.0]));
    /// let model = Model { loss, limits, ..Model::new(&task, &Settings::default(), trained) };
    /// assert_eq!([-5.0, 5.0].map(|score| model.limited(score)), [-5.0, 0.0]);
    /// ```
    pub fn limited(&self, score: f64) -> f64 {
        let limits = self.limits.map(|range| score_limits(&*self.loss, range));
        limits.map_or(score, |[low, high]| score.clamp(low, high))
    }

    /// The default kind of prediction: a probability if the loss gives one, otherwise a score for classes,
    /// and the predicted target for numbers.
    ///
    /// ```
    /// use lazyglm::{Model, Output, Settings, loss, synth, train};
    /// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
    /// let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
    /// let model = Model::new(&task, &Settings::default(), trained);
    /// let usual = |name| Model { loss: loss::parse(name).unwrap(), ..model.clone() }.default_output();
    /// assert_eq!((usual("logistic"), usual("hinge")), (Output::Probability, Output::Score));
    /// assert_eq!(usual("poisson"), Output::Target);
    /// ```
    pub fn default_output(&self) -> Output {
        match (self.loss.gives_probability(), self.loss.admits()) {
            _ if self.heads.is_some() => Output::Target,
            (true, _) => Output::Probability,
            (false, Admits::Classes) => Output::Score,
            (false, _) => Output::Target,
        }
    }
}
