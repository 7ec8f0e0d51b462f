//! Unsigned integers of 1, 2 or 4 bytes.

/// An array of unsigned integers as its bytes.
pub(super) struct Wholes<'a> {
    pub count: usize,
    pub width: u8,
    pub body: &'a [u8],
    pub large: &'a [[u8; 4]],
}

impl Wholes<'_> {
    /// Decodes the array to its place, which has its length.
    pub fn decode(&self, to: &mut [u32]) -> Option<()> {
        let most = match self.width {
            1 => {
                to.iter_mut().zip(self.body).for_each(|(to, &byte)| *to = u32::from(byte));
                0xff
            }
            2 => {
                let twos = self.body.as_chunks::<2>().0;
                to.iter_mut().zip(twos).for_each(|(to, two)| *to = u32::from(u16::from_le_bytes(*two)));
                0xffff
            }
            _ => {
                let fours = self.body.as_chunks::<4>().0;
                to.iter_mut().zip(fours).for_each(|(to, four)| *to = u32::from_le_bytes(*four));
                return self.large.is_empty().then_some(());
            }
        };
        // The largest number of this width stands for the next of the numbers that do not fit.
        let mut large = self.large.iter().map(|four| u32::from_le_bytes(*four));
        for number in to.iter_mut().filter(|number| **number == most) {
            *number = large.next()?;
        }
        large.next().is_none().then_some(())
    }
}
