//! How much each class counts.

use crate::problem::loss::Loss;
use crate::util::error::{Error, Result, excerpt};
use crate::util::registry::suggest;

/// How much each class counts.
///
/// ```
/// use lazyglm::{ClassWeight, Dataset, Features, Labels, Rows, Task};
/// let mut rows = Rows::new();
/// (0..5).for_each(|_| rows.push(&[(0, 1.0)]).unwrap());
/// let labels = Labels::Numbers(vec![1.0, -1.0, -1.0, -1.0, -1.0]);
/// let data = Dataset::made(rows, labels, Features::columns_from(1, 1));
/// let weights = Task::new(data, None, None, Some(ClassWeight::Balanced)).unwrap().weights.unwrap();
/// assert_eq!(weights, [2.5, 0.625, 0.625, 0.625, 0.625], "one row weighs as much as the other four");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum ClassWeight {
    /// n/(2·rows of the class): both classes weigh the same in total.
    Balanced,
    /// By name; a class not named has weight 1.
    Given(Vec<(String, f64)>),
}

impl ClassWeight {
    /// `balanced`, or `A=1,B=5`.
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
        pairs.map(ClassWeight::Given).ok_or_else(|| {
            Error::call(
                format!("class weight '{text}' is neither 'balanced' nor a list"),
                "write CLASS=WEIGHT,CLASS=WEIGHT with weights from 0 up",
            )
        })
    }

    /// The weights of the two classes, the larger one 1, so that no product with them is infinite.
    pub(crate) fn of_classes(
        &self,
        classes: Option<&[String; 2]>,
        counts: [usize; 2],
        loss: &dyn Loss,
    ) -> Result<[f64; 2]> {
        let Some(classes) = classes else {
            return Err(Error::call(
                format!("class weights with loss '{}', which has no classes", loss.spec()),
                "use --sample-weights, or a loss for classes",
            ));
        };
        let of_class = match self {
            ClassWeight::Balanced => {
                let rows = (counts[0] + counts[1]) as f64;
                counts.map(|count| rows / (2.0 * count as f64))
            }
            ClassWeight::Given(pairs) => {
                if let Some((name, _)) = pairs.iter().find(|(name, _)| !classes.contains(name)) {
                    let names = [classes[0].as_str(), classes[1].as_str()];
                    let hint = suggest(name, &names);
                    return Err(Error::call(format!("there is no class '{}' to weigh", excerpt(name)), hint));
                }
                let weight =
                    |class: &String| pairs.iter().find(|(name, _)| name == class).map_or(1.0, |p| p.1);
                [weight(&classes[0]), weight(&classes[1])]
            }
        };
        if of_class.contains(&0.0) {
            return Err(Error::call(
                "a class of weight 0 leaves one class only",
                "give both a weight above 0",
            ));
        }
        let heavier = of_class[0].max(of_class[1]);
        Ok(of_class.map(|weight| weight / heavier))
    }
}
