//! Names in `Host` and `Origin` headers, and the lists of those that are accepted.

use std::net::{IpAddr, Ipv6Addr};

use http::uri::Authority;

/// `host[:port]`, normalised: lower case, no brackets, no final dot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort {
    host: String,
    port: Option<u16>,
}

impl HostPort {
    /// Parses the value of a `Host` header or the authority of a URI. `None` for anything else, user info included.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let authority = Authority::try_from(text).ok()?;
        let port = authority.port_u16();
        if text.contains('@') || (port.is_none() && text.len() != authority.host().len()) {
            return None;
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').trim_end_matches('.');
        (!host.is_empty()).then(|| Self { host: host.to_ascii_lowercase(), port })
    }

    /// Whether a name that an attacker's DNS server controls can't be behind it: `localhost`, or an IP literal.
    #[must_use]
    pub fn is_unspoofable(&self) -> bool {
        self.host == "localhost" || self.host.parse::<IpAddr>().is_ok() || self.host.parse::<Ipv6Addr>().is_ok()
    }

    /// Whether this entry of `allowed_hosts` admits `other`: the same host, and the same port if the entry names one.
    #[must_use]
    pub fn admits(&self, other: &Self) -> bool {
        self.host == other.host && (self.port.is_none() || self.port == other.port)
    }
}

/// An entry of `allowed_origins`, or an `Origin` header's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `null`: sandboxed frames, local files.
    Null,
    /// `scheme://host:port`; the port is the scheme's default where none is written, `None` for `:*`.
    Tuple(String, String, Option<u16>),
}

impl Origin {
    /// Parses `https://host`, `http://host:port`, `http://host:*` (any port; entries only) or `null`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text == "null" {
            return Some(Self::Null);
        }
        let (scheme, authority) = text.split_once("://")?;
        let scheme = scheme.to_ascii_lowercase();
        let (authority, any_port) = authority.strip_suffix(":*").map_or((authority, false), |host| (host, true));
        let host = HostPort::parse(authority.trim_end_matches('/'))?;
        let port = match (any_port, host.port, scheme.as_str()) {
            (true, None, _) => None,
            (false, Some(port), _) => Some(port),
            (false, None, "https") => Some(443),
            (false, None, "http") => Some(80),
            (true, Some(_), _) | (false, None, _) => return None,
        };
        Some(Self::Tuple(scheme, host.host, port))
    }

    /// Whether this entry admits the header's value `other`.
    #[must_use]
    pub fn admits(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Tuple(scheme, host, port), Self::Tuple(theirs, from, at)) => {
                scheme == theirs && host == from && at.is_some() && (port.is_none() || port == at)
            }
            (Self::Null, Self::Tuple(..)) | (Self::Tuple(..), Self::Null) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_localhost_and_ip_literals_are_beyond_the_reach_of_dns() {
        for host in ["localhost", "LOCALHOST:9900", "localhost.", "127.0.0.1", "[::1]:9900", "10.1.2.3:80"] {
            assert!(HostPort::parse(host).unwrap().is_unspoofable(), "{host}");
        }
        for host in ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:9900", "0x7f.1"] {
            assert!(!HostPort::parse(host).unwrap().is_unspoofable(), "{host}");
        }
        for host in ["", "user@localhost", "a b", ":80", "[::1", "localhost:*", "localhost:x"] {
            assert_eq!(HostPort::parse(host), None, "{host}");
        }
    }

    #[test]
    fn an_entry_without_port_admits_each_port_of_that_host() {
        let entry = HostPort::parse("sidecar.svc").unwrap();
        assert!(entry.admits(&HostPort::parse("Sidecar.SVC:9900").unwrap()));
        assert!(!entry.admits(&HostPort::parse("other.svc").unwrap()));
        let exact = HostPort::parse("sidecar.svc:9900").unwrap();
        assert!(!exact.admits(&HostPort::parse("sidecar.svc:9901").unwrap()));
    }

    #[test]
    fn origins_are_compared_as_scheme_host_and_port() {
        let admits = |entry: &str, value: &str| Origin::parse(entry).unwrap().admits(&Origin::parse(value).unwrap());
        assert!(admits("https://app.example", "https://app.example:443"));
        assert!(admits("http://localhost:*", "http://localhost:6274"));
        assert!(admits("null", "null"));
        assert!(!admits("https://app.example", "http://app.example"));
        assert!(!admits("https://app.example", "https://app.example:8443"));
        assert!(!admits("https://app.example", "https://app.example.evil.example"));
        assert!(!admits("https://app.example", "null"));
        assert!(!admits("http://localhost:*", "http://localhost:*"), "a header can't be a wildcard");
        assert_eq!(Origin::parse("app.example"), None);
    }
}
