//! Names of features that consist of parts: `namespace^name`, `column=value`, `x*y`.
//!
//! ```text
//! a mark inside a part            ↦ \mark               |a b^c ↦ a^b\^c        |a^b c ↦ a\^b^c
//! backslashes before such a mark, or before the mark that ends the part, are doubled; all others stay
//! ```
//!
//! So two different lists of parts never have the same name, and parts without the mark are joined unchanged.
//! A name that comes in one piece (a feature without a namespace, a key with a number) is used as it is. It
//! can be the full name of any feature, and conversion to another format writes names in this way.

use std::borrow::Cow;

/// Appends a part and the separator after it.
#[inline]
pub(super) fn push_part(name: &mut String, part: &str, mark: char) {
    push_last(name, part, mark);
    let slashes = part.len() - part.trim_end_matches('\\').len();
    name.extend(std::iter::repeat_n('\\', slashes));
    name.push(mark);
}

/// Appends the last part, without a separator after it.
#[inline]
pub(super) fn push_last(name: &mut String, part: &str, mark: char) {
    match part.as_bytes().contains(&(mark as u8)) {
        false => name.push_str(part),
        true => escape(name, part, mark),
    }
}

#[cold]
fn escape(name: &mut String, part: &str, mark: char) {
    let mut slashes = 0;
    for c in part.chars() {
        if c == mark {
            name.extend(std::iter::repeat_n('\\', slashes + 1));
        }
        slashes = if c == '\\' { slashes + 1 } else { 0 };
        name.push(c);
    }
}

/// The first part of a name, if the name has several.
pub(super) fn first_part(name: &str, mark: char) -> Option<Cow<'_, str>> {
    let slashes = |end: usize| end - name[..end].trim_end_matches('\\').len();
    let end = name.match_indices(mark).map(|(at, _)| at).find(|&at| slashes(at).is_multiple_of(2))?;
    let part = &name[..end];
    match part.contains('\\') {
        false => Some(Cow::Borrowed(part)),
        true => Some(Cow::Owned(unescape(part, mark))),
    }
}

#[cold]
fn unescape(part: &str, mark: char) -> String {
    let (mut text, mut slashes) = (String::new(), 0);
    for c in part.chars().map(Some).chain([None]) {
        if c == Some('\\') {
            slashes += 1;
            continue;
        }
        let kept = if c.is_none() || c == Some(mark) { slashes / 2 } else { slashes };
        text.extend(std::iter::repeat_n('\\', kept));
        text.extend(c);
        slashes = 0;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn joined(parts: &[String]) -> String {
        let mut name = String::new();
        let (last, others) = parts.split_last().expect("a part");
        others.iter().for_each(|part| push_part(&mut name, part, '^'));
        push_last(&mut name, last, '^');
        name
    }

    /// All texts of up to this many of the test characters.
    fn texts(most: usize) -> Vec<String> {
        let mut all = vec![String::new()];
        for from in 0..most {
            let longer = all.iter().filter(|text| text.len() == from);
            let longer: Vec<String> =
                longer.flat_map(|text| ["a", "^", "\\"].map(|c| text.clone() + c)).collect();
            all.extend(longer);
        }
        all
    }

    #[test]
    fn different_parts_have_different_names_and_the_first_can_be_read_back() {
        let (one, mut seen) = (texts(3), HashMap::new());
        let mut parts: Vec<Vec<String>> = Vec::new();
        for a in &one {
            for b in &one {
                parts.push(vec![a.clone(), b.clone()]);
                parts.extend(texts(1).into_iter().map(|c| vec![a.clone(), b.clone(), c]));
            }
        }
        for list in parts {
            let name = joined(&list);
            assert_eq!(first_part(&name, '^').as_deref(), Some(list[0].as_str()), "{name}");
            if let Some(other) = seen.insert(name.clone(), list.clone()) {
                panic!("{name} is {list:?} and {other:?}");
            }
        }
    }

    #[test]
    fn ordinary_names_stay_as_they_are() {
        for (a, b) in [("subject", "lottery"), ("a b", "C:\\temp"), ("\\d", "x=y*z"), ("é", "")] {
            assert_eq!(joined(&[a.into(), b.into()]), format!("{a}^{b}"));
        }
    }
}
