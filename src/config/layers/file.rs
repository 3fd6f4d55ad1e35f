//! Configuration files of our own.

use std::path::Path;

use super::syntax::Syntax;
use super::{Layer, Origin, Reader, text_of};
use crate::config::violation::Violation;

/// Reads one file into a layer.
pub(super) fn read(path: &Path, named_by: &Origin, reader: &mut Reader) {
    let Some(syntax) = Syntax::of(path) else {
        let problem =
            format!("cannot tell the syntax of {}; its name must end in .toml, .yaml, .yml or .json", path.display());
        return reader.violations.push(Violation::new("config", problem).from(named_by));
    };
    let Some(text) = text_of(path, "config", named_by, &mut reader.violations) else { return };
    let origin = Origin::File(path.to_owned());
    match syntax.parse(&text) {
        Ok(values) => reader.layers.push(Layer { origin, values }),
        Err(problem) => reader.violations.push(Violation::new(path.display().to_string(), problem).from(named_by)),
    }
}
