//! The proxies that the environment names, for our own HTTP client: it must not read the environment itself.

use secrecy::SecretString;

use super::environment::Environment;
use super::settings::ProxySettings;

/// Reads `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`; the lower-case spelling wins over the upper-case one.
/// A proxy that is no http(s) URL is left out with a warning that does not show it: it may hold a password.
pub fn read(environment: &Environment, warnings: &mut Vec<String>) -> ProxySettings {
    let text = |name: &str| {
        let value = environment.text(name).or_else(|| environment.text(&name.to_ascii_uppercase()));
        value.map(str::trim).filter(|value| !value.is_empty())
    };
    let mut proxy = |name: &str| {
        let value = text(name).or_else(|| text("all_proxy"))?;
        // `proxy:3128` is how most programs let it be written.
        let url = if value.contains("://") { value.to_owned() } else { format!("http://{value}") };
        let usable = url::Url::parse(&url).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        if !usable {
            warnings
                .push(format!("ignoring the proxy that {name} or all_proxy names: it is no http:// or https:// URL"));
        }
        usable.then(|| SecretString::from(url))
    };
    let (http, https) = (proxy("http_proxy"), proxy("https_proxy"));
    ProxySettings { http, https, no_proxy: text("no_proxy").map(str::to_owned) }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    fn proxies(variables: &[(&str, &str)]) -> (ProxySettings, Vec<String>) {
        let mut warnings = Vec::new();
        (read(&variables.iter().copied().collect(), &mut warnings), warnings)
    }

    fn exposed(secret: &Option<SecretString>) -> Option<&str> {
        secret.as_ref().map(ExposeSecret::expose_secret)
    }

    #[test]
    fn the_lower_case_spelling_wins_and_all_proxy_stands_in() {
        let (proxy, warnings) = proxies(&[
            ("http_proxy", "a:1"),
            ("HTTP_PROXY", "http://b:1"),
            ("ALL_PROXY", "https://c:1"),
            ("NO_PROXY", "x,y"),
        ]);
        assert_eq!((exposed(&proxy.http), exposed(&proxy.https)), (Some("http://a:1"), Some("https://c:1")));
        assert_eq!((proxy.no_proxy.as_deref(), warnings.len()), (Some("x,y"), 0));
    }

    #[test]
    fn an_unusable_proxy_is_left_out_without_being_shown() {
        let (proxy, warnings) = proxies(&[("https_proxy", "socks5://u:canary@p:1"), ("http_proxy", "")]);
        assert!(proxy.http.is_none() && proxy.https.is_none());
        assert!(warnings.len() == 1 && !warnings[0].contains("canary"), "{warnings:?}");
    }
}
