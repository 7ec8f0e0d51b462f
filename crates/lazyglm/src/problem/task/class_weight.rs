//! The weight of each class.

use super::Targets;
use crate::data::labels::is_of_class;
use crate::problem::loss::Loss;
use crate::util::error::{Error, Result, excerpt};
use crate::util::parameter::Parameter;
use crate::util::registry::suggest;

/// The weight of each class.
///
/// ```
/// use lazyglm::{ClassWeight, Dataset, Features, Labels, Rows, Task};
/// let mut rows = Rows::new();
/// (0..5).for_each(|_| rows.push(&[(0, 1.0)]).unwrap());
/// let labels = Labels::Numbers(vec![1.0, -1.0, -1.0, -1.0, -1.0]);
/// let data = Dataset::made(rows, labels, Features::columns_from(1, 1));
/// let weights = Task::builder(data).class_weight(ClassWeight::Balanced).build().unwrap().weights.unwrap();
/// assert_eq!(weights, [2.5, 0.625, 0.625, 0.625, 0.625], "one row weighs as much as the other four");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ClassWeight {
    /// Weight n/(K·nₖ) for class k of K, with nₖ of n rows: all classes have the same total weight.
    Balanced,
    /// Weights by class name; a class that is not named has weight 1.
    Given(Vec<(String, f64)>),
}

impl ClassWeight {
    /// Parses `balanced`, or `A=1,B=5`.
    ///
    /// ```
    /// use lazyglm::ClassWeight;
    /// assert_eq!(ClassWeight::parse("balanced").unwrap(), ClassWeight::Balanced);
    /// assert_eq!(ClassWeight::parse("spam=5").unwrap(), ClassWeight::Given(vec![("spam".into(), 5.0)]));
    /// ```
    pub fn parse(text: &str) -> Result<ClassWeight> {
        if text == "balanced" {
            return Ok(ClassWeight::Balanced);
        }
        let one = |pair: &str| {
            let (name, weight) = pair.rsplit_once('=')?;
            let weight: f64 = weight.parse().ok()?;
            let number = name.parse::<f64>().map(|value| (value + 0.0).to_string());
            (weight.is_finite() && weight >= 0.0).then(|| (number.unwrap_or(name.to_string()), weight))
        };
        let pairs: Option<Vec<_>> = text.split(',').map(one).collect();
        if let Some(pairs) = &pairs
            && let Some((name, _)) = pairs.iter().find(|a| pairs.iter().filter(|b| a.0 == b.0).count() > 1)
        {
            return Err(Error::call(format!("class '{name}' is given a weight twice"), "give it once"));
        }
        let expected = "'balanced', or CLASS=WEIGHT,CLASS=WEIGHT with weights that are at least 0";
        let wrong = || Error::parameter(Parameter::ClassWeight, text, expected);
        pairs.map(ClassWeight::Given).ok_or_else(wrong)
    }

    /// One weight per class, scaled so that the largest is 1 and no product overflows.
    ///
    /// ```text
    /// balanced    n/(K·nₖ)      n rows, K classes, nₖ rows of class k
    /// ```
    pub(crate) fn of_classes(&self, names: &[String], counts: &[usize]) -> Result<Vec<f64>> {
        let of_class: Vec<f64> = match self {
            ClassWeight::Balanced => {
                let rows = counts.iter().sum::<usize>() as f64;
                // A class without rows weighs nothing, whatever its weight is.
                counts.iter().map(|&count| rows / (names.len() * count.max(1)) as f64).collect()
            }
            ClassWeight::Given(pairs) => {
                if let Some((name, _)) =
                    pairs.iter().find(|(name, _)| !names.iter().any(|class| is_of_class(name, class)))
                {
                    let known: Vec<&str> = names.iter().map(String::as_str).collect();
                    let hint = suggest(name, &known);
                    return Err(Error::call(format!("there is no class '{}' to weigh", excerpt(name)), hint));
                }
                let weight = |class: &String| {
                    pairs.iter().find(|(name, _)| is_of_class(name, class)).map_or(1.0, |p| p.1)
                };
                names.iter().map(weight).collect()
            }
        };
        if of_class.contains(&0.0) {
            let hint = "give each class a weight above 0, or leave its rows out";
            return Err(Error::call("a class of weight 0 cannot be learnt", hint));
        }
        let heaviest = of_class.iter().copied().fold(0.0, f64::max);
        Ok(of_class.into_iter().map(|weight| weight / heaviest).collect())
    }

    /// Row weights times the weight of each row's class.
    pub(super) fn row_weights(
        &self,
        targets: &Targets,
        loss: &dyn Loss,
        weights: Option<Vec<f64>>,
    ) -> Result<Vec<f64>> {
        let names = class_names(targets, loss)?;
        let of_row: Vec<usize> = match targets {
            Targets::Classes { sets, .. } => (0..sets.len()).map(|i| sets.of(i)[0] as usize).collect(),
            one => one.numbers().iter().map(|y| usize::from(*y > 0.0)).collect(),
        };
        let mut counts = vec![0; names.len()];
        of_row.iter().for_each(|&class| counts[class] += 1);
        let of_class = self.of_classes(names, &counts)?;
        let weight = |i: usize| weights.as_ref().map_or(1.0, |w| w[i]);
        Ok(of_row.iter().enumerate().map(|(i, &class)| weight(i) * of_class[class]).collect())
    }
}

/// The names of the classes, or an error if the targets are not classes.
pub(crate) fn class_names<'a>(targets: &'a Targets, loss: &dyn Loss) -> Result<&'a [String]> {
    match targets {
        Targets::Binary { classes, .. } => Ok(classes),
        Targets::Classes { names, .. } => Ok(names),
        Targets::Labels { .. } => Err(Error::call(
            format!("{} needs one class per row, and these rows have labels", Parameter::ClassWeight),
            format!("use {}", Parameter::SampleWeights),
        )),
        Targets::Real(_) => Err(Error::call(
            format!("{} needs classes, and loss '{}' has none", Parameter::ClassWeight, loss.spec()),
            format!("use {}, or a loss for classes", Parameter::SampleWeights),
        )),
    }
}
