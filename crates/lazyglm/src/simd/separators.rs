//! Finds the ends of words in a text.

/// Finds all bytes in `text[from..to]` that are a space, a control character, a colon or not ASCII. Writes
/// their positions to the start of `found` and returns their number.
pub(crate) fn separators(text: &[u8], from: usize, to: usize, found: &mut Vec<u32>) -> usize {
    if found.len() < to - from + 64 {
        found.resize(to - from + 64, 0);
    }
    #[cfg(target_arch = "x86_64")]
    if super::has_avx2() {
        // SAFETY: the line above has just detected these instructions on this processor.
        #[allow(unsafe_code)]
        return unsafe { avx2(text, from, to, found) };
    }
    scalar(text, from, to, 0, found)
}

/// Searches byte by byte, and writes positions after the first `count` entries of `found`.
fn scalar(text: &[u8], from: usize, to: usize, mut count: usize, found: &mut [u32]) -> usize {
    for (at, &byte) in text[..to].iter().enumerate().skip(from) {
        if byte <= b' ' || byte == b':' || byte >= 0x80 {
            found[count] = at as u32;
            count += 1;
        }
    }
    count
}

/// Searches 64 bytes at a time: computes a bit mask, then writes the positions of the set bits.
///
/// It always writes eight positions, whether or not there are as many, to avoid unpredictable branches.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn avx2(text: &[u8], from: usize, to: usize, found: &mut [u32]) -> usize {
    use std::arch::x86_64::{
        __m256i, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8, _mm256_movemask_epi8,
        _mm256_or_si256, _mm256_set1_epi8,
    };
    let (colon, space) = (_mm256_set1_epi8(b':' as i8), _mm256_set1_epi8(b' ' as i8));
    let marks = |bytes: &[u8; 32]| {
        // SAFETY: 32 bytes are read from an array of 32 bytes. The instruction needs no alignment.
        #[allow(unsafe_code)]
        let bytes = unsafe { _mm256_loadu_si256(bytes.as_ptr().cast::<__m256i>()) };
        let low = _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, space), bytes);
        let apart = _mm256_or_si256(_mm256_cmpeq_epi8(bytes, colon), low);
        _mm256_movemask_epi8(_mm256_or_si256(apart, bytes)) as u32 // the high bit marks bytes that are not ASCII
    };
    let (mut at, mut count) = (from, 0);
    let (chunks, rest) = text[from..to].as_chunks::<64>();
    for chunk in chunks {
        let (halves, _) = chunk.as_chunks::<32>();
        let mut bits = u64::from(marks(&halves[0])) | u64::from(marks(&halves[1])) << 32;
        let (ones, mut next) = (bits.count_ones() as usize, count);
        while let Some(eight) = found[next..].first_chunk_mut::<8>() {
            for place in eight {
                *place = at as u32 + bits.trailing_zeros();
                bits &= bits.wrapping_sub(1);
            }
            next += 8;
            if bits == 0 {
                break;
            }
        }
        count += ones;
        at += 64;
    }
    scalar(text, to - rest.len(), to, count, found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_those_a_slow_loop_finds() {
        let mut random = crate::util::random::Random::new(7);
        for _ in 0..3_000 {
            let dense = random.below(3);
            let byte = |random: &mut crate::util::random::Random| match dense {
                0 => random.bits() as u8,
                1 => b": "[random.below(2) as usize],
                _ => b"0123456789: .\n"[random.below(14) as usize],
            };
            let text: Vec<u8> = (0..random.below(400)).map(|_| byte(&mut random)).collect();
            let from = random.below(text.len() as u64 + 1) as usize;
            let to = from + random.below((text.len() - from) as u64 + 1) as usize;
            let (mut fast, mut slow) = (Vec::new(), vec![0; text.len()]);
            let fast_count = separators(&text, from, to, &mut fast);
            let slow_count = scalar(&text, from, to, 0, &mut slow);
            assert_eq!(fast[..fast_count], slow[..slow_count], "{text:?}");
        }
    }
}
