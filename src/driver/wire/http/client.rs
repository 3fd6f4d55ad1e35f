//! The HTTP client that all servers share.

use std::net::IpAddr;
use std::time::Duration;

use reqwest::redirect;
use secrecy::ExposeSecret;
use url::{Host, Url};

use crate::config::settings::ProxySettings;
use crate::core::cause::{Cause, CauseKind};

/// For the TCP and TLS handshakes.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Idle connections are dropped before servers do it (Node and uvicorn: after 5 s). A request on a connection that the
/// server is just closing would be lost with an unknown outcome.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(4);
const KEEPALIVE: Duration = Duration::from_secs(15);

/// Connections to HTTP servers. Cheap to clone.
#[derive(Clone, Debug)]
pub struct HttpClient {
    direct: reqwest::Client,
    proxied: reqwest::Client,
}

impl HttpClient {
    /// A client that uses these proxies and reads no others from the environment.
    ///
    /// # Errors
    /// A proxy's URL can't be used, or the system's certificates can't be read.
    pub fn new(proxies: &ProxySettings) -> Result<Self, Cause> {
        // An error says that there is a provider already, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let direct = builder().build().map_err(|error| unusable(&error))?;
        let mut proxied = builder();
        let exceptions = proxies.no_proxy.as_deref().and_then(reqwest::NoProxy::from_string);
        for (kind, url) in [(Kind::Http, &proxies.http), (Kind::Https, &proxies.https)] {
            let Some(url) = url else { continue };
            let proxy = match kind {
                Kind::Http => reqwest::Proxy::http(url.expose_secret()),
                Kind::Https => reqwest::Proxy::https(url.expose_secret()),
            };
            let proxy = proxy.map_err(|error| unusable(&error))?;
            proxied = proxied.proxy(proxy.no_proxy(exceptions.clone()));
        }
        let proxied = proxied.build().map_err(|error| unusable(&error))?;
        Ok(Self { direct, proxied })
    }

    /// The client for this URL: a proxy could not reach our loopback, and must not see what goes there.
    pub(in crate::driver::wire) fn for_url(&self, url: &Url) -> &reqwest::Client {
        if is_loopback(url) { &self.direct } else { &self.proxied }
    }
}

enum Kind {
    Http,
    Https,
}

fn builder() -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .user_agent(concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")))
        .no_proxy()
        .redirect(redirect::Policy::none())
        .retry(reqwest::retry::never())
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(POOL_IDLE_TIMEOUT)
        .tcp_nodelay(true)
        .tcp_keepalive(KEEPALIVE)
}

fn unusable(error: &reqwest::Error) -> Cause {
    // A proxy's URL may hold a password: the error's text, which may repeat it, is left out.
    let what = if error.is_builder() { "a proxy's URL or the system's certificates can't be used" } else { "unusable" };
    Cause::new(CauseKind::Internal, format!("the HTTP client: {what}"))
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            name == "localhost" || name.ends_with(".localhost")
        }
        Some(Host::Ipv4(ip)) => ip.is_loopback() || ip.is_unspecified(),
        Some(Host::Ipv6(ip)) => match ip.to_canonical() {
            IpAddr::V4(ip) => ip.is_loopback() || ip.is_unspecified(),
            IpAddr::V6(ip) => ip.is_loopback() || ip.is_unspecified(),
        },
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_has_many_names() {
        let loopback = |url: &str| is_loopback(&Url::parse(url).unwrap());
        for url in [
            "http://127.0.0.1:1/mcp",
            "http://127.9.9.9/",
            "http://[::1]:1/",
            "http://[::ffff:127.0.0.1]/",
            "http://LOCALHOST/",
            "http://localhost./",
            "http://a.localhost/",
            "http://0.0.0.0:1/",
        ] {
            assert!(loopback(url), "{url}");
        }
        for url in
            ["http://10.0.0.1/", "http://localhost.example.com/", "http://notlocalhost/", "https://[2001:db8::1]/"]
        {
            assert!(!loopback(url), "{url}");
        }
    }
}
