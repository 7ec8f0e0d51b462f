//! Compact encodings of arrays of numbers, decoded bit for bit.
//!
//! - Integers take 1, 2 or 4 bytes each, whichever makes the array shortest. A larger number is written as
//!   all ones, and follows in a list of four-byte numbers.
//! - Real numbers use the first encoding that applies: nothing if all are 1; one byte each, into a table of
//!   up to 256 values; integers m of 2 or 4 bytes if every value is m/10ᵏ; `f32` if exact; `f64`.
//!
//! Decimal text is parsed as m/10ᵏ with one correctly rounded division. So numbers with few digits take few
//! bytes and decode to the same bits.

mod wholes;

use wholes::Wholes;

/// Encodes arrays of numbers into a byte buffer.
#[derive(Default)]
pub(super) struct Writer {
    pub bytes: Vec<u8>,
}

/// Decodes arrays of numbers. Returns `None` if the bytes were not written by a [`Writer`].
pub(super) struct Reader<'a> {
    pub bytes: &'a [u8],
}

const ONES: u8 = 0;
const TABLE: u8 = 1;
const TENTHS_2: u8 = 2;
const TENTHS_4: u8 = 3;
const SINGLE: u8 = 4;
const DOUBLE: u8 = 5;

/// Maximum number of decimals tried for the m/10ᵏ encoding.
const DECIMALS: u8 = 9;

impl Writer {
    pub fn number(&mut self, number: u64) {
        self.bytes.extend(number.to_le_bytes());
    }

    /// Encodes an array of unsigned integers.
    pub fn wholes(&mut self, numbers: &[u32]) {
        self.number(numbers.len() as u64);
        let large = |most: u32| numbers.iter().filter(|&&number| number >= most).count();
        let sizes = [
            (1, numbers.len() + 4 * large(0xff)),
            (2, 2 * numbers.len() + 4 * large(0xffff)),
            (4, 4 * numbers.len()),
        ];
        let (width, _) = sizes.into_iter().min_by_key(|&(_, size)| size).unwrap_or((4, 0));
        self.bytes.push(width);
        let mut rest: Vec<u32> = Vec::new();
        let mut cut = |number: u32, most: u32| {
            if number >= most {
                rest.push(number);
            }
            number.min(most)
        };
        match width {
            1 => self.bytes.extend(numbers.iter().map(|&number| cut(number, 0xff) as u8)),
            2 => self
                .bytes
                .extend(numbers.iter().flat_map(|&number| (cut(number, 0xffff) as u16).to_le_bytes())),
            _ => self.bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes())),
        }
        self.number(rest.len() as u64);
        self.bytes.extend(rest.iter().flat_map(|number| number.to_le_bytes()));
    }

    /// Encodes an array of finite real numbers.
    pub fn reals(&mut self, numbers: &[f64]) {
        self.number(numbers.len() as u64);
        if numbers.iter().all(|number| *number == 1.0) {
            return self.bytes.push(ONES);
        }
        if let Some((table, codes)) = table(numbers) {
            self.bytes.extend([TABLE, (table.len() - 1) as u8]);
            self.bytes.extend(table.iter().flat_map(|number| number.to_le_bytes()));
            return self.bytes.extend(codes);
        }
        if let Some((decimals, wholes)) = tenths(numbers) {
            let short = wholes.iter().all(|&whole| i16::try_from(whole).is_ok());
            self.bytes.extend([if short { TENTHS_2 } else { TENTHS_4 }, decimals]);
            return match short {
                true => self.bytes.extend(wholes.iter().flat_map(|&whole| (whole as i16).to_le_bytes())),
                false => self.bytes.extend(wholes.iter().flat_map(|whole| whole.to_le_bytes())),
            };
        }
        if numbers.iter().all(|&number| f64::from(number as f32) == number) {
            self.bytes.push(SINGLE);
            return self.bytes.extend(numbers.iter().flat_map(|&number| (number as f32).to_le_bytes()));
        }
        self.bytes.push(DOUBLE);
        self.bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    }
}

