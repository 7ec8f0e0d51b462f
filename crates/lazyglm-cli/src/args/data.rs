//! How to read data, and the verbs that look at data alone: `stats` and `convert`.

use super::choices::Missing;
use clap::Args as ClapArgs;
use std::path::PathBuf;

/// Examples below the help of `stats`.
const STATS: &str = "\
Examples:
  lazyglm stats data.svm.gz
  lazyglm stats houses.csv --target price --json

Formats: lazyglm list formats";

/// Examples below the help of `convert`.
const CONVERT: &str = "\
Examples:
  lazyglm convert data.vw data.svm.gz
  lazyglm convert table.csv - --to jsonl --target price

Formats: lazyglm list formats";

/// How to read data.
#[derive(ClapArgs)]
pub struct ReadConfig {
    /// Data format [default: by file name, or by the first bytes]
    #[arg(long, value_name = "FORMAT", help_heading = "Input")]
    pub format: Option<String>,
    /// Column that holds the target (csv, jsonl, parquet) [default: target, label, y or class]
    #[arg(long, value_name = "NAME", help_heading = "Input")]
    pub target: Option<String>,
    /// Column that holds the offset of each row, a number that is added to its score (csv, jsonl, parquet; vw has its base)
    #[arg(long, value_name = "NAME", help_heading = "Input")]
    pub offset_column: Option<String>,
    /// Columns to leave out
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Input")]
    pub drop: Vec<String>,
    /// Columns whose numbers are categories: one feature per value
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Input")]
    pub categorical: Vec<String>,
    /// Columns of text, whose words and pairs of words are features (see --text) [default: columns that look like sentences]
    ///
    /// A column may have options of its own, as in 'title,body:words=none:chars=3-5'.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Input")]
    pub text_columns: Vec<String>,
    /// What a missing number becomes (csv, jsonl, parquet) [default: indicator]
    #[arg(long, value_name = "HOW", help_heading = "Input")]
    pub missing: Option<Missing>,
    /// How text becomes features [default: words=1-2,skip=0,chars=none,case=lower,value=sublinear,idf=no,norm=l2]
    ///
    /// Any of words=1-3, skip=1, chars=3-5, case=lower|keep, value=tf|binary|sublinear, idf=yes|no and norm=l2|none, separated by commas.
    #[arg(long, value_name = "KEY=VALUE,…", help_heading = "Input")]
    pub text: Option<String>,
    /// Hash feature names into 2^N buckets instead of storing them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=30), help_heading = "Input")]
    pub hash_bits: Option<u32>,
    /// Multiply the features of two or three namespaces or columns: one feature per pair or triple; may be repeated
    ///
    /// In 'a*:', the colon stands for any other namespace or column. '*' alone stands for all pairs.
    #[arg(long, value_name = "A*B", help_heading = "Input")]
    pub interact: Vec<String>,
}

/// Arguments of `lazyglm stats`.
#[derive(ClapArgs)]
#[command(after_help = STATS)]
pub struct Stats {
    /// Data: plain, gzip or zstd; '-' for standard input
    pub data: PathBuf,
    /// How to read the data.
    #[command(flatten)]
    pub reading: ReadConfig,
    /// Number of threads for reading [default: all cores]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Performance")]
    pub threads: Option<u32>,
    /// Print no notes and no progress; warnings stay
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
    /// Print the results as one JSON object
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// Arguments of `lazyglm convert`.
#[derive(ClapArgs)]
#[command(after_help = CONVERT)]
pub struct Convert {
    /// Data: plain, gzip or zstd; '-' for standard input
    #[arg(value_name = "IN")]
    pub data: PathBuf,
    /// Output file, compressed if its name ends in .gz or .zst; '-' for standard output, which needs --to
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    /// How to read the data.
    #[command(flatten)]
    pub reading: ReadConfig,
    /// Number of threads for reading [default: all cores]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Performance")]
    pub threads: Option<u32>,
    /// Output format, from `lazyglm list formats` [default: by the ending of OUT]
    #[arg(long, value_name = "FORMAT", help_heading = "Output")]
    pub to: Option<String>,
    /// Print no notes and no progress; warnings stay
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
}
