//! Parses numbers eight bytes at a time with integer arithmetic. No branches depend on the digits, so a core
//! can work on several words at once.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The eight bytes before `end` minus `0` each, the last byte in the highest place. Bytes before `start` are
/// zero. The word must have one to eight bytes.
#[inline(always)]
fn word(text: &[u8], start: usize, end: usize) -> Option<u64> {
    let bytes: [u8; 8] = text.get(end.wrapping_sub(8)..end)?.try_into().ok()?;
    let spare = (8 * (8 - (end - start))) as u32;
    Some((u64::from_le_bytes(bytes) ^ (ONES * u64::from(b'0'))) >> spare << spare)
}

/// The value of eight digits, the last digit in the highest place, or `None` if a byte is not a digit.
#[inline(always)]
fn number(digits: u64) -> Option<u64> {
    let wrong = (digits | digits.wrapping_add(ONES * 0x76)) & HIGH;
    let pairs = digits.wrapping_mul(10 * (1 << 8) + 1) >> 8 & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100 * (1 << 16) + 1) >> 16 & 0x0000_ffff_0000_ffff;
    let eight = fours.wrapping_mul(10_000 * (1 << 32) + 1) >> 32;
    (wrong == 0).then_some(eight)
}

/// Parses all of `text[start..end]` as an integer of up to eight digits.
#[inline(always)]
pub(crate) fn whole_in(text: &[u8], start: usize, end: usize) -> Option<u64> {
    if end <= start || end - start > 8 {
        return None;
    }
    number(word(text, start, end)?)
}

/// Parses a colon and one digit from 1 to 9, the most frequent form of a value.
#[inline(always)]
pub(crate) fn count_in(text: &[u8], colon: usize) -> Option<f64> {
    let bytes: [u8; 2] = text.get(colon..colon + 2)?.try_into().ok()?;
    let beyond = u16::from_be_bytes(bytes).wrapping_sub(u16::from_be_bytes(*b":1")); // above 8 for any other colon or digit
    (beyond < 9).then(|| f64::from(beyond + 1))
}

/// Parses all of `text[start..end]` as a decimal number of up to eight bytes, without sign and exponent.
///
/// The result has the same bits as the standard library's, because fewer than 16 digits are divided once by
/// an exact power of ten.
#[inline(always)]
pub(crate) fn decimal_in(text: &[u8], start: usize, end: usize) -> Option<f64> {
    if end <= start || end - start > 8 {
        return None;
    }
    if end - start == 1 {
        let digit = text[start].wrapping_sub(b'0'); // one-digit counts are the next most frequent form
        return (digit < 10).then_some(f64::from(digit));
    }
    let digits = word(text, start, end)?;
    if digits & 0xffff == u64::from(b'.' ^ b'0') << 8 && end - start == 8 {
        // Most programs print values below one as 0.dddddd. Guessing that form avoids a search for the point.
        return number(digits >> 16 << 16).map(|whole| whole as f64 / POWERS[6]);
    }
    let from_point = digits ^ (ONES * u64::from(b'.' ^ b'0'));
    let point = !((from_point & !HIGH).wrapping_add(!HIGH) | from_point) & HIGH;
    if point == 0 {
        return number(digits).map(|whole| whole as f64);
    }
    // Move the digits before the point over the point, so that only digits are left.
    let place = point.trailing_zeros() / 8;
    if place == 7 || point & (point - 1) != 0 {
        return None; // the point is last, or there is more than one
    }
    let before = digits & ((1 << (8 * place)) - 1);
    let behind = digits >> (8 * place + 8) << (8 * place + 8);
    Some(number(before << 8 | behind)? as f64 / POWERS[7 - place as usize])
}

const POWERS: [f64; 8] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_a_colon_and_a_digit_above_zero() {
        for (first, second) in (0..=255).flat_map(|first| (0..=255).map(move |second| (first, second))) {
            let expected =
                (first == b':' && (b'1'..=b'9').contains(&second)).then(|| f64::from(second - b'0'));
            assert_eq!(count_in(&[b'7', first, second], 1), expected, "{first} {second}");
        }
        assert_eq!(count_in(b":", 0), None);
    }

    #[test]
    fn numbers_are_those_of_the_standard_library() {
        let mut random = crate::util::random::Random::new(7);
        let alphabet = b"0123456789.-e:x ";
        for _ in 0..200_000 {
            let length = 1 + random.below(8) as usize;
            let mostly = if random.below(4) == 0 { alphabet.len() } else { 11 };
            let word: String =
                (0..length).map(|_| alphabet[random.below(mostly as u64) as usize] as char).collect();
            let text = format!("1 3:14159{word}");
            let (start, end) = (9, text.len());
            if let Some(value) = decimal_in(text.as_bytes(), start, end) {
                assert_eq!(word.parse::<f64>().map(f64::to_bits), Ok(value.to_bits()), "{word}");
            } else {
                let plain = word.bytes().all(|b| b.is_ascii_digit() || b == b'.');
                let usual = plain && word.matches('.').count() <= 1 && !word.ends_with('.');
                assert!(!usual, "{word}");
            }
            assert_eq!(
                whole_in(text.as_bytes(), start, end),
                word.parse().ok().filter(|_| !word.contains('+')),
                "{word}"
            );
        }
    }
}
