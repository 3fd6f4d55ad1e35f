//! The lowest layer: the defaults of the option table.

use figment::value::Value;
use figment::{Figment, Profile, Provider as _};

use super::{Layer, Origin, nest};
use crate::config::environment::Environment;
use crate::config::reference::OPTIONS;

/// What every option of the whole program is unless somebody sets it.
pub(super) fn layer() -> Layer {
    let mut layers = Figment::new();
    for option in OPTIONS.iter().filter(|option| !option.of_server()) {
        let Some(default) = option.default else { continue };
        let path: Vec<&str> = option.key.split('.').collect();
        layers = layers.merge(&Layer { origin: Origin::Default, values: nest(&path, Value::from(default)) });
    }
    let values = layers.data().ok().and_then(|mut map| map.remove(&Profile::Default));
    Layer { origin: Origin::Default, values: values.unwrap_or_default() }
}

/// The directory that systemd made for us, if it did. Below every file: whoever writes `state_dir` means it.
pub(super) fn state_directory(environment: &Environment) -> Option<Layer> {
    const VARIABLE: &str = "STATE_DIRECTORY";
    // Several ones are separated by colons; the first is ours.
    let first = environment.text(VARIABLE)?.split(':').next().filter(|path| !path.is_empty())?;
    let origin = Origin::Environment(VARIABLE.to_owned());
    Some(Layer { origin, values: nest(&["state_dir"], Value::from(first)) })
}
