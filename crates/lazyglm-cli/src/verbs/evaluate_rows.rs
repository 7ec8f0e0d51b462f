//! What rows have besides features and targets in an evaluation: weights, and the group that they belong to.

use crate::args::Evaluate;
use crate::print::note;
use lazyglm::data::format::{Parsed, ReadOptions};
use lazyglm::{Error, Place, Result, SampleWeights};
use std::collections::HashMap;

/// The weights and groups of the rows so far.
pub struct Beside {
    /// One weight per row, if rows are weighted.
    pub weights: Option<Vec<f64>>,
    /// The groups of `--by`.
    pub groups: Option<Groups>,
    /// The number of values of features.
    pub values: u64,
    given: Option<SampleWeights>,
    rows: usize,
}

/// The rows of each value of a column.
pub struct Groups {
    /// The name of the column.
    pub column: String,
    names: Vec<String>,
    rows: Vec<Vec<usize>>,
    index: HashMap<String, usize>,
}

impl Groups {
    /// The name and the rows of each group, in alphabetical order.
    pub fn each(&self) -> impl Iterator<Item = (&String, Vec<usize>)> {
        let mut order: Vec<usize> = (0..self.names.len()).collect();
        order.sort_by_key(|&k| &self.names[k]);
        order.into_iter().map(|k| (&self.names[k], self.rows[k].clone()))
    }

    fn push(&mut self, cell: &str, row: usize) {
        let k = match self.index.get(cell) {
            Some(&k) => k,
            None => {
                self.index.insert(cell.to_string(), self.names.len());
                self.names.push(cell.to_string());
                self.rows.push(Vec::new());
                self.names.len() - 1
            }
        };
        self.rows[k].push(row);
    }
}

impl Beside {
    /// How to read the data: with the column of the groups.
    pub fn asked(args: &Evaluate) -> ReadOptions {
        let copy = args.by.iter().cloned().collect();
        ReadOptions { format: args.format.clone(), copy, ..ReadOptions::default() }
    }

    /// Reads the file of `--sample-weights`, if it is given.
    pub fn read(args: &Evaluate) -> Result<Beside> {
        let given = args.sample_weights.as_deref().map(SampleWeights::read).transpose()?;
        let groups = args.by.clone().map(|column| Groups {
            column,
            names: Vec::new(),
            rows: Vec::new(),
            index: HashMap::new(),
        });
        Ok(Beside { weights: given.as_ref().map(|_| Vec::new()), groups, values: 0, given, rows: 0 })
    }

    /// Adds the rows of a block.
    pub fn see(&mut self, block: &Parsed) -> Result<()> {
        let before = self.rows;
        self.rows += block.rows.len();
        self.values += block.rows.nonzeros() as u64;
        if !block.weights.is_empty() {
            self.weights.get_or_insert_with(|| vec![1.0; before]);
        }
        if let Some(weights) = &mut self.weights {
            let given = |i: usize| match &self.given {
                Some(given) => given.values.get(before + i).copied().unwrap_or(0.0), // `finish` rejects too few
                None => 1.0,
            };
            let of_data = |i: usize| block.weights.get(i).copied().unwrap_or(1.0);
            weights.extend((0..block.rows.len()).map(|i| given(i) * of_data(i)));
        }
        if let Some(groups) = &mut self.groups {
            block.copied.iter().enumerate().for_each(|(i, cell)| groups.push(cell, before + i));
        }
        Ok(())
    }

    /// Rejects a wrong number of weights, and weights that are all zero.
    pub fn finish(&self, args: &Evaluate, rows: usize) -> Result<()> {
        if let Some(given) = &self.given {
            given.check_count(rows, rows, &args.data)?;
        }
        match self.total() {
            Some(0.0) if rows > 0 => Err(Error::data(
                Place::file(&args.data),
                "all rows have weight 0",
                "give some rows a weight above 0",
            )),
            Some(total) => {
                note(args.quiet, &format!("rows are weighted: their weights sum to {total}"));
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// The weight of row `i`.
    pub fn weight(&self, i: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[i])
    }

    /// The sum of the weights, if rows are weighted.
    pub fn total(&self) -> Option<f64> {
        self.weights.as_ref().map(|weights| weights.iter().sum())
    }
}
