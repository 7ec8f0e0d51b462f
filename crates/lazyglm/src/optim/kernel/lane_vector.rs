//! Lane vectors: a feature's weights in all lanes, aligned so that no vector crosses a cache line.

use super::weight::Weight;

/// Builds an array from a function of the lane. The standard library's version may be compiled separately,
/// for the baseline processor.
#[inline(always)]
pub(crate) fn each<T: Copy + Default, const L: usize>(of: impl Fn(usize) -> T) -> [T; L] {
    let mut all = [T::default(); L];
    for (l, one) in all.iter_mut().enumerate() {
        *one = of(l);
    }
    all
}

/// A lane vector: the weights of one feature in L lanes.
pub trait LaneVector<W, const L: usize>: Copy + Send + Sync + 'static {
    /// Creates a lane vector.
    fn of(lanes: [W; L]) -> Self;
    /// The weights of the lanes.
    fn lanes(&self) -> &[W; L];
    /// Mutable access to the weights of the lanes.
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
