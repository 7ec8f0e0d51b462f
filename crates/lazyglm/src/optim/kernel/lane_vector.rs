//! A feature's weights in all lanes, laid out so that none crosses a cache line.

use super::weight::Weight;

/// An array from a function of the lane. (The standard library's may be compiled on its own, for the oldest processor.)
#[inline(always)]
pub(crate) fn each<T: Copy + Default, const L: usize>(of: impl Fn(usize) -> T) -> [T; L] {
    let mut all = [T::default(); L];
    for (l, one) in all.iter_mut().enumerate() {
        *one = of(l);
    }
    all
}

/// The weights of one feature: L lanes side by side.
pub trait LaneVector<W, const L: usize>: Copy + Send + Sync + 'static {
    /// Packs the lanes.
    fn of(lanes: [W; L]) -> Self;
    /// The lanes.
    fn lanes(&self) -> &[W; L];
    /// The lanes, to be changed.
    fn lanes_mut(&mut self) -> &mut [W; L];
}

/// Half a cache line: eight lanes in f32.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
pub struct Half<W, const L: usize>([W; L]);

/// A cache line: sixteen lanes in f32, eight in f64.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Line<W, const L: usize>([W; L]);

macro_rules! pack {
    ($name:ident) => {
        impl<W: Weight, const L: usize> LaneVector<W, L> for $name<W, L> {
            #[inline(always)]
            fn of(lanes: [W; L]) -> Self {
                $name(lanes)
            }
            #[inline(always)]
            fn lanes(&self) -> &[W; L] {
                &self.0
            }
            #[inline(always)]
            fn lanes_mut(&mut self) -> &mut [W; L] {
                &mut self.0
            }
        }
    };
}

pack!(Half);
pack!(Line);
