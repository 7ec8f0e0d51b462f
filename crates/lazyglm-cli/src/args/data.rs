//! How to read data, and the verbs that look at data alone: `stats` and `convert`.

use super::tables::{formats, formats_out};
use clap::Args as ClapArgs;
use std::path::PathBuf;

/// How to read data.
#[derive(ClapArgs)]
pub struct ReadConfig {
    /// The format: one of those below [default: by name, or first bytes]
    #[arg(long, value_name = "F", help_heading = "Data")]
    pub format: Option<String>,
    /// The column that is the target (csv, jsonl, parquet) [default: target, label, y or class]
    #[arg(long, value_name = "NAME", help_heading = "Data")]
    pub target: Option<String>,
    /// Columns to leave out
    #[arg(long, value_name = "A,B", value_delimiter = ',', help_heading = "Data")]
    pub drop: Vec<String>,
    /// Columns whose numbers are names: a feature for each value
    #[arg(long, value_name = "A,B", value_delimiter = ',', help_heading = "Data")]
    pub categorical: Vec<String>,
    /// How text becomes features: words=1-3,chars=3-5,case=lower|keep,value=tf|binary|sublinear,idf=yes|no,norm=l2|none
    /// [default: words=1-2,chars=none,case=lower,value=sublinear,idf=no,norm=l2]
    #[arg(long, value_name = "K=V,…", help_heading = "Data")]
    pub text: Option<String>,
    /// Hash the names of features into 2^N buckets instead of keeping them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=30), help_heading = "Data")]
    pub hash_bits: Option<u32>,
    /// Multiply the features of two namespaces or columns: a feature for each pair; may be given again
    #[arg(long, value_name = "A*B", help_heading = "Data")]
    pub interact: Vec<String>,
}

/// `lazyglm stats`.
#[derive(ClapArgs)]
#[command(after_help = formats())]
pub struct Stats {
    /// The data, plain, gzip or zstd; '-' for standard input
    pub data: PathBuf,
    /// How to read the data.
    #[command(flatten)]
    pub reading: ReadConfig,
    /// Threads for reading [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Data")]
    pub threads: Option<u32>,
    /// No notes
    #[arg(long, help_heading = "Output")]
    pub quiet: bool,
    /// The figures as one JSON object
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// `lazyglm convert`.
#[derive(ClapArgs)]
#[command(after_help = formats() + "\n" + &formats_out())]
pub struct Convert {
    /// The data, plain, gzip or zstd; '-' for standard input
    #[arg(value_name = "IN")]
    pub data: PathBuf,
    /// Where to write; compressed if it ends in .gz or .zst; '-' for standard output, with --to
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    /// The format to write: one of those below [default: by the ending of OUT]
    #[arg(long, value_name = "F")]
    pub to: Option<String>,
    /// How to read the data.
    #[command(flatten)]
    pub reading: ReadConfig,
    /// Threads for reading [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Data")]
    pub threads: Option<u32>,
    /// No notes
    #[arg(long)]
    pub quiet: bool,
}
