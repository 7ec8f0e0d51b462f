//! The state of a run as plain bytes: one description of the fields of a type both writes and reads them.
//!
//! ```
//! use lazyglm::util::state::{Fields, State};
//! #[derive(Default)]
//! struct Mean { sum: f64, count: u64 }
//! impl State for Mean {
//!     fn fields(&mut self, fields: &mut Fields) {
//!         self.sum.fields(fields);
//!         self.count.fields(fields);
//!         fields.require(self.sum.is_finite());
//!     }
//! }
//! let bytes = Fields::write(&mut Mean { sum: 6.0, count: 3 }).unwrap();
//! let mut mean = Mean::default();
//! assert!(Fields::read(&bytes, &mut mean) && (mean.sum, mean.count) == (6.0, 3));
//! assert!(!Fields::read(&bytes[1..], &mut mean), "a byte is missing");
//! ```
//!
//! Numbers are little-endian with all their bits. A list begins with its length. Reading never reserves more memory than the
//! bytes hold, and never panics: whatever does not fit makes [`Fields::read`] return false.

/// Something whose state can be written and read.
pub trait State {
    /// Writes all fields, or replaces them by those that are read. The order of fields is the format.
    fn fields(&mut self, fields: &mut Fields);
}

/// The bytes of a state while it is written or read.
pub struct Fields<'a> {
    way: Way<'a>,
    fits: bool,
    columns: usize, // the limit of columns of weights
}

enum Way<'a> {
    Write(Vec<u8>),
    Read(&'a [u8]),
}

impl Fields<'_> {
    /// The state as bytes; `None` if a part of it cannot be written.
    pub fn write(state: &mut (impl State + ?Sized)) -> Option<Vec<u8>> {
        let mut fields = Fields { way: Way::Write(Vec::new()), fits: true, columns: usize::MAX };
        state.fields(&mut fields);
        match fields.way {
            Way::Write(bytes) if fields.fits => Some(bytes),
            _ => None,
        }
    }

    /// Reads a state; false if the bytes are not those of such a state, which then may be read in part.
    pub fn read(bytes: &[u8], state: &mut (impl State + ?Sized)) -> bool {
        Fields::read_within(bytes, usize::MAX, state)
    }

    /// The same, with so many columns of weights: a higher column is refused.
    pub fn read_within(bytes: &[u8], columns: usize, state: &mut (impl State + ?Sized)) -> bool {
        let mut fields = Fields { way: Way::Read(bytes), fits: true, columns };
        state.fields(&mut fields);
        fields.fits && matches!(fields.way, Way::Read([]))
    }

    /// Whether the state is being read.
    pub fn is_reading(&self) -> bool {
        matches!(self.way, Way::Read(_))
    }

    /// The number of columns of weights, as far as it is known.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Refuses a state that breaks a rule of its type.
    pub fn require(&mut self, rule: bool) {
        self.fits &= rule;
    }

    /// Refuses a type whose state cannot be written.
    pub fn refuse(&mut self) {
        self.fits = false;
    }

    /// A slice whose length is known: it must be the same when it is read.
    pub fn fixed<T: State>(&mut self, items: &mut [T]) {
        let mut length = items.len() as u64;
        length.fields(self);
        self.require(length == items.len() as u64);
        for item in items {
            if !self.fits {
                return;
            }
            item.fields(self);
        }
    }

    /// Ids that are all below a limit.
    pub fn ids(&mut self, ids: &mut Vec<u32>, limit: usize) {
        ids.fields(self);
        let fit = ids.iter().all(|&id| (id as usize) < limit);
        self.require(fit);
    }

    fn bytes<const N: usize>(&mut self, written: [u8; N]) -> [u8; N] {
        match &mut self.way {
            Way::Write(bytes) => bytes.extend_from_slice(&written),
            Way::Read(bytes) => match bytes.split_first_chunk() {
                Some((read, rest)) if self.fits => {
                    *bytes = rest;
                    return *read;
                }
                _ => self.fits = false,
            },
        }
        written
    }
}

macro_rules! numbers {
    ($($number:ty)*) => {
        $(impl State for $number {
            fn fields(&mut self, fields: &mut Fields) {
                *self = <$number>::from_le_bytes(fields.bytes(self.to_le_bytes()));
            }
        })*
    };
}

numbers!(u8 u32 u64 i32 f32 f64);

impl State for usize {
    fn fields(&mut self, fields: &mut Fields) {
        let mut number = *self as u64;
        number.fields(fields);
        match usize::try_from(number) {
            Ok(number) => *self = number,
            Err(_) => fields.refuse(),
        }
    }
}

impl State for bool {
    fn fields(&mut self, fields: &mut Fields) {
        let mut byte = u8::from(*self);
        byte.fields(fields);
        fields.require(byte <= 1);
        *self = byte == 1;
    }
}

impl<T: State, const N: usize> State for [T; N] {
    fn fields(&mut self, fields: &mut Fields) {
        self.iter_mut().for_each(|item| item.fields(fields));
    }
}

impl<A: State, B: State> State for (A, B) {
    fn fields(&mut self, fields: &mut Fields) {
        self.0.fields(fields);
        self.1.fields(fields);
    }
}

impl<A: State, B: State, C: State> State for (A, B, C) {
    fn fields(&mut self, fields: &mut Fields) {
        self.0.fields(fields);
        self.1.fields(fields);
        self.2.fields(fields);
    }
}

impl<T: State + Default> State for Option<T> {
    fn fields(&mut self, fields: &mut Fields) {
        let mut some = self.is_some();
        some.fields(fields);
        match some {
            true => self.get_or_insert_default().fields(fields),
            false => *self = None,
        }
    }
}

impl<T: State + Default> State for Vec<T> {
    fn fields(&mut self, fields: &mut Fields) {
        let mut length = self.len() as u64;
        length.fields(fields);
        if !fields.is_reading() {
            return self.iter_mut().for_each(|item| item.fields(fields));
        }
        self.clear();
        for _ in 0..length {
            let mut item = T::default();
            item.fields(fields);
            if !fields.fits {
                return; // a length beyond the bytes ends here
            }
            self.push(item);
        }
    }
}

impl State for String {
    fn fields(&mut self, fields: &mut Fields) {
        let mut bytes = std::mem::take(self).into_bytes();
        bytes.fields(fields);
        match String::from_utf8(bytes) {
            Ok(text) => *self = text,
            Err(_) => fields.refuse(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_reads_back_with_its_bits_and_hostile_bytes_are_refused() {
        type Sample = (Vec<f64>, Option<String>, [bool; 2]);
        let mut state: Sample = (vec![f64::NAN, -0.0, 1e-310], Some("λ".into()), [true, false]);
        let bytes = Fields::write(&mut state).unwrap();
        let mut read = Sample::default();
        assert!(Fields::read(&bytes, &mut read));
        assert_eq!(
            read.0.iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
            state.0.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
        );
        assert_eq!((read.1, read.2), (state.1, state.2));
        for end in 0..bytes.len() {
            assert!(!Fields::read(&bytes[..end], &mut Sample::default()), "cut at {end}");
        }
        let mut endless = bytes.clone();
        endless[..8].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(!Fields::read(&endless, &mut Sample::default()), "a length beyond the bytes");
        assert!(!Fields::read(&[&bytes[..], &[0]].concat(), &mut Sample::default()), "a byte too many");
        assert!(!Fields::read(&[2], &mut false), "a bool of 2");
    }
}
