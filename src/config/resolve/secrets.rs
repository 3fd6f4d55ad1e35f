//! Texts that are never shown: written out, with variables in them, or in files of their own.

use std::collections::BTreeMap;
use std::path::Path;

use figment::value::Value;
use secrecy::SecretString;

use super::judge::{Judge, Place, Scope};
use super::values;
use crate::config::secret_file;

impl Judge<'_> {
    /// One secret, if anybody set it.
    pub(super) fn secret(&mut self, scope: Scope<'_>, key: &'static str) -> Option<SecretString> {
        let (value, place) = self.find(scope, key)?;
        let secret = self.secret_of(value, &place)?;
        self.show(&place);
        Some(secret)
    }

    /// A table of secrets; empty where nobody set it. `judge_entry` says what is wrong with a name or value, if anything.
    pub(super) fn secrets(
        &mut self,
        scope: Scope<'_>,
        key: &'static str,
        judge_entry: impl Fn(&str, &str) -> Result<(), String>,
    ) -> BTreeMap<String, SecretString> {
        let mut secrets = BTreeMap::new();
        let Some((value, place)) = self.find(scope, key) else { return secrets };
        let Value::Dict(_, table) = value else {
            self.object(&place, values::wrong_type("a table of texts", value));
            return secrets;
        };
        for (name, value) in table {
            let mut place = Place { origin: self.raw.origin(value), ..place.clone() };
            place.path.push(name.clone());
            let Some(secret) = self.secret_of(value, &place) else { continue };
            match judge_entry(name, secrecy::ExposeSecret::expose_secret(&secret)) {
                Ok(()) => {
                    self.show(&place);
                    secrets.insert(name.clone(), secret);
                }
                Err(problem) => self.object(&place, problem),
            }
        }
        secrets
    }

    /// A text with variables put in, or the text of a file.
    fn secret_of(&mut self, value: &Value, place: &Place) -> Option<SecretString> {
        let Some(table) = value.as_dict() else {
            let text = values::text(value).map_err(|problem| self.object(place, problem)).ok()?;
            return self.expand(text, place).map(|expanded| SecretString::from(expanded.text));
        };
        let (Some(file), 1) = (table.get("file").and_then(Value::as_str), table.len()) else {
            self.object(place, "must be a text or { file = \"/path\" }");
            return None;
        };
        // The path has the layer of its own: a table may have been put together from several.
        let place = Place { origin: self.raw.origin(&table["file"]), ..place.clone() };
        let path = self.expand(file, &place)?.text;
        secret_file::read(Path::new(&path)).map_err(|problem| self.object(&place, problem)).ok().map(SecretString::from)
    }
}
