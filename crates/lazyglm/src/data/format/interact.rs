//! Feature interactions: adds products of features to parsed rows.
//!
//! For the pair `a*b`, every feature x of namespace (or column) a and every y of b give a feature `x*y`.
//! Its value is the product of both values. A `*` inside either name is escaped: see `names.rs`. For `a*a`,
//! each unordered pair occurs once, including squares. Products are added as rows are read, and a cache keeps
//! them.

use super::names::{push_last, push_part};
use super::{FormatSpec, Parsed, Parser};
use crate::data::vocabulary::Vocabulary;
use crate::util::error::{Error, Place, Result};
use crate::util::parameter::Parameter;
use hashbrown::HashMap;
use std::path::Path;

const FIRST: u8 = 1;
const SECOND: u8 = 2;

/// Adds products of features to rows.
pub(crate) struct Interact<'a> {
    inner: Box<dyn Parser>,
    recipe: &'a FormatSpec,
    pairs: &'a [[String; 2]],
    row: Vec<(u32, f64)>,
}

impl<'a> Interact<'a> {
    pub fn new(recipe: &'a FormatSpec, pairs: &'a [[String; 2]]) -> Interact<'a> {
        Interact { inner: recipe.parser(), recipe, pairs, row: Vec::new() }
    }
}

impl Parser for Interact<'_> {
    fn parse(&mut self, block: &[u8], file: &Path, into: &mut Parsed) -> Result<()> {
        self.inner.parse(block, file, into)?;
        self.widen(file, into)
    }
}

impl Interact<'_> {
    /// Appends the products to all rows of a block.
    pub fn widen(&mut self, file: &Path, into: &mut Parsed) -> Result<()> {
        if self.pairs.is_empty() {
            return Ok(());
        }
        let Some(mut names) = into.names.take() else {
            if into.rows.nonzeros() == 0 {
                return Ok(());
            }
            let what = format!("{} needs names, and {} has indices", Parameter::Interact, self.recipe.name());
            return Err(Error::call(what, "give data with namespaces or columns"));
        };
        let sides: Vec<Vec<u8>> = self.pairs.iter().map(|pair| sides(pair, &names, self.recipe)).collect();
        let mut products: HashMap<(u32, u32), u32> = HashMap::new();
        let (mut wide, lent) = (Parsed::default(), into.rows.borrow());
        for i in 0..lent.len() {
            self.row.clear();
            lent.for_each(i, |id, x| self.row.push((id as u32, x)));
            let plain = self.row.len();
            for (pair, sides) in self.pairs.iter().zip(&sides) {
                for a in 0..plain {
                    if sides[self.row[a].0 as usize] & FIRST == 0 {
                        continue;
                    }
                    let from = if pair[0] == pair[1] { a } else { 0 };
                    for b in from..plain {
                        let ((x, value), (y, other)) = (self.row[a], self.row[b]);
                        if sides[y as usize] & SECOND != 0 {
                            let product =
                                products.entry((x, y)).or_insert_with(|| multiplied(&mut names, x, y));
                            self.row.push((*product, value * other));
                        }
                    }
                }
            }
            wide.push_row(&mut self.row).map_err(|_| {
                let place = Place::file(file).line(into.lines.of(i));
                Error::data(place, "a product of two features is infinite", "scale the values down")
            })?;
        }
        into.rows = wide.rows;
        into.names = Some(names);
        Ok(())
    }
}

/// For each name, a bit mask of the sides of the product that it belongs to.
fn sides(pair: &[String; 2], names: &Vocabulary, recipe: &FormatSpec) -> Vec<u8> {
    let side = |name: &str| {
        let space = recipe.namespace(name);
        u8::from(*space == *pair[0]) * FIRST + u8::from(*space == *pair[1]) * SECOND
    };
    names.iter().map(side).collect()
}

fn multiplied(names: &mut Vocabulary, x: u32, y: u32) -> u32 {
    let mut name = String::new();
    push_part(&mut name, names.name(x), '*');
    push_last(&mut name, names.name(y), '*');
    names.id(&name)
}
