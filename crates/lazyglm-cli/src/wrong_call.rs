//! Wrong calls: what the parser of arguments says, in the words and the form of all other errors.

use crate::args::Args;
use crate::print::flag;
use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use lazyglm::{Error, excerpt};
use std::error::Error as _;
use std::ffi::OsString;
use std::num::{ParseFloatError, ParseIntError};

/// The error for a wrong call; `None` where the parser prints a help text instead.
pub fn error(told: &clap::Error, arguments: &[OsString]) -> Option<Error> {
    let arg = text(told, ContextKind::InvalidArg);
    let name = bare(&arg);
    let meant = |kind| Some(text(told, kind)).filter(|meant| !meant.is_empty());
    let did_you_mean = |kind| meant(kind).map(|name| format!("did you mean '{name}'?"));
    let call = call(arguments);
    let usage = || format!("`{call} --help` describes the arguments");
    let (what, hint) = match told.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => return None,
        ErrorKind::UnknownArgument => {
            let what = match arg.starts_with('-') {
                true => format!("there is no argument '{}'", excerpt(&*arg)),
                false => format!("unexpected argument '{}'", excerpt(&*arg)),
            };
            // A flag of another verb is more likely than a typo of a flag with a similar name.
            let near = of_other_verbs(name).or_else(|| did_you_mean(ContextKind::SuggestedArg));
            (what, near.unwrap_or_else(usage))
        }
        ErrorKind::InvalidSubcommand => {
            let verb = text(told, ContextKind::InvalidSubcommand);
            let near = did_you_mean(ContextKind::SuggestedSubcommand);
            let all = || format!("`{call} --help` lists the verbs");
            (format!("there is no verb '{}'", excerpt(&*verb)), near.unwrap_or_else(all))
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => match told.source() {
            Some(source) if source.is::<Error>() => source.downcast_ref::<Error>()?.spelled(flag),
            source => {
                let value = text(told, ContextKind::InvalidValue);
                let what = match value.is_empty() {
                    true => format!("{name} needs a value"),
                    false => format!("invalid {name} '{}'{}", excerpt(&*value), why(told, source)),
                };
                (what, did_you_mean(ContextKind::SuggestedValue).unwrap_or_else(usage))
            }
        },
        ErrorKind::MissingRequiredArgument => (format!("missing argument: {arg}"), usage()),
        ErrorKind::ArgumentConflict => match text(told, ContextKind::PriorArg) {
            prior if prior == arg => (format!("{name} is given twice"), "give it once".to_string()),
            prior => {
                let others = prior.split(", ").map(bare).collect::<Vec<_>>().join(", ");
                (format!("{name} cannot be used with {others}"), "leave one of them out".to_string())
            }
        },
        ErrorKind::TooManyValues => {
            let value = text(told, ContextKind::InvalidValue);
            (format!("unexpected value '{}' for {name}", excerpt(&*value)), usage())
        }
        ErrorKind::NoEquals => (format!("{name} needs '=' before its value"), format!("write {name}=VALUE")),
        _ => (first_paragraph(told), usage()),
    };
    Some(Error::call(what, hint))
}

/// The ends of ranges without a limit of their own.
const LARGEST_U32: &str = "4294967295";
const LARGEST_U64: &str = "18446744073709551615";

/// Why a value is refused: `: expected a whole number from 1 to 1024`.
fn why(told: &clap::Error, source: Option<&(dyn std::error::Error + 'static)>) -> String {
    let valid = text(told, ContextKind::ValidValue);
    match source {
        None if valid.is_empty() => String::new(),
        None => format!(": expected one of {valid}"),
        Some(source) if source.is::<ParseIntError>() => ": expected a whole number".to_string(),
        Some(source) if source.is::<ParseFloatError>() => ": expected a number".to_string(),
        Some(source) => {
            let text = source.to_string();
            let range = text.split_once(" is not in ").and_then(|(_, range)| range.split_once(".."));
            match range {
                Some((low, high)) => match high.trim_start_matches('=') {
                    "" | LARGEST_U32 | LARGEST_U64 => format!(": expected a whole number, at least {low}"),
                    high => format!(": expected a whole number from {low} to {high}"),
                },
                None if text.starts_with("invalid digit") => ": expected a whole number".to_string(),
                None => format!(": {text}"),
            }
        }
    }
}

/// A hint for a flag that other verbs have.
fn of_other_verbs(name: &str) -> Option<String> {
    let long = name.strip_prefix("--")?;
    let command = Args::command();
    let has = |verb: &&clap::Command| verb.get_arguments().any(|arg| arg.get_long() == Some(long));
    let verbs: Vec<String> =
        command.get_subcommands().filter(has).map(|verb| format!("`lazyglm {}`", verb.get_name())).collect();
    let (last, others) = verbs.split_last()?;
    Some(match others {
        [] => format!("{name} is an argument of {last}"),
        _ => format!("{name} is an argument of {} and of {last}", others.join(", ")),
    })
}

/// A flag without the name of its value.
fn bare(arg: &str) -> &str {
    arg.split([' ', '=', '[']).next().unwrap_or_default()
}

/// What the parser knows of this kind, as text.
fn text(told: &clap::Error, kind: ContextKind) -> String {
    match told.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(texts)) => texts.join(", "),
        _ => String::new(),
    }
}

/// The program and the verb that were called: `lazyglm train`.
fn call(arguments: &[OsString]) -> String {
    let (mut command, mut call) = (Args::command(), "lazyglm".to_string());
    for word in arguments.iter().skip(1).filter_map(|word| word.to_str()) {
        if let Some(verb) = command.find_subcommand(word) {
            call = format!("{call} {}", verb.get_name());
            command = verb.clone();
        }
    }
    call
}

/// The start of the parser's own text, for kinds that are not treated above.
fn first_paragraph(told: &clap::Error) -> String {
    let all = told.render().to_string();
    let lines = all.trim_start_matches("error: ").lines().take_while(|line| !line.trim().is_empty());
    lines.map(str::trim).collect::<Vec<_>>().join(" ")
}
