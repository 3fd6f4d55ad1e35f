//! Secrets that stand in files of their own: `token_file`, `{ file = "…" }`.

use std::io::Read as _;
use std::path::Path;

/// More than any token, certificate or key has.
const LARGEST: u64 = 1 << 20;

/// The text of a file, without line ends behind it.
///
/// # Errors
/// What is wrong, naming the file.
pub fn read(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes))
        .map_err(|error| format!("cannot read {shown}: {error}"))?;
    if bytes.len() as u64 > LARGEST {
        return Err(format!("{shown} is larger than {LARGEST} bytes, which is no secret"));
    }
    let text = String::from_utf8(bytes).map_err(|_| format!("{shown} is not valid UTF-8"))?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_behind_the_secret_are_ignored_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        std::fs::write(&path, " 007 \r\n\n").unwrap();
        assert_eq!(read(&path).unwrap(), " 007 ");
    }

    #[test]
    fn an_unreadable_file_is_named() {
        assert!(read(Path::new("/no/such/secret")).unwrap_err().starts_with("cannot read /no/such/secret: "));
    }
}
