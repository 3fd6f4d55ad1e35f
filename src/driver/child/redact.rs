//! Keeps a server's secrets out of what we repeat of its stderr.

use secrecy::ExposeSecret;

use crate::config::settings::StdioSettings;

/// Shorter values (`1`, `true`, `debug`) are no secrets, and removing them would only garble the text.
const SHORTEST: usize = 8;
const PLACEHOLDER: &str = "[redacted]";

/// Replaces the values that a server was configured with.
///
/// These are: each value of `env`; of an argument `name=value`, the value; the argument that follows an option, unless
/// it looks like a path or another option. All only from 8 bytes on.
pub struct Redactor {
    /// Longest first: a secret may contain another one.
    secrets: Vec<String>,
}

impl Redactor {
    /// For one server's secrets.
    pub fn new(settings: &StdioSettings) -> Self {
        let env = settings.env.values().map(|value| value.expose_secret());
        let args: Vec<&str> = settings.args.iter().map(|argument| argument.expose_secret()).collect();
        let assigned = args.iter().filter_map(|argument| Some(argument.split_once('=')?.1));
        let following =
            args.windows(2).filter(|pair| pair[0].starts_with('-') && !pair[0].contains('=')).map(|pair| pair[1]);
        let following = following.filter(|value| !value.starts_with('-') && !value.contains('/'));
        let mut secrets: Vec<String> =
            env.chain(assigned).chain(following).filter(|value| value.len() >= SHORTEST).map(str::to_owned).collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.dedup();
        Self { secrets }
    }

    /// The text without secrets.
    pub fn redact(&self, mut text: String) -> String {
        for secret in &self.secrets {
            if text.contains(secret) {
                text = text.replace(secret, PLACEHOLDER);
            }
        }
        text
    }

    /// Length in bytes of the longest secret: where a text was cut off, that much of its end may be part of one.
    pub fn longest(&self) -> usize {
        self.secrets.first().map_or(0, String::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor(args: &[&str], env: &[(&str, &str)]) -> Redactor {
        Redactor::new(&StdioSettings {
            command: "server".to_owned(),
            args: args.iter().map(|argument| (*argument).to_owned().into()).collect(),
            env: env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned().into())).collect(),
            environment: Default::default(),
            cwd: None,
        })
    }

    #[test]
    fn values_of_env_and_arguments_are_replaced() {
        let redactor = redactor(&["--api-key", "canary-one", "-e", "T=canary-two"], &[("TOKEN", "canary-one-more")]);
        let text = redactor.redact("canary-one-more, T=canary-two, U=canary-two, canary-one".to_owned());
        assert_eq!(text, "[redacted], [redacted], U=[redacted], [redacted]");
    }

    #[test]
    fn ordinary_words_stay_readable() {
        let redactor = redactor(&["-y", "@scope/server-files", "--verbose", "--level=debug"], &[("DEBUG", "true")]);
        let text = "npx -y @scope/server-files --verbose --level=debug: true";
        assert_eq!(redactor.redact(text.to_owned()), text);
    }
}
