//! Feature interactions: adds products of features to parsed rows.
//!
//! ```text
//! a*b      every feature x of namespace (or column) a, every y of b     ↦ x*y · value of x · value of y
//! a*b*c    three of them                                                ↦ x*y*z
//! a*a      each unordered pair once, squares included
//! a*:      ':' is any other namespace; of ':*:', each unordered pair once
//! ```
//!
//! A `*` inside a name is escaped: see `names.rs`. Features of the same side are in the order of their names, so that a
//! product has the same name in every block and file. Products are added as rows are read, and a cache keeps them.

use super::names::{push_last, push_part};
use super::{FormatSpec, Parsed, Parser};
use crate::data::vocabulary::Vocabulary;
use crate::util::error::{Error, Place, Result};
use crate::util::parameter::Parameter;
use hashbrown::HashMap;
use std::path::Path;

/// The side of a product that stands for any namespace.
pub(crate) const ANY: &str = ":";

/// Maximum number of factors.
const MOST: usize = 3;

/// Adds products of features to rows.
pub(crate) struct Interact<'a> {
    inner: Box<dyn Parser>,
    spec: &'a FormatSpec,
    products: &'a [Vec<String>],
    row: Vec<(u32, f64)>,
}

impl<'a> Interact<'a> {
    pub fn new(spec: &'a FormatSpec, products: &'a [Vec<String>]) -> Interact<'a> {
        Interact { inner: spec.parser(), spec, products, row: Vec::new() }
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
        if self.products.is_empty() {
            return Ok(());
        }
        if self.products.iter().any(|sides| !(2..=MOST).contains(&sides.len())) {
            let what = format!("{} has a product of one factor, or of more than {MOST}", Parameter::Interact);
            return Err(Error::call(what, "multiply two or three namespaces or columns"));
        }
        let Some(mut names) = into.names.take() else {
            if into.rows.nonzeros() == 0 {
                return Ok(());
            }
            let what = format!("{} needs names, and {} has indices", Parameter::Interact, self.spec.name());
            return Err(Error::call(what, "give data with namespaces or columns"));
        };
        let known = Known::of(&names, self.spec, self.products);
        let mut ids: HashMap<[u32; MOST], u32> = HashMap::new();
        let (mut wide, lent) = (Parsed::default(), into.rows.borrow());
        let mut plain = Vec::new();
        for i in 0..lent.len() {
            self.row.clear();
            lent.for_each(i, |id, x| self.row.push((id as u32, x)));
            plain.clone_from(&self.row);
            plain.sort_unstable_by_key(|&(id, _)| known.rank[id as usize]);
            for (number, sides) in self.products.iter().enumerate() {
                let mut product = Product { known: &known, number, sides, row: &plain, chosen: [0; MOST] };
                product.multiply(0, 0, 1.0, &mut |factors, value| {
                    let mut key = [u32::MAX; MOST];
                    key[..factors.len()].copy_from_slice(factors);
                    let id = *ids.entry(key).or_insert_with(|| multiplied(&mut names, factors));
                    self.row.push((id, value));
                });
            }
            wide.push_row(&mut self.row).map_err(|_| {
                let place = Place::file(file).line(into.lines.of(i));
                Error::data(place, "a product of features is infinite", "scale the values down")
            })?;
        }
        into.rows = wide.rows;
        into.names = Some(names);
        Ok(())
    }
}

/// What is known of the names of a block.
struct Known {
    /// The namespace of each name, by number.
    space: Vec<u32>,
    /// The position of each name in alphabetical order.
    rank: Vec<u32>,
    /// For each product and each of its sides, the number of its namespace. `None` for any.
    sides: Vec<Vec<Option<u32>>>,
}

impl Known {
    fn of(names: &Vocabulary, spec: &FormatSpec, products: &[Vec<String>]) -> Known {
        let mut spaces = Vocabulary::default();
        let space = names.iter().map(|name| spaces.id(&spec.namespace(name))).collect();
        let mut order: Vec<u32> = (0..names.len() as u32).collect();
        order.sort_unstable_by_key(|&id| names.name(id));
        let mut rank = vec![0; names.len()];
        order.iter().zip(0..).for_each(|(&id, k)| rank[id as usize] = k);
        let mut side = |side: &String| (side != ANY).then(|| spaces.id(side));
        let sides = products.iter().map(|sides| sides.iter().map(&mut side).collect()).collect();
        Known { space, rank, sides }
    }
}

/// A product of several namespaces, in one row.
struct Product<'a> {
    known: &'a Known,
    number: usize,
    sides: &'a [String],
    row: &'a [(u32, f64)], // in the order of names
    chosen: [u32; MOST],
}

impl Product<'_> {
    /// Chooses the factor of each side from this one on, and calls `see` with all factors and their product. Features of
    /// the last side are at `from` or behind it, if this side is the same.
    fn multiply(&mut self, side: usize, from: usize, value: f64, see: &mut dyn FnMut(&[u32], f64)) {
        let sides = &self.known.sides[self.number];
        if side == sides.len() {
            return see(&self.chosen[..side], value);
        }
        let same = side > 0 && self.sides[side] == self.sides[side - 1];
        for at in if same { from } else { 0 }..self.row.len() {
            let (id, x) = self.row[at];
            if self.fits(side, id) {
                self.chosen[side] = id;
                self.multiply(side + 1, at, value * x, see);
            }
        }
    }

    /// Whether a feature is of this side. Any namespace is one that no other factor has.
    fn fits(&self, side: usize, id: u32) -> bool {
        let (sides, space) = (&self.known.sides[self.number], self.known.space[id as usize]);
        match sides[side] {
            Some(named) => named == space,
            None => {
                let named = sides.contains(&Some(space));
                let chosen =
                    self.chosen[..side].iter().any(|&other| self.known.space[other as usize] == space);
                !named && !chosen
            }
        }
    }
}

fn multiplied(names: &mut Vocabulary, factors: &[u32]) -> u32 {
    let mut name = String::new();
    if let Some((&last, others)) = factors.split_last() {
        others.iter().for_each(|&factor| push_part(&mut name, names.name(factor), '*'));
        push_last(&mut name, names.name(last), '*');
    }
    names.id(&name)
}
