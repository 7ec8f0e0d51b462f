//! The lines that `predict` prints: cells separated by tabs or commas, or one JSON object per row.
//!
//! ```text
//! tabs (default)   one cell: the cell alone        several: a header of names, then one line per row
//! csv              a header of names, then one line per row
//! json             {"column": "cell", …, "probability": 0.93}      many classes: {"probability": {"a": 0.1, "b": 0.9}}
//! ```

use lazyglm::{Error, HeadKind, Model, Output, Place, Prediction, Result, Scorer};
use std::borrow::Cow;
use std::io::{self, Write};

/// How a line is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Cells separated by tabs.
    Tabs,
    /// Cells separated by commas.
    Csv,
    /// One JSON object per row.
    Json,
}

/// What to print of each row.
pub struct Lines<'a> {
    /// The model.
    pub model: &'a Model,
    /// Kind of prediction.
    pub output: Output,
    /// How a line is written.
    pub form: Form,
    /// The columns of the data that are copied.
    pub columns: &'a [String],
    /// Number of classes or labels to print, those with the largest scores.
    pub top: Option<usize>,
    /// Probability, or score, above which the positive class or a label is predicted.
    pub threshold: Option<f64>,
}

/// The prediction for a row.
enum Answer<'a> {
    Number(f64),
    Name(Cow<'a, str>),
    Names(Vec<&'a str>),
    All(&'a [f64]),
    Top(Vec<(&'a str, f64)>),
}

impl<'a> Lines<'a> {
    /// Rejects what this model does not support, before any output.
    pub fn check(&self) -> Result<()> {
        let model = self.model;
        if self.top.is_none() {
            model.predict(0.0, self.output)?;
        }
        let kind = model.heads.as_ref().map(|heads| heads.kind);
        if self.top.is_some() && kind.is_none() && model.classes.is_none() {
            let what = "--top is for classes and labels, and this model predicts numbers";
            return Err(Error::call(what, "leave --top out"));
        }
        if self.top.is_some() && self.threshold.is_some() {
            return Err(Error::call("--top and --threshold are two ways to choose", "leave one of them out"));
        }
        if let Some(threshold) = self.threshold {
            if model.classes.is_none() && kind != Some(HeadKind::Labels) {
                let what = "--threshold is for two classes and for labels";
                let hint = match kind {
                    Some(_) => "leave --threshold out: the class with the largest score is predicted",
                    None => "leave --threshold out: this model predicts numbers",
                };
                return Err(Error::call(what, hint));
            }
            if self.output != Output::Target {
                let what = "--threshold decides on classes and labels, and --as asks for numbers";
                return Err(Error::call(what, "leave --threshold out, or ask for --as target"));
            }
            let probability = model.loss.gives_probability();
            if !(threshold.is_finite() && (!probability || (0.0..=1.0).contains(&threshold))) {
                let expected = if probability { "a probability from 0 to 1" } else { "a score" };
                let what = format!("invalid --threshold '{threshold}': expected {expected}");
                return Err(Error::call(what, "predict without it to see the numbers that it divides"));
            }
        }
        let names = self.names();
        match names.iter().enumerate().find(|(k, name)| names[..*k].contains(name)) {
            Some((_, name)) if self.form != Form::Tabs || !self.columns.is_empty() => Err(Error::call(
                format!("the output would have two columns named '{name}'"),
                "leave one of them out of --columns, or rename the column in the data",
            )),
            _ => Ok(()),
        }
    }

    /// The number of a class or label that is printed beside its name.
    fn measure(&self) -> Output {
        match self.output {
            Output::Target if self.model.loss.gives_probability() => Output::Probability,
            Output::Target => Output::Score,
            output => output,
        }
    }

    fn key(output: Output) -> &'static str {
        match output {
            Output::Probability => "probability",
            Output::Score => "score",
            _ => "prediction",
        }
    }

    /// The names of the cells of a line, or of the keys of an object.
    fn names(&self) -> Vec<String> {
        let heads = self.model.heads.as_ref();
        let mut names = self.columns.to_vec();
        match (self.top, heads) {
            (Some(_), _) if self.form == Form::Json => names.push("top".to_string()),
            (Some(most), _) => {
                let noun = heads.map_or("class", |heads| heads.kind.noun());
                let most = most.min(heads.map_or(2, |heads| heads.names.len()));
                let key = Lines::key(self.measure());
                names.extend((1..=most).flat_map(|k| [format!("{noun}_{k}"), format!("{key}_{k}")]));
            }
            (None, Some(heads)) if self.output != Output::Target && self.form != Form::Json => {
                names.extend(heads.names.iter().cloned());
            }
            _ => names.push(Lines::key(self.output).to_string()),
        }
        names
    }

    /// Writes the header, if there is one.
    pub fn header(&self, out: &mut dyn Write) -> io::Result<()> {
        let names = self.names();
        let many = self.model.heads.is_some() && self.output != Output::Target; // even of one label
        match self.form {
            Form::Json => Ok(()),
            Form::Tabs if names.len() == 1 && !many => Ok(()),
            _ => self.cells(out, names.iter().map(|name| Cow::Borrowed(name.as_str()))),
        }
    }

    /// Writes the line of a row: its copied cells and its prediction.
    pub fn write(
        &self,
        out: &mut dyn Write,
        copied: &[String],
        scores: &mut [f64],
        place: impl Fn() -> Place,
    ) -> Result<io::Result<()>> {
        let answer = self.answer(scores, &place)?;
        Ok(match self.form {
            Form::Json => self.object(out, copied, &answer),
            _ => {
                let cells = copied.iter().map(|cell| Cow::Borrowed(cell.as_str()));
                self.cells(out, cells.chain(answer.cells()))
            }
        })
    }

    fn answer<'s>(&'s self, scores: &'s mut [f64], place: impl Fn() -> Place) -> Result<Answer<'s>> {
        let model = self.model;
        if let Some(most) = self.top {
            return self.best(most, scores, place);
        }
        let Some(heads) = &model.heads else {
            if let (Some(threshold), Some(classes)) = (self.threshold, &model.classes) {
                return Ok(Answer::Name(
                    classes[usize::from(self.measured(scores[0]) > threshold)].as_str().into(),
                ));
            }
            return Ok(match model.predict(scores[0], self.output)? {
                Prediction::Number(number) => {
                    Scorer::check_finite(&[number], place)?; // a finite score may have an infinite exponential
                    Answer::Number(number)
                }
                Prediction::Class(name) => Answer::Name(name.into()),
            });
        };
        Ok(match (self.output, heads.kind) {
            (Output::Target, HeadKind::Labels) => {
                let names = |k: usize| heads.names[k].as_str();
                Answer::Names(match self.threshold {
                    None => heads.chosen(scores).map(names).collect(),
                    Some(threshold) => {
                        let above = |k: &usize| self.measured(scores[*k]) > threshold;
                        (0..scores.len()).filter(above).map(names).collect()
                    }
                })
            }
            (Output::Target, _) => Answer::Name(heads.names[heads.best(scores)].as_str().into()),
            (Output::Probability, _) => {
                heads.probabilities(&*model.loss, scores);
                Scorer::check_finite(scores, place)?;
                Answer::All(scores)
            }
            _ => Answer::All(scores),
        })
    }

    /// What a threshold is compared with: the probability if the loss gives one, else the score.
    fn measured(&self, score: f64) -> f64 {
        match self.model.loss.gives_probability() {
            true => self.model.loss.inverse_link(score),
            false => score,
        }
    }

    /// The classes or labels with the largest scores; the first of equals comes first.
    fn best(&self, most: usize, scores: &mut [f64], place: impl Fn() -> Place) -> Result<Answer<'_>> {
        let (names, mut numbers): (&[String], Vec<f64>) = match (&self.model.heads, &self.model.classes) {
            (Some(heads), _) => (&heads.names, scores.to_vec()),
            (None, Some(classes)) => (classes, vec![-scores[0], scores[0]]),
            (None, None) => (&[], Vec::new()), // `check` rejects it
        };
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_by(|&a, &b| numbers[b].total_cmp(&numbers[a]));
        if self.measure() == Output::Probability {
            match &self.model.heads {
                Some(heads) => heads.probabilities(&*self.model.loss, &mut numbers),
                None => numbers.iter_mut().for_each(|score| *score = self.model.loss.inverse_link(*score)),
            }
        }
        Scorer::check_finite(&numbers, place)?;
        Ok(Answer::Top(order.into_iter().take(most).map(|k| (names[k].as_str(), numbers[k])).collect()))
    }

    /// Writes cells, in quotes where they need them.
    fn cells<'c>(&self, out: &mut dyn Write, cells: impl Iterator<Item = Cow<'c, str>>) -> io::Result<()> {
        let delimiter = if self.form == Form::Csv { ',' } else { '\t' };
        for (k, cell) in cells.enumerate() {
            if k > 0 {
                write!(out, "{delimiter}")?;
            }
            let quoted = cell.contains([delimiter, '\n', '\r']) || cell.starts_with('"');
            match quoted || (self.form == Form::Csv && cell.contains('"')) {
                true => write!(out, "\"{}\"", cell.replace('"', "\"\""))?,
                false => out.write_all(cell.as_bytes())?,
            }
        }
        writeln!(out)
    }

    fn object(&self, out: &mut dyn Write, copied: &[String], answer: &Answer) -> io::Result<()> {
        write!(out, "{{")?;
        for (name, cell) in self.columns.iter().zip(copied) {
            write!(out, "{}:{},", serde_json::to_string(name)?, serde_json::to_string(cell)?)?;
        }
        let key = if self.top.is_some() { "top" } else { Lines::key(self.output) };
        write!(out, "\"{key}\":")?;
        match answer {
            Answer::Number(number) => write!(out, "{number:?}")?,
            Answer::Name(name) => write!(out, "{}", serde_json::to_string(name)?)?,
            Answer::Names(names) => write!(out, "{}", serde_json::to_string(names)?)?,
            Answer::All(numbers) => {
                let names = self.model.heads.iter().flat_map(|heads| &heads.names);
                for (k, (name, number)) in names.zip(*numbers).enumerate() {
                    write!(
                        out,
                        "{}{}:{number:?}",
                        if k == 0 { "{" } else { "," },
                        serde_json::to_string(name)?
                    )?;
                }
                write!(out, "}}")?;
            }
            Answer::Top(best) => {
                let noun = self.model.heads.as_ref().map_or("class", |heads| heads.kind.noun());
                let key = Lines::key(self.measure());
                for (k, (name, number)) in best.iter().enumerate() {
                    let start = if k == 0 { "[" } else { "," };
                    write!(
                        out,
                        "{start}{{\"{noun}\":{},\"{key}\":{number:?}}}",
                        serde_json::to_string(name)?
                    )?;
                }
                write!(out, "]")?;
            }
        }
        writeln!(out, "}}")
    }
}

impl Answer<'_> {
    fn cells(&self) -> Vec<Cow<'_, str>> {
        let number = |number: &f64| Cow::Owned(format!("{number:?}"));
        match self {
            Answer::Number(one) => vec![number(one)],
            Answer::Name(name) => vec![Cow::Borrowed(name)],
            Answer::Names(names) => vec![names.join(",").into()],
            Answer::All(numbers) => numbers.iter().map(number).collect(),
            Answer::Top(best) => {
                best.iter().flat_map(|(name, of)| [Cow::Borrowed(*name), number(of)]).collect()
            }
        }
    }
}