/// A table of up to 256 distinct values, and the table index of each number.
fn table(numbers: &[f64]) -> Option<(Vec<f64>, Vec<u8>)> {
    let mut places: hashbrown::HashMap<u64, u8> = hashbrown::HashMap::new();
    let (mut table, mut codes) = (Vec::new(), Vec::with_capacity(numbers.len()));
    let (mut last, mut code) = (f64::NAN, 0);
    for &number in numbers {
        if number.to_bits() != last.to_bits() {
            code = match places.get(&number.to_bits()) {
                Some(&code) => code,
                None if table.len() == 256 => return None,
                None => {
                    places.insert(number.to_bits(), table.len() as u8);
                    table.push(number);
                    (table.len() - 1) as u8
                }
            };
            last = number;
        }
        codes.push(code);
    }
    Some((table, codes))
}

/// Returns k and the integers m for which m/10ᵏ equals each number, bit for bit.
fn tenths(numbers: &[f64]) -> Option<(u8, Vec<i32>)> {
    let whole = |number: f64, power: f64| {
        let whole = (number * power).round();
        let same = (whole / power).to_bits() == number.to_bits() && whole.abs() <= f64::from(i32::MAX);
        same.then_some(whole as i32)
    };
    let mut decimals = 0;
    for &number in numbers {
        while whole(number, power(decimals)).is_none() {
            decimals += 1;
            if decimals > DECIMALS {
                return None;
            }
        }
    }
    // A number of the form m/10² is also 10m/10³, unless 10m overflows.
    let wholes: Option<Vec<i32>> = numbers.iter().map(|&number| whole(number, power(decimals))).collect();
    wholes.map(|wholes| (decimals, wholes))
}

fn power(decimals: u8) -> f64 {
    10f64.powi(i32::from(decimals)) // exact up to 10²²
}

impl<'a> Reader<'a> {
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub fn number(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn count(&mut self) -> Option<usize> {
        self.number()?.try_into().ok()
    }

    /// Decodes an array of unsigned integers and appends them to `into`.
    pub fn wholes(&mut self, into: &mut Vec<u32>) -> Option<()> {
        let (wholes, before) = (self.encoded_wholes()?, into.len());
        into.resize(before + wholes.count, 0); // bytes stand behind this count
        wholes.decode(&mut into[before..])
    }

    /// Decodes an array of unsigned integers to its place, whose length it must have.
    pub fn wholes_to(&mut self, to: &mut [u32]) -> Option<()> {
        self.encoded_wholes().filter(|wholes| wholes.count == to.len())?.decode(to)
    }

    fn encoded_wholes(&mut self) -> Option<Wholes<'a>> {
        let count = self.count()?;
        let width = self.byte().filter(|width| [1, 2, 4].contains(width))?;
        let body = self.take(count.checked_mul(usize::from(width))?)?;
        let large = self.count()?;
        let large = self.take(large.checked_mul(4)?)?.as_chunks::<4>().0;
        Some(Wholes { count, width, body, large })
    }

    /// Decodes `count` real numbers and appends them to `into`.
    pub fn reals(&mut self, count: usize, into: &mut Vec<f64>) -> Option<()> {
        let before = into.len();
        into.resize(before + count, 0.0);
        self.reals_to(&mut into[before..], |x| (x, true))
    }

