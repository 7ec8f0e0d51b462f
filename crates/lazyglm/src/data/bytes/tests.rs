//! Records within a limit, wherever a file ends.

use super::*;

#[test]
fn a_limit_of_records_refuses_no_file_of_short_ones_wherever_it_ends() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for lines in [90_000, 120_000, 190_000, 210_000, 320_000] {
        std::fs::write(file.path(), "ten bytes\n".repeat(lines) + "the last").unwrap();
        let (mut source, mut block) =
            (ByteSource::open_within(file.path(), BLOCK).unwrap(), Block::default());
        let mut seen = 0;
        let whole = |bytes: &[u8]| memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1);
        while source.next(&mut block, &whole).unwrap() {
            seen += block.bytes().split_inclusive(|byte| *byte == b'\n').count();
        }
        assert_eq!(seen, lines + 1);
    }
    std::fs::write(file.path(), "x".repeat(BLOCK + 9)).unwrap();
    let (mut source, mut block) = (ByteSource::open_within(file.path(), BLOCK).unwrap(), Block::default());
    assert!(source.next(&mut block, &|_| 0).unwrap_err().to_string().contains("does not end within 1.0 MB"));
}
