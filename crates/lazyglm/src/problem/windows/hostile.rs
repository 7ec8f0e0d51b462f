//! Caches that somebody wrote to do harm: all checksums are right, and what the end of the file says of the fragments is
//! not true. None may be read, into memory or by windows, and none may end the process.

use super::*;
use crate::data::cache::{CacheWriter, FragmentEntry, Meta};
use crate::data::feature_ids::FeatureIds;
use crate::data::format::{FoundIndex, Parsed, Span};
use crate::data::read_config::ReadConfig;
use crate::data::rows::Rows;
use crate::problem::settings::Precision;
use crate::problem::source::Source;

fn span(low: u32, high: u32) -> Option<Span> {
    let found = |index| FoundIndex { index, line: 1, column: 1 };
    Some(Span { low: found(low), high: found(high) })
}

/// Fifty rows of two classes, with the features 3 to 8.
fn honest() -> Parsed {
    let mut block = Parsed { span: span(3, 8), ..Parsed::default() };
    for k in 0..50 {
        block.lines.begin();
        block.labels.push(if k % 2 == 0 { b"1" } else { b"-1" }).unwrap();
        block.push_row(&mut vec![(3 + k % 5, 1.0), (8, 0.5)]).unwrap();
    }
    block
}

/// Changes what the end of a file says.
type Tamper = fn(&mut Meta, &mut Vec<FragmentEntry>);

struct Forged<'a> {
    block: Parsed,
    order: &'a [u32],
    tamper: &'a dyn Fn(&mut Meta, &mut Vec<FragmentEntry>),
}

impl Forged<'_> {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let asked = ReadOptions { renumber: !self.order.is_empty(), ..ReadOptions::default() };
        let mut writer = CacheWriter::new(&mut bytes, None, asked, ReadConfig::default()).unwrap();
        writer.push(&self.block).unwrap();
        writer.forge(self.tamper);
        writer.finish(&FeatureIds::Indices, self.order).unwrap();
        bytes
    }

    /// Reads it into memory and by windows, which both say what came of it.
    fn read(&self) -> [Result<()>; 2] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.svm");
        std::fs::write(&path, self.bytes()).unwrap();
        let settings = Settings { precision: Precision::F64, ..Settings::default() };
        let in_memory = Dataset::load(&path, &Load::default())
            .and_then(|(data, _)| Task::builder(data).build())
            .map(|task| assert!(fits(&task.data.rows)));
        let options = WindowsOptions { memory: 64 << 20, ..WindowsOptions::default() };
        let by_windows = Windows::open(&path, &options, &settings).and_then(|stream| {
            stream.pass(&mut |turn| {
                let columns = turn.rows.columns();
                assert!(turn.rows.ids().iter().all(|&id| (id as usize) < columns));
                assert_eq!(turn.rows.len(), turn.examples().targets.len());
                Ok(())
            })
        });
        [in_memory, by_windows]
    }
}

/// Whether the kernel may use these ids.
fn fits(rows: &Rows) -> bool {
    rows.ids().iter().all(|&id| (id as usize) < rows.columns())
}

#[test]
fn an_honest_cache_of_these_rows_is_read() {
    for order in [&[][..], &[8, 3, 4, 5, 6, 7]] {
        let mut block = honest();
        if !order.is_empty() {
            let place = |id: u32| order.iter().position(|known| *known == id).unwrap() as u32;
            block.rows.renumber(&place).unwrap();
        }
        let [in_memory, by_windows] = Forged { block, order, tamper: &|_, _| {} }.read();
        in_memory.unwrap();
        by_windows.unwrap();
    }
}

#[test]
fn what_the_end_of_a_file_says_falsely_is_refused() {
    let lies: [(&str, Tamper); 15] = [
        ("a lowest index above one that occurs", |meta, _| meta.span = span(4, 8)),
        ("a highest index below one that occurs", |meta, _| meta.span = span(3, 7)),
        ("a span of one index", |meta, _| meta.span = span(9, 9)),
        ("a span that ends before it begins", |meta, _| meta.span = span(8, 3)),
        ("no span", |meta, _| meta.span = None),
        ("fewer rows", |meta, _| meta.rows = 49),
        ("more rows", |meta, _| meta.rows = usize::MAX),
        ("fewer non-zeros", |meta, _| meta.nonzeros = 1),
        ("more non-zeros", |meta, _| meta.nonzeros = usize::MAX),
        ("a row without a target that is not there", |meta, _| meta.unlabelled = Some(50)),
        ("a row without a target far away", |meta, _| meta.unlabelled = Some(usize::MAX)),
        ("more rows with a query than rows", |meta, _| meta.with_query = usize::MAX),
        ("more rows in a fragment", |meta, parts| {
            (meta.rows, parts[0].rows) = (usize::MAX, usize::MAX);
        }),
        ("more rows in a fragment than it has", |meta, parts| (meta.rows, parts[0].rows) = (51, 51)),
        ("more non-zeros in a fragment", |meta, parts| {
            (meta.nonzeros, parts[0].nonzeros) = (usize::MAX, usize::MAX);
        }),
    ];
    for (lie, tamper) in lies {
        for done in (Forged { block: honest(), order: &[], tamper: &tamper }).read() {
            let refusal = done.expect_err(lie).to_string();
            assert!(refusal.contains("the cache cannot be used"), "{lie}: {refusal}");
        }
    }
}

#[test]
fn an_order_of_features_that_are_not_there_is_refused() {
    for order in
        [&[8, 3, 4, 5, 6][..], &[9, 3, 4, 5, 6, 7], &[2, 3, 4, 5, 6, 7], &[3, 3, 4, 5, 6, 7], &[u32::MAX]]
    {
        let mut block = honest();
        block.rows.renumber(&|id| id - 3).unwrap();
        for done in (Forged { block, order, tamper: &|_, _| {} }).read() {
            let refusal = done.expect_err("an order that does not fit").to_string();
            assert!(refusal.contains("the cache cannot be used"), "{order:?}: {refusal}");
        }
    }
}

#[test]
fn fragments_that_break_what_is_said_of_them_are_refused() {
    let mut few_targets = honest();
    few_targets.labels = crate::data::labels::Labels::Numbers(vec![1.0, -1.0]);
    let mut weighted = honest();
    weighted.weights = vec![0.5; 50];
    let mut wide = honest();
    wide.rows = Rows::new();
    (0..50).for_each(|_| wide.rows.push(&[(3, 0.1), (8, 0.5)]).unwrap());
    let forged: [(&str, Parsed, Tamper); 3] = [
        ("rows without a target", few_targets, |_, _| {}),
        ("weights that nobody mentions", weighted, |meta, _| meta.weighted = false),
        ("values that do not fit into four bytes", wide, |meta, _| meta.exact_in_f32 = true),
    ];
    for (lie, block, tamper) in forged {
        for done in (Forged { block, order: &[], tamper: &tamper }).read() {
            let refusal = done.expect_err(lie).to_string();
            assert!(refusal.contains("the cache cannot be used"), "{lie}: {refusal}");
        }
    }
}