    /// Decodes real numbers to their place, whose length their array must have. `of` converts a number, and says whether it may.
    pub fn reals_to<T: Copy>(&mut self, to: &mut [T], of: impl Fn(f64) -> (T, bool)) -> Option<()> {
        if self.count()? != to.len() {
            return None;
        }
        match self.byte()? {
            ONES => {
                let (one, fine) = of(1.0);
                to.fill(one);
                fine.then_some(())
            }
            TABLE => {
                let length = usize::from(self.byte()?) + 1;
                let (mut table, mut fine) = ([of(1.0).0; 256], true);
                for (x, eight) in table.iter_mut().zip(self.take(8 * length)?.as_chunks::<8>().0) {
                    let (converted, may) = of(f64::from_le_bytes(*eight));
                    (*x, fine) = (converted, fine & may);
                }
                let codes = self.take(to.len())?;
                let largest = codes.iter().fold(0, |most: u8, &code| most.max(code));
                to.iter_mut().zip(codes).for_each(|(x, &code)| *x = table[usize::from(code)]);
                (fine && usize::from(largest) < length).then_some(())
            }
            kind @ (TENTHS_2 | TENTHS_4) => {
                let power = Some(self.byte()?).filter(|&decimals| decimals <= DECIMALS).map(power)?;
                match kind {
                    TENTHS_2 => self.each(to, |two| of(f64::from(i16::from_le_bytes(two)) / power)),
                    _ => self.each(to, |four| of(f64::from(i32::from_le_bytes(four)) / power)),
                }
            }
            SINGLE => self.each(to, |four| of(f64::from(f32::from_le_bytes(four)))),
            DOUBLE => self.each(to, |eight| of(f64::from_le_bytes(eight))),
            _ => None,
        }
    }

    /// Decodes numbers of N bytes.
    fn each<T, const N: usize>(&mut self, to: &mut [T], of: impl Fn([u8; N]) -> (T, bool)) -> Option<()> {
        let numbers = self.take(to.len().checked_mul(N)?)?.as_chunks::<N>().0;
        // Without an early exit, the compiler can vectorise the loop.
        let fine = to.iter_mut().zip(numbers).fold(true, |fine, (x, bytes)| {
            let (converted, may) = of(*bytes);
            *x = converted;
            fine & may
        });
        fine.then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Encodes integers. Returns the bytes and the result of decoding them.
    fn wholes_through(numbers: &[u32]) -> (Vec<u8>, Option<Vec<u32>>) {
        let mut to = Writer::default();
        to.wholes(numbers);
        let (mut back, mut from) = (Vec::new(), Reader { bytes: &to.bytes });
        let fine = from.wholes(&mut back).is_some() && from.bytes.is_empty();
        (to.bytes.clone(), fine.then_some(back))
    }

    fn reals_through(numbers: &[f64]) -> (Vec<u8>, Option<Vec<u64>>) {
        let mut to = Writer::default();
        to.reals(numbers);
        let (mut back, mut from) = (Vec::new(), Reader { bytes: &to.bytes });
        let fine = from.reals(numbers.len(), &mut back).is_some() && from.bytes.is_empty();
        (to.bytes.clone(), fine.then(|| bits(&back)))
    }

    fn bits(numbers: &[f64]) -> Vec<u64> {
        numbers.iter().map(|number| number.to_bits()).collect()
    }

    /// Integers near the limits of each width, and arbitrary ones.
    fn whole() -> impl Strategy<Value = u32> {
        let limits = [0, 1, 0xfd, 0xfe, 0xff, 0x100, 0xfffe, 0xffff, 0x1_0000, u32::MAX - 1, u32::MAX];
        prop_oneof![0u32..400, prop::sample::select(limits.to_vec()), any::<u32>()]
    }

    /// Finite numbers of every magnitude. −0 is excluded because it is never written.
    fn real() -> impl Strategy<Value = f64> {
        let finite = any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |x| x.is_finite());
        let edges = [1.0, 0.1, 0.3, 2147483647.0, 2147483648.0, -2147483648.0, 214748364.8, 3.5e38, 5e-324];
        prop_oneof![
            finite,
            any::<i32>().prop_map(f64::from),
            prop::sample::select(edges.to_vec()),
            any::<u32>()
                .prop_map(|bits| f64::from(f32::from_bits(bits)))
                .prop_filter("finite", |x| x.is_finite()),
            (any::<i32>(), 0u8..12).prop_map(|(m, k)| f64::from(m) / power(k)),
        ]
        .prop_map(|x| x + 0.0)
    }

