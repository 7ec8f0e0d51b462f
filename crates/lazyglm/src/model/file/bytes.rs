//! Reads the bytes of a model file.

use std::fs::File;
use std::io::{self, Read};

/// Reads a file that begins like a model. Of others, the beginning is enough to refuse them: a device may have no end.
pub(super) fn read(mut file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    Read::by_ref(&mut file).take(9).read_to_end(&mut bytes)?;
    // The length of the header, then the header: a JSON object.
    if bytes.get(8) == Some(&b'{') {
        file.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}
