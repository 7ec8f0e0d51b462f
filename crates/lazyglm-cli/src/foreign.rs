//! Names that users of other tools try: an error for them names the flag or the verb of lazyglm.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use lazyglm::{Error, excerpt};

/// A flag or a verb of another tool, and what to use here.
const FOREIGN: &[(&str, &str)] = &[
    ("--lr", "use --eta0, the starting learning rate"),
    ("--rate", "use --eta0, the starting learning rate"),
    ("--C", "use --l1 and --l2, or --alpha with --l1-ratio: alpha = 1/(C·rows)"),
    ("-C", "use --l1 and --l2, or --alpha with --l1-ratio: alpha = 1/(C·rows)"),
    ("-c", "use --l1 and --l2, or --alpha with --l1-ratio: alpha = 1/(C·rows)"),
    ("--lambda", "use --l1 and --l2, or --alpha with --l1-ratio"),
    ("--penalty", "use --l1 for an ℓ₁ penalty, --l2 for an ℓ₂ penalty, or both"),
    ("--max-iter", "use --epochs for sgd, or --tolerance for solvers that find the optimum"),
    ("--max_iter", "use --epochs for sgd, or --tolerance for solvers that find the optimum"),
    ("--tol", "use --tolerance"),
    ("--n-jobs", "use --threads"),
    ("--n_jobs", "use --threads"),
    ("--jobs", "use --threads"),
    ("--random-state", "use --seed"),
    ("--random_state", "use --seed"),
    ("--label", "use --target, the name of the column that holds the target"),
    ("--cv", "use `lazyglm tune --folds`"),
    ("--bits", "use --hash-bits"),
    ("-b", "use --hash-bits"),
    ("--bit_precision", "use --hash-bits"),
    ("--verbose", "use --progress lines; notes are printed without a flag"),
    ("-v", "use --progress lines; notes are printed without a flag"),
    ("fit", "use `lazyglm train`"),
    ("test", "use `lazyglm evaluate`"),
    ("score", "use `lazyglm evaluate`, or `lazyglm predict --as score`"),
    ("transform", "use `lazyglm predict`, or `lazyglm convert`"),
    ("cv", "use `lazyglm tune`"),
    ("info", "use `lazyglm inspect` for a model, or `lazyglm stats` for data"),
];

/// The error for a name of another tool; `None` for other wrong calls.
pub fn error(told: &clap::Error) -> Option<Error> {
    let (kind, what) = match told.kind() {
        ErrorKind::UnknownArgument => (ContextKind::InvalidArg, "argument"),
        ErrorKind::InvalidSubcommand => (ContextKind::InvalidSubcommand, "verb"),
        _ => return None,
    };
    let Some(ContextValue::String(name)) = told.get(kind) else { return None };
    let (_, hint) = FOREIGN.iter().find(|(foreign, _)| foreign == name)?;
    Some(Error::call(format!("there is no {what} '{}'", excerpt(name)), *hint))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn no_name_of_another_tool_is_one_of_ours() {
        let command = crate::args::Args::command();
        let verbs: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        let train = command.find_subcommand("train").unwrap();
        let flags: Vec<String> =
            train.get_arguments().filter_map(|arg| arg.get_long().map(|long| format!("--{long}"))).collect();
        for (name, hint) in FOREIGN {
            assert!(!verbs.contains(name) && !flags.iter().any(|flag| flag == name), "{name}");
            let named: Vec<&str> =
                hint.split([' ', ',', ';', '`', ':']).filter(|word| word.starts_with("--")).collect();
            let known =
                |flag: &&str| flags.iter().any(|own| own == flag) || ["--as", "--folds"].contains(flag);
            assert!(named.iter().all(known), "{hint}");
        }
    }
}
