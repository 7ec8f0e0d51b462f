//! Rows that cannot be read: those of many blocks are reported in one error, so that one attempt shows them all.

use super::Parsed;
use crate::util::error::{Error, Kind, Place, Result};

/// Number of problems that a message shows.
const SHOWN: usize = 5;
/// Number of kinds of problems, of each of which the first are kept.
const KINDS: usize = 8;
/// Number of blocks that are searched for more wrong rows, once one was found.
const FURTHER: usize = 16;

/// What is wrong with the rows of a block: the first problems of each kind, and how many there are.
///
/// ```
/// use lazyglm::{Error, Place};
/// use lazyglm::data::format::WrongRows;
/// let mut wrong = WrongRows::default();
/// for line in [3, 7] {
///     wrong.see(Error::data(Place::file("a.csv").line(line), "the row has no target", "give it one")).unwrap();
/// }
/// let error = wrong.result().unwrap_err().to_string();
/// assert_eq!(error, "a.csv:3: the row has no target; also a.csv:7: the row has no target; give it one");
/// ```
#[derive(Clone, Debug, Default)]
pub struct WrongRows {
    kept: Vec<Problem>, // in file order
    count: u64,
    last: u64, // the line of the last problem
}

/// One problem. Problems with the same hint are of one kind: the hint names the column, where one matters.
#[derive(Clone, Debug)]
struct Problem {
    place: Place,
    what: String,
    hint: String,
}

impl WrongRows {
    /// Records wrong data. Any other error is returned.
    #[cold]
    pub fn see(&mut self, error: Error) -> Result<()> {
        let Kind::Data { place, what, hint } = error.kind() else { return Err(error) };
        self.last = place.line.unwrap_or(0);
        self.count += 1;
        self.keep(Problem { place: place.clone(), what: what.clone(), hint: hint.clone() });
        Ok(())
    }

    fn keep(&mut self, problem: Problem) {
        let alike = self.kept.iter().filter(|known| known.hint == problem.hint).count();
        if alike < SHOWN && (alike > 0 || self.hints().len() < KINDS) {
            self.kept.push(problem);
        }
    }

    fn hints(&self) -> Vec<&str> {
        let mut hints: Vec<&str> = Vec::new();
        for problem in &self.kept {
            if !hints.contains(&problem.hint.as_str()) {
                hints.push(&problem.hint);
            }
        }
        hints
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// One error for all problems, or `Ok` if there are none.
    pub fn result(&self) -> Result<()> {
        let Some(first) = self.kept.first() else { return Ok(()) };
        // The first problem of each kind, then the others, up to so many.
        let of_kind = |hint: &&str| self.kept.iter().position(|problem| problem.hint == *hint);
        let mut shown: Vec<usize> = self.hints().iter().filter_map(of_kind).take(SHOWN).collect();
        let others = (0..self.kept.len()).filter(|k| !shown.contains(k)).take(SHOWN - shown.len());
        shown.extend(others.collect::<Vec<_>>());
        shown.sort_unstable();
        let mut what = first.what.clone();
        for (number, &k) in shown.iter().skip(1).enumerate() {
            let also = if number == 0 { "also " } else { "" };
            what += &format!("; {also}{}: {}", self.kept[k].place, self.kept[k].what);
        }
        if let more @ 1.. = self.count.saturating_sub(shown.len() as u64) {
            what += &format!("; and {more} more, the last in line {}", self.last);
        }
        let mut hints = self.hints();
        hints.truncate(SHOWN);
        Err(Error::data(first.place.clone(), what, hints.join("; ")))
    }

    fn move_down(&mut self, lines: u64) {
        self.kept
            .iter_mut()
            .filter_map(|problem| problem.place.line.as_mut())
            .for_each(|line| *line += lines);
        self.last += lines;
    }

    fn append(&mut self, more: WrongRows) {
        if !more.is_empty() {
            (self.count, self.last) = (self.count + more.count, more.last);
            more.kept.into_iter().for_each(|problem| self.keep(problem));
        }
    }
}

/// The wrong rows of the blocks of a file so far.
#[derive(Default)]
pub(crate) struct Gathered {
    rows: WrongRows,
    blocks: usize,
}

impl Gathered {
    /// Takes what parsing a block came to, `lines` down the file. Returns whether to use its rows.
    pub fn block(&mut self, parsed: &mut Parsed, done: Result<()>, lines: u64) -> Result<bool> {
        if let Err(error) = done {
            if parsed.wrong.is_empty() {
                self.rows.result()?;
                return Err(error.further_down(lines));
            }
            let mut found = std::mem::take(&mut parsed.wrong);
            found.move_down(lines);
            self.rows.append(found);
        }
        if self.rows.is_empty() {
            return Ok(true);
        }
        self.blocks += 1;
        if self.blocks > FURTHER { self.rows.result().map(|()| false) } else { Ok(false) }
    }

    /// The error at the end of the file, if rows are wrong.
    pub fn end(&self) -> Result<()> {
        self.rows.result()
    }
}
