//! A sparse array of numbers, one per hash bucket, that allocates memory only where a number is not zero.

/// Number of buckets per page.
const PAGE: usize = 256;

/// A vector of zeros whose pages are allocated on first write.
#[derive(Clone, Debug)]
pub(super) struct Marks {
    pages: Vec<Option<Box<[u32; PAGE]>>>,
    count: usize,
}

impl Marks {
    /// An array of `count` zeros.
    pub fn new(count: usize) -> Marks {
        Marks { pages: vec![None; count.div_ceil(PAGE)], count }
    }

    /// The number of a bucket, or zero if the bucket is out of range.
    pub fn get(&self, bucket: u32) -> u32 {
        let (page, place) = (bucket as usize / PAGE, bucket as usize % PAGE);
        self.pages.get(page).and_then(Option::as_ref).map_or(0, |page| page[place])
    }

    /// A mutable reference to the number of a bucket, or `None` if the bucket is out of range.
    pub fn get_mut(&mut self, bucket: u32) -> Option<&mut u32> {
        let (page, place) = (bucket as usize / PAGE, bucket as usize % PAGE);
        let page = if (bucket as usize) < self.count { self.pages.get_mut(page)? } else { return None };
        Some(&mut page.get_or_insert_with(|| Box::new([0; PAGE]))[place])
    }

    /// The buckets whose number is `mark`, in ascending order. `mark` must not be zero.
    pub fn with(&self, mark: u32) -> impl Iterator<Item = u32> + '_ {
        let made = self.pages.iter().enumerate().filter_map(|(k, page)| Some((k, page.as_ref()?)));
        made.flat_map(move |(k, page)| {
            let places = (0..PAGE).filter(move |&place| page[place] == mark);
            places.map(move |place| (k * PAGE + place) as u32)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_vector_of_zeros_that_can_be_written_to() {
        for count in [2, 255, 256, 1000] {
            let (mut marks, mut plain) = (Marks::new(count), vec![0u32; count]);
            for bucket in [0, 1, 254, 255, 256, 511, 999, 1000, u32::MAX] {
                let written = marks.get_mut(bucket).map(|mark| *mark = 1 + bucket % 2);
                let expected = plain.get_mut(bucket as usize).map(|mark| *mark = 1 + bucket % 2);
                assert_eq!(written, expected, "{bucket} of {count}");
            }
            assert!((0..count).all(|k| marks.get(k as u32) == plain[k]) && marks.get(count as u32) == 0);
            let ones: Vec<u32> = (0..count as u32).filter(|&k| plain[k as usize] == 1).collect();
            assert_eq!(marks.with(1).collect::<Vec<_>>(), ones);
        }
    }

    #[test]
    fn most_buckets_cost_nothing() {
        let mut marks = Marks::new(1 << 30);
        *marks.get_mut((1 << 30) - 1).unwrap() = 7;
        assert_eq!(marks.pages.iter().filter(|page| page.is_some()).count(), 1);
        assert_eq!(marks.with(7).collect::<Vec<_>>(), [(1 << 30) - 1]);
    }
}
