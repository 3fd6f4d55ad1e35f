//! The environment that a stdio server gets: a documented minimum of our own, then its `env`. Everything else stays with
//! us, above all what speaks to us (`NOTIFY_SOCKET`, `WATCHDOG_*`, `LISTEN_*`, `CREDENTIALS_DIRECTORY`, `MCP_SIDECAR_*`)
//! and what is somebody's secret.

use std::collections::BTreeMap;

use secrecy::SecretString;

use super::environment::Environment;

/// Names that are passed on.
pub const PASSED_ON: [&str; 26] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TZDIR",
    "TMPDIR",
    "TERM",
    "HOSTNAME",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NIX_SSL_CERT_FILE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
];

/// Beginnings of names that are passed on.
pub const PASSED_ON_PREFIXES: [&str; 2] = ["LC_", "XDG_"];

/// Where programs are looked for if we were given no `PATH` ourselves.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The minimum, out of `environment`. `PATH` and `HOME` are always there. A value that is not UTF-8 is left out.
#[must_use]
pub fn minimal(environment: &Environment) -> BTreeMap<String, SecretString> {
    let passed_on =
        |name: &str| PASSED_ON.contains(&name) || PASSED_ON_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    let mut variables: BTreeMap<String, SecretString> = environment
        .iter()
        .filter(|(name, _)| passed_on(name))
        .filter_map(|(name, value)| Some((name.to_owned(), SecretString::from(value.to_str()?))))
        .collect();
    variables.entry("PATH".to_owned()).or_insert_with(|| SecretString::from(DEFAULT_PATH));
    variables.entry("HOME".to_owned()).or_insert_with(|| SecretString::from(home()));
    variables
}

/// What the user database says.
fn home() -> String {
    std::env::home_dir().and_then(|home| home.into_os_string().into_string().ok()).unwrap_or_else(|| "/".to_owned())
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    fn names(variables: &[(&str, &str)]) -> Vec<String> {
        minimal(&variables.iter().copied().collect()).into_keys().collect()
    }

    #[test]
    fn path_and_home_are_always_there() {
        assert_eq!(names(&[]), ["HOME", "PATH"]);
        let own = minimal(&[("PATH", "/opt/bin"), ("HOME", "/h")].into_iter().collect());
        assert_eq!(own["PATH"].expose_secret(), "/opt/bin");
        assert_eq!(own["HOME"].expose_secret(), "/h");
    }

    #[test]
    fn only_the_documented_names_are_passed_on() {
        let given = [
            ("HOME", "/h"),
            ("LC_ALL", "C"),
            ("PATH", "/bin"),
            ("XDG_STATE_HOME", "/s"),
            ("https_proxy", "http://p"),
            ("NOTIFY_SOCKET", "x"),
            ("WATCHDOG_USEC", "x"),
            ("LISTEN_FDS", "x"),
            ("CREDENTIALS_DIRECTORY", "x"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x"),
            ("MCP_SIDECAR_TOKEN", "x"),
            ("AWS_SECRET_ACCESS_KEY", "x"),
        ];
        assert_eq!(names(&given), ["HOME", "LC_ALL", "PATH", "XDG_STATE_HOME", "https_proxy"]);
    }
}