    proptest! {
        #[test]
        fn whole_numbers_come_back(numbers in prop::collection::vec(whole(), 0..600)) {
            prop_assert_eq!(wholes_through(&numbers).1, Some(numbers));
        }

        #[test]
        fn reals_of_any_kind_come_back_bit_for_bit(numbers in prop::collection::vec(real(), 0..600)) {
            prop_assert_eq!(reals_through(&numbers).1, Some(bits(&numbers)));
        }

        #[test]
        fn decimals_come_back_bit_for_bit(
            wholes in prop::collection::vec((any::<i32>(), 0u32..31), 257..700),
            decimals in 0u8..11,
        ) {
            let numbers: Vec<f64> =
                wholes.iter().map(|&(m, small)| f64::from(m >> small) / power(decimals) + 0.0).collect();
            prop_assert_eq!(reals_through(&numbers).1, Some(bits(&numbers)));
        }

        #[test]
        fn singles_come_back_bit_for_bit(numbers in prop::collection::vec(any::<u32>(), 257..700)) {
            let numbers: Vec<f64> = numbers
                .into_iter()
                .map(|bits| f64::from(f32::from_bits(bits)) + 0.0)
                .filter(|number| number.is_finite())
                .collect();
            prop_assert_eq!(reals_through(&numbers).1, Some(bits(&numbers)));
        }

        #[test]
        fn bytes_that_nobody_wrote_neither_panic_nor_ask_for_much(
            mut bytes in prop::collection::vec(any::<u8>(), 0..300),
            count in prop_oneof![0u64..300, any::<u64>()],
            kind in 0u8..8,
        ) {
            // Prepends a count and a kind that a writer would usually produce.
            bytes.splice(..0, count.to_le_bytes().into_iter().chain([kind]));
            let mut seen = Vec::new();
            let _ = Reader { bytes: &bytes }.wholes(&mut seen);
            prop_assert!(seen.len() <= bytes.len() && seen.capacity() <= 2 * bytes.len().max(4));
            let mut numbers = Vec::new();
            let expected = count.min(300) as usize; // a caller knows the expected count
            let _ = Reader { bytes: &bytes }.reals(expected, &mut numbers);
            prop_assert!(numbers.len() <= expected && numbers.capacity() <= 2 * expected.max(4));
        }

        #[test]
        fn what_is_cut_short_is_refused(numbers in prop::collection::vec(real(), 1..40), cut in any::<usize>()) {
            let (bytes, _) = reals_through(&numbers);
            let short = &bytes[..cut % bytes.len()];
            let read = Reader { bytes: short }.reals(numbers.len(), &mut Vec::new());
            prop_assert_eq!(read, None);
            let wholes: Vec<u32> = numbers.iter().map(|x| x.to_bits() as u32).collect();
            let (bytes, _) = wholes_through(&wholes);
            let read = Reader { bytes: &bytes[..cut % bytes.len()] }.wholes(&mut Vec::new());
            prop_assert_eq!(read, None);
        }
    }

    #[test]
    fn each_kind_of_reals_takes_the_bytes_its_table_says() {
        let head = 9; // the count and the kind
        let length = |numbers: Vec<f64>| reals_through(&numbers).0.len() - head;
        let many = |one: &dyn Fn(usize) -> f64| (0..1000).map(one).collect::<Vec<f64>>();
        assert_eq!(length(vec![]), 0);
        assert_eq!(length(many(&|_| 1.0)), 0);
        assert_eq!(length(many(&|k| (k % 256) as f64 / 3.0)), 1 + 256 * 8 + 1000);
        assert_eq!(length(many(&|k| k as f64 / 100.0)), 1 + 2000);
        assert_eq!(length(many(&|k| 1000.0 * k as f64 / 100.0 + 0.01)), 1 + 4000);
        assert_eq!(length(many(&|k| f64::from(k as f32 / 3.0))), 4000);
        assert_eq!(length(many(&|k| k as f64 / 3.0)), 8000);
    }

    #[test]
    fn whole_numbers_take_the_least_of_three_widths() {
        let length = |numbers: Vec<u32>| wholes_through(&numbers).0.len() - 17;
        assert_eq!(length((0..255).collect()), 255);
        assert_eq!(length((0..256).collect()), 256 + 4);
        assert_eq!(length((1000..2000).collect()), 2000);
        assert_eq!(length((100_000..101_000).collect()), 4000);
    }
}
