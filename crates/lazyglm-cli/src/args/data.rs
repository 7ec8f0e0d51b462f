//! How to read data, and the verbs that look at data alone: `stats` and `convert`.

use super::choices::Missing;
use super::tables::{formats, formats_out};
use clap::Args as ClapArgs;
use std::path::PathBuf;

/// How to read data.
#[derive(ClapArgs)]
pub struct ReadConfig {
    /// Data format [default: by file name, or by the first bytes]
    #[arg(long, value_name = "F", help_heading = "Data")]
    pub format: Option<String>,
    /// Column that holds the target (csv, jsonl, parquet) [default: target, label, y or class]
    #[arg(long, value_name = "NAME", help_heading = "Data")]
    pub target: Option<String>,
    /// Column that holds the offset of each row, a number that is added to its score (csv, jsonl, parquet; vw has its base)
    #[arg(long, value_name = "NAME", help_heading = "Data")]
    pub offset_column: Option<String>,
    /// Columns to leave out
    #[arg(long, value_name = "A,B", value_delimiter = ',', help_heading = "Data")]
    pub drop: Vec<String>,
    /// Columns whose numbers are categories: one feature per value
    #[arg(long, value_name = "A,B", value_delimiter = ',', help_heading = "Data")]
    pub categorical: Vec<String>,
    /// Columns of text, whose words and pairs of words are features (see --text) [default: columns that look like sentences]
    #[arg(long, value_name = "A,B", value_delimiter = ',', help_heading = "Data")]
    pub text_columns: Vec<String>,
    /// What a missing number becomes (csv, jsonl, parquet): zero, the mean of its column, or the mean and a feature
    /// COLUMN=missing [default: indicator]
    #[arg(long, value_name = "HOW", help_heading = "Data")]
    pub missing: Option<Missing>,
    /// How text becomes features: words=1-3,chars=3-5,case=lower|keep,value=tf|binary|sublinear,idf=yes|no,norm=l2|none
    /// [default: words=1-2,chars=none,case=lower,value=sublinear,idf=no,norm=l2]
    #[arg(long, value_name = "K=V,…", help_heading = "Data")]
    pub text: Option<String>,
    /// Hash feature names into 2^N buckets instead of storing them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=30), help_heading = "Data")]
    pub hash_bits: Option<u32>,
    /// Multiply the features of two namespaces or columns: one feature per pair; may be repeated
    #[arg(long, value_name = "A*B", help_heading = "Data")]
    pub interact: Vec<String>,
}

/// Arguments of `lazyglm stats`.
#[derive(ClapArgs)]
#[command(after_help = formats())]
pub struct Stats {
    /// The data, plain, gzip or zstd; '-' for standard input
    pub data: PathBuf,
    /// How to read the data.
    #[command(flatten)]
    pub reading: ReadConfig,
    /// Number of threads for reading [default: all cores]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Data")]
    pub threads: Option<u32>,
    /// Print no notes and no warnings
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
    /// Print the results as one JSON object
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// Arguments of `lazyglm convert`.
#[derive(ClapArgs)]
#[command(after_help = formats() + "\n" + &formats_out())]
pub struct Convert {
    /// The data, plain, gzip or zstd; '-' for standard input
    #[arg(value_name = "IN")]
    pub data: PathBuf,
    /// Output file, compressed if its name ends in .gz or .zst; '-' for standard output, which needs --to
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    /// Output format, from the list below [default: by the ending of OUT]
    #[arg(long, value_name = "F")]
    pub to: Option<String>,
    /// How to read the data.
    #[command(flatten)]
    pub reading: ReadConfig,
    /// Number of threads for reading [default: all cores]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Data")]
    pub threads: Option<u32>,
    /// Print no notes and no warnings
    #[arg(short, long)]
    pub quiet: bool,
}
