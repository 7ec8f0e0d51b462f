//! Splits a text into terms.
//!
//! The words are written into one buffer, ` don't panic `, with one space before, between and after them.
//! Every word n-gram, and every word with the spaces around it, is then a slice of that buffer, so no term is
//! copied.

use super::{Case, Grams, Norm, Text, Worth};
use crate::data::format::Parsed;
use crate::data::format::names::push_part;

/// Reusable buffers, so that terms need no allocations.
#[derive(Debug, Default)]
pub(in crate::data::format) struct Terms {
    prefix: String, // of all names: empty, or the column
    text: String,
    words: Vec<(usize, usize)>,
    /// Character boundaries of one word, including the spaces around it.
    chars: Vec<usize>,
    name: String,
    ids: Vec<u32>,
    repeats: Vec<f64>,
}

impl Terms {
    /// Appends each distinct term of a cell, with its value, to `pairs`. The names of terms begin with that of the column.
    pub fn of_column(
        &mut self,
        column: &str,
        text: &str,
        spec: &Text,
        into: &mut Parsed,
        pairs: &mut Vec<(u32, f64)>,
    ) {
        self.prefix.clear();
        push_part(&mut self.prefix, column, '=');
        self.of(text, spec, into, pairs);
        self.prefix.clear();
    }

    /// Appends each distinct term of a text, with its value, to `pairs`.
    pub fn of(&mut self, text: &str, spec: &Text, into: &mut Parsed, pairs: &mut Vec<(u32, f64)>) {
        self.split(text, spec.case);
        self.ids.clear();
        if let Some(grams) = spec.words {
            self.word_grams(grams, into);
            if spec.skip > 0 {
                self.skip_grams(grams, spec.skip, into);
            }
        }
        if let Some(grams) = spec.chars {
            self.char_grams(grams, into);
        }
        self.count(spec, pairs);
    }

    /// Fills the buffer. An apostrophe is part of a word if it stands between letters or digits.
    fn split(&mut self, text: &str, case: Case) {
        let Terms { text: buffer, words, .. } = self;
        buffer.clear();
        words.clear();
        buffer.push(' ');
        let (mut start, mut inside, mut apostrophe) = (1, false, false);
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let plain = rest.bytes().take_while(u8::is_ascii_alphanumeric).count(); // fast path for most words
            let (piece, behind) = rest.split_at(if plain > 0 { plain } else { c.len_utf8() });
            rest = behind;
            if plain > 0 || c.is_alphanumeric() {
                if apostrophe {
                    buffer.push('\'');
                }
                (inside, apostrophe) = (true, false);
                match case {
                    Case::Lower if plain == 0 => buffer.extend(c.to_lowercase()),
                    _ => buffer.push_str(piece),
                }
            } else if inside && !apostrophe && matches!(c, '\'' | '’') {
                apostrophe = true; // if a letter or digit follows
            } else if inside {
                words.push((start, buffer.len()));
                buffer.push(' ');
                (start, inside, apostrophe) = (buffer.len(), false, false);
            }
        }
        if inside {
            words.push((start, buffer.len()));
            buffer.push(' ');
        }
        if case == Case::Lower {
            buffer.make_ascii_lowercase();
        }
    }

    fn word_grams(&mut self, grams: Grams, into: &mut Parsed) {
        for (k, &(start, _)) in self.words.iter().enumerate() {
            let last = self.words.iter().skip(k).take(grams.to);
            for &(_, end) in last.skip(grams.from.saturating_sub(1)) {
                let term = &self.text[start..end];
                if self.prefix.is_empty() {
                    self.ids.push(into.name(term));
                    continue;
                }
                self.name.clear();
                self.name.push_str(&self.prefix);
                self.name.push_str(term);
                self.ids.push(into.name(&self.name));
            }
        }
    }

    /// The word n-grams in which some words are left out, at most `skip` in each. Their names are those of n-grams
    /// without gaps.
    fn skip_grams(&mut self, grams: Grams, skip: usize, into: &mut Parsed) {
        let Terms { prefix, text, words, name, ids, .. } = self;
        let mut chosen: Vec<(usize, usize)> = Vec::new(); // the number of a word, and of words left out up to it
        for first in 0..words.len() {
            chosen.push((first, 0));
            let mut next = first + 1;
            while let Some(&(last, left_out)) = chosen.last() {
                let gap = next.saturating_sub(last + 1);
                if chosen.len() == grams.to || next >= words.len() || left_out + gap > skip {
                    chosen.pop();
                    next = last + 1;
                    continue;
                }
                chosen.push((next, left_out + gap));
                next += 1;
                if left_out + gap > 0 && chosen.len() >= grams.from {
                    name.clone_from(prefix);
                    for (k, &(word, _)) in chosen.iter().enumerate() {
                        name.push_str(if k > 0 { " " } else { "" });
                        name.push_str(&text[words[word].0..words[word].1]);
                    }
                    ids.push(into.name(name));
                }
            }
        }
    }

    /// The character n-grams of each word with the spaces around it. A word shorter than an n-gram is one
    /// term.
    fn char_grams(&mut self, grams: Grams, into: &mut Parsed) {
        for &(start, end) in &self.words {
            let word = &self.text[start - 1..end + 1];
            self.chars.clear();
            self.chars.extend(word.char_indices().map(|(at, _)| at).chain([word.len()]));
            for n in grams.from.max(1)..=grams.to {
                let n = n.min(self.chars.len() - 1);
                for (&from, &to) in self.chars.iter().zip(self.chars.iter().skip(n)) {
                    self.name.clear();
                    self.name.push_str(&self.prefix);
                    self.name.push('~');
                    self.name.push_str(&word[from..to]);
                    self.ids.push(into.name(&self.name));
                }
                if n == self.chars.len() - 1 {
                    break;
                }
            }
        }
    }

    /// Counts the terms and computes their values.
    ///
    /// Ids of terms differ between blocks. So the norm of the row is summed in an order that does not depend
    /// on ids: terms of value 1 first, then the others sorted by value.
    fn count(&mut self, spec: &Text, pairs: &mut Vec<(u32, f64)>) {
        let before = pairs.len();
        self.repeats.clear();
        self.ids.sort_unstable();
        for same in self.ids.chunk_by(|a, b| a == b) {
            let tf = same.len() as f64;
            let worth = match spec.value {
                _ if same.len() == 1 => 1.0,
                Worth::Tf => tf,
                Worth::Binary => 1.0,
                Worth::Sublinear => 1.0 + tf.ln(),
            };
            if worth != 1.0 {
                self.repeats.push(worth);
            }
            pairs.push((same[0], worth));
        }
        let pairs = &mut pairs[before..];
        let before_idf = !spec.idf || !self.prefix.is_empty(); // other columns are no part of the norm
        if spec.norm == Norm::L2 && before_idf && !pairs.is_empty() {
            self.repeats.sort_unstable_by(f64::total_cmp);
            let ones = (pairs.len() - self.repeats.len()) as f64;
            let length = self.repeats.iter().fold(ones, |sum, worth| sum + worth * worth).sqrt();
            pairs.iter_mut().for_each(|(_, value)| *value /= length);
        }
    }
}
