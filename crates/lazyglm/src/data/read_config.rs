//! An open input file: its bytes, and how to parse rows from them.

use crate::data::bytes::{Block, ByteSource, LONGEST, Spool, is_array, is_stream};
use crate::data::feature_ids::FeatureIds;
use crate::data::format::{
    self, ANY, Column, ColumnKind, Copied, Csv, Fill, FormatSpec, Interact, Norm, Opening, Parsed, Parser,
    ReadOptions, Text,
};
use crate::data::reader::{self, ParseBlock, Pipeline};
use crate::util::error::{Error, Place, Result, excerpt};
use crate::util::parameter::Parameter;
use crate::util::registry::suggest;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// How rows are read from a file. The model keeps it, so that `predict` reads data in the same way as
/// `train`.
///
/// ```
/// use lazyglm::ReadConfig;
/// assert_eq!(serde_json::to_string(&ReadConfig::default()).unwrap(), r#"{"recipe":{"format":"svmlight"}}"#);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReadConfig {
    /// The format and its options.
    #[serde(rename = "recipe")] // the key in model files and caches
    pub spec: FormatSpec,
    /// Base-2 logarithm of the number of hash buckets for names, or `None` without hashing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash_bits: Option<u32>,
    /// Two or three namespaces or columns whose features are multiplied. `:` is any other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interact: Vec<Vec<String>>,
}

/// An open file whose format is known.
pub(crate) struct Input {
    pub reading: ReadConfig,
    file: PathBuf,
    source: ByteSource,
    /// Whether values may be rounded to f32.
    pub as_f32: bool,
    /// Maximum number of parser threads.
    pub threads: usize,
    header: u64, // number of header lines
    copied: Copied,
    spool: Option<Spool>, // the bytes of a stream that is read from any place
}

impl ReadConfig {
    /// Rejects options that these data do not support: interactions of absent namespaces, and idf of hash
    /// buckets.
    pub(crate) fn check(&self, feature_ids: &FeatureIds) -> Result<()> {
        if self.has_idf() && self.hash_bits.is_some() {
            let what = format!("idf=yes needs to know the words, and {} forgets them", Parameter::HashBits);
            return Err(Error::call(
                what,
                format!("leave {} out: the words are kept then", Parameter::HashBits),
            ));
        }
        let FeatureIds::Words(words) = feature_ids else { return Ok(()) };
        for space in self.interact.iter().flatten().filter(|space| *space != ANY) {
            if !words.iter().any(|name| *self.spec.namespace(name) == **space) {
                let mut known: Vec<_> = words.iter().map(|name| self.spec.namespace(name)).collect();
                known.sort_unstable();
                known.dedup();
                known.truncate(20);
                let known: Vec<&str> = known.iter().map(|name| &**name).collect();
                let (interact, space_shown) = (Parameter::Interact, excerpt(space));
                let what = format!("{interact}: no feature is of the namespace or column '{space_shown}'");
                return Err(Error::call(what, suggest(space, &known)));
            }
        }
        Ok(())
    }

    /// Whether features are words and groups of letters in running text.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self.spec, FormatSpec::Text(_))
    }

    /// How the rows of a table are read whose columns are numbers with these names. An empty cell of column j counts as
    /// `means[j]`, and as 0 if no mean is given.
    pub fn table(names: &[String], means: &[f64]) -> ReadConfig {
        let column = |(j, name): (usize, &String)| Column {
            missing: means.get(j).map(|&value| Fill { value, indicator: false }),
            ..Column::new(name.as_str(), ColumnKind::Number)
        };
        let columns = names.iter().enumerate().map(column).collect();
        ReadConfig { spec: FormatSpec::Csv(Csv { delimiter: ',', columns }), ..ReadConfig::default() }
    }

    /// How the rows of a table are read whose columns are numbers without names.
    ///
    /// ```
    /// use lazyglm::ReadConfig;
    /// assert_eq!(ReadConfig::numbered_table(2), ReadConfig::table(&["0".into(), "1".into()], &[]));
    /// ```
    pub fn numbered_table(columns: usize) -> ReadConfig {
        ReadConfig::table(&(0..columns).map(|column| column.to_string()).collect::<Vec<_>>(), &[])
    }

    /// Whether values are weighted by the idf of their words, which the model then keeps.
    pub fn has_idf(&self) -> bool {
        self.idf().is_some() || !self.spec.text_columns(true).is_empty()
    }

    /// Whether rows list the features that they have, unlike a table, whose columns may be amounts of anything.
    pub(crate) fn has_sparse_rows(&self) -> bool {
        matches!(self.spec, FormatSpec::Svmlight | FormatSpec::Vw)
    }

    /// Whether rows are normalised after idf weighting, or `None` if the text has no idf weighting.
    pub(crate) fn idf(&self) -> Option<bool> {
        match &self.spec {
            FormatSpec::Text(Text { idf: true, norm, .. }) => Some(*norm == Norm::L2),
            _ => None,
        }
    }
}

/// Prefix of the magic bytes of every cache version. It repeats a constant of `cache`, which depends on this
/// module.
const CACHE: &[u8] = b"lazyglm cache ";

/// Reads ahead until the first bytes hold a header and a row, or two rows. These bytes decide how to read the
/// file.
fn read_ahead(
    source: &mut ByteSource,
    file: &Path,
    asked: &ReadOptions,
    known: Option<&ReadConfig>,
    longest: usize,
) -> Result<()> {
    while !source.peeked_all() {
        let ahead = source.buffered();
        let first = source.first()?;
        let opening = Opening { first, file, asked, known: known.map(|known| &known.spec) };
        let Some(start) = format::unfinished(&opening) else { return Ok(()) };
        if ahead - start > longest {
            let line = 1 + memchr::memchr_iter(b'\n', &first[..start]).count() as u64;
            return Err(source.too_long(line));
        }
        if ahead > longest {
            return Ok(()); // only blank lines
        }
        source.peek_more()?;
    }
    Ok(())
}

impl Input {
    /// Opens a file. With `known`, the file is read in the same way as the training data of a model.
    pub fn open(path: &Path, asked: &ReadOptions, known: Option<&ReadConfig>) -> Result<Input> {
        Input::open_within(path, asked, known, LONGEST)
    }

    /// Opens a file in which no record may exceed `longest` bytes, because a record takes several times its
    /// length in memory.
    pub fn open_within(
        path: &Path,
        asked: &ReadOptions,
        known: Option<&ReadConfig>,
        longest: usize,
    ) -> Result<Input> {
        let mut source = ByteSource::open_within(path, longest)?;
        let opening =
            Opening { first: source.first()?, file: path, asked, known: known.map(|known| &known.spec) };
        if format::is_json(&opening) && is_array(opening.first) {
            source.read_json_array()?;
        }
        let is_columnar =
            cfg!(feature = "parquet") && is_stream(path) && format::is_columnar(source.first()?);
        let spool = is_columnar.then(|| source.save()).transpose()?;
        read_ahead(&mut source, path, asked, known, longest)?;
        let first = source.first()?;
        if first.starts_with(CACHE) {
            let what = "this file is a cache that lazyglm wrote, not data";
            let hint = "give the data that the cache was made from; a cache can be given to train, tune, path, certify and stats";
            return Err(Error::data(Place::file(path), what, hint));
        }
        let opening = Opening { first, file: path, asked, known: known.map(|known| &known.spec) };
        if known.is_some_and(|known| known.hash_bits.is_none()) {
            format::check_compatible(&opening)?;
        }
        let spec = format::open(&opening)?;
        format::check_options_apply(&spec, asked)?;
        let copied = Copied::find(&opening, &spec)?;
        let header = spec.header(first);
        let lines = memchr::memchr_iter(b'\n', &first[..header]).count() as u64;
        source.skip(header);
        let reading = match known {
            Some(known) => ReadConfig { spec, ..known.clone() },
            None => ReadConfig { spec, hash_bits: asked.hash_bits, interact: asked.interact.clone() },
        };
        Ok(Input {
            reading,
            file: path.to_path_buf(),
            source,
            as_f32: false,
            threads: usize::MAX,
            header: lines,
            copied,
            spool,
        })
    }

    /// Calls `see` with the rows of each block. Ids are local to the block.
    pub fn for_each(self, absent: Vec<bool>, see: &mut dyn FnMut(&mut Parsed) -> Result<()>) -> Result<()> {
        let Input {
            reading: ReadConfig { spec, interact, .. },
            file,
            mut source,
            as_f32,
            threads,
            header,
            copied,
            spool: _spool, // until all rows were read
        } = self;
        let (spec, file, copied) = (&spec, file.as_path(), &copied);
        if spec.reads_files() {
            let (mut products, mut cells) = (Interact::new(spec, &interact), copied.open_file(file)?);
            return spec.for_each_batch(file, absent, &mut |block| {
                products.widen(file, block)?;
                copied.copy_rows(&mut cells, file, block)?;
                see(block)
            });
        }
        let new_parser = || -> Box<ParseBlock> {
            let mut parser = Interact::new(spec, &interact);
            Box::new(move |_, block, parsed| {
                parser.parse(block.bytes(), file, parsed)?;
                copied.copy_block(spec, block.bytes(), file, parsed)
            })
        };
        let read = Box::new(move |block: &mut Block| source.next(block, &|bytes| spec.whole(bytes)));
        reader::for_each(
            Pipeline { read, new_parser: &new_parser, lines_before: header, as_f32, threads },
            absent,
            see,
        )
    }

    /// Calls `see` with the rows of each block. `feature_ids` maps the ids to global ids.
    pub fn for_each_named(
        self,
        absent: Vec<bool>,
        feature_ids: &mut FeatureIds,
        see: &mut dyn FnMut(&mut Parsed) -> Result<()>,
    ) -> Result<()> {
        let file = self.file.clone();
        self.for_each(absent, &mut |block| {
            let renamed =
                feature_ids.add_block(block, |rename| rename.map(|rename| block.rows.renamed(rename)));
            if let Some(rows) = renamed {
                block.rows = rows.map_err(|row| {
                    let place = Place::file(&file).line(block.lines.of(row));
                    Error::data(place, "the values of one feature sum to infinity", "scale the values down")
                })?;
            }
            see(block)
        })
    }
}
