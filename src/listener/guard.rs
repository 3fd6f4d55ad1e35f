//! Who may speak to a listener: `Host`, `Origin` and bearer token.

use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, HeaderName, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::origin::{HostPort, Origin};

/// The checks that come before anything else. Cheap to share behind an `Arc`.
#[derive(Debug)]
pub struct Guard {
    hosts: Vec<HostPort>,
    origins: Vec<Origin>,
    token: Option<[u8; 32]>,
    check_host: bool,
    same_origin: bool,
}

/// Why a request was turned away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// 400, 401 or 403.
    pub status: StatusCode,
    /// For the client; repeats nothing that it sent.
    pub message: &'static str,
    /// Value of `WWW-Authenticate`, with 401.
    pub challenge: Option<&'static str>,
}

impl Guard {
    /// Accepts `localhost`, IP literals and `hosts` as `Host`; no `Origin` besides `origins`; `token`, if any, as
    /// bearer. Entries that can't be parsed admit nobody (configuration refuses them before).
    #[must_use]
    pub fn new(hosts: &[String], origins: &[String], token: Option<&SecretString>) -> Self {
        Self {
            hosts: hosts.iter().filter_map(|entry| HostPort::parse(entry)).collect(),
            origins: origins.iter().filter_map(|entry| Origin::parse(entry)).collect(),
            token: token.map(|token| Sha256::digest(token.expose_secret().as_bytes()).into()),
            check_host: true,
            same_origin: false,
        }
    }

    /// For a UNIX socket, where clients put anything into `Host` and no browser can come from.
    #[must_use]
    pub fn without_host_check(self) -> Self {
        Self { check_host: false, ..self }
    }

    /// Also admits the origin that the request itself goes to, where DNS has no say in it (`localhost`, IP literals):
    /// a page of ours, or a client that is told to send an `Origin`. No foreign page can have it.
    #[must_use]
    pub fn with_same_origin(self) -> Self {
        Self { same_origin: true, ..self }
    }

    /// Against DNS rebinding and foreign web pages. To be called first, on every path.
    ///
    /// # Errors
    /// 400 for a missing or malformed `Host`, 403 for one that is not accepted, or an `Origin` that is not.
    pub fn screen(&self, request: &Parts) -> Result<(), Denial> {
        if self.check_host {
            self.screen_host(request)?;
        }
        match single(&request.headers, &ORIGIN) {
            Ok(None) => Ok(()),
            Ok(Some(origin)) if self.admits(origin) || self.is_same_origin(origin, &request.headers) => Ok(()),
            Ok(Some(_)) | Err(Malformed) => Err(Denial::forbidden("Origin is not allowed")),
        }
    }

    /// Whether the request carries the token, or none is asked for. Takes the same time for each wrong one.
    ///
    /// # Errors
    /// 401 with a challenge.
    pub fn authorize(&self, headers: &HeaderMap) -> Result<(), Denial> {
        let Some(expected) = &self.token else { return Ok(()) };
        let Some(given) = single(headers, &AUTHORIZATION).ok().flatten().and_then(bearer) else {
            return Err(Denial::unauthorized("A bearer token is required", r#"Bearer realm="mcp-sidecar""#));
        };
        let given: [u8; 32] = Sha256::digest(given.as_bytes()).into();
        if bool::from(given.ct_eq(expected)) {
            Ok(())
        } else {
            Err(Denial::unauthorized(
                "The bearer token is wrong",
                r#"Bearer realm="mcp-sidecar", error="invalid_token""#,
            ))
        }
    }

    fn screen_host(&self, request: &Parts) -> Result<(), Denial> {
        let host = match single(&request.headers, &HOST) {
            Ok(Some(host)) => HostPort::parse(host),
            Ok(None) | Err(Malformed) => None,
        };
        let Some(host) = host else {
            return Err(Denial {
                status: StatusCode::BAD_REQUEST,
                message: "Host is missing or malformed",
                challenge: None,
            });
        };
        // A request line in absolute form overrides the header (RFC 9112 §3.2.2).
        let target = request.uri.authority().map(|authority| HostPort::parse(authority.as_str()));
        let accepted = |host: &HostPort| host.is_unspoofable() || self.hosts.iter().any(|entry| entry.admits(host));
        if accepted(&host) && target.is_none_or(|target| target.as_ref().is_some_and(accepted)) {
            Ok(())
        } else {
            Err(Denial::forbidden("Host is not allowed"))
        }
    }

    fn is_same_origin(&self, origin: &str, headers: &HeaderMap) -> bool {
        let host = single(headers, &HOST).ok().flatten();
        self.same_origin
            && host.is_some_and(|host| {
                HostPort::parse(host).is_some_and(|host| host.is_unspoofable())
                    && Origin::parse(&format!("http://{host}"))
                        .is_some_and(|own| Origin::parse(origin).is_some_and(|origin| own.admits(&origin)))
            })
    }

    fn admits(&self, origin: &str) -> bool {
        Origin::parse(origin).is_some_and(|origin| self.origins.iter().any(|entry| entry.admits(&origin)))
    }
}

impl Denial {
    const fn forbidden(message: &'static str) -> Self {
        Self { status: StatusCode::FORBIDDEN, message, challenge: None }
    }

    const fn unauthorized(message: &'static str, challenge: &'static str) -> Self {
        Self { status: StatusCode::UNAUTHORIZED, message, challenge: Some(challenge) }
    }
}

struct Malformed;

/// The only value of a header that must not be repeated: two readers could take different ones.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Malformed> {
    let mut values = headers.get_all(name).iter();
    let Some(first) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(Malformed);
    }
    first.to_str().map(Some).map_err(|_| Malformed)
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn request(uri: &str, headers: &[(&str, &str)]) -> Parts {
        let mut builder = Request::builder().uri(uri);
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        builder.body(()).unwrap().into_parts().0
    }

    fn screened(guard: &Guard, headers: &[(&str, &str)]) -> u16 {
        guard.screen(&request("/mcp", headers)).map_or_else(|denial| denial.status.as_u16(), |()| 200)
    }

    #[test]
    fn foreign_hosts_and_origins_are_refused() {
        let guard = Guard::new(&["sidecar.svc".into()], &["https://app.example".into()], None);
        assert_eq!(screened(&guard, &[("host", "127.0.0.1:9900")]), 200);
        assert_eq!(screened(&guard, &[("host", "sidecar.svc:9900")]), 200);
        assert_eq!(screened(&guard, &[("host", "localhost"), ("origin", "https://app.example")]), 200);
        assert_eq!(screened(&guard, &[("host", "evil.example:9900")]), 403);
        assert_eq!(screened(&guard, &[("host", "localhost"), ("origin", "http://evil.example")]), 403);
        assert_eq!(screened(&guard, &[("host", "localhost"), ("origin", "null")]), 403);
        assert_eq!(screened(&guard, &[("host", "localhost"), ("origin", "https://app.example"), ("origin", "x")]), 403);
        assert_eq!(screened(&guard, &[]), 400);
        assert_eq!(screened(&guard, &[("host", "localhost"), ("host", "evil.example")]), 400);
    }

    #[test]
    fn our_own_origin_is_admitted_where_it_cannot_be_forged() {
        let guard = Guard::new(&["sidecar.svc".into()], &[], None);
        let own = [("host", "localhost:9900"), ("origin", "http://localhost:9900")];
        assert_eq!(screened(&guard, &own), 403);
        let guard = guard.with_same_origin();
        assert_eq!(screened(&guard, &own), 200);
        assert_eq!(screened(&guard, &[("host", "localhost:9900"), ("origin", "http://localhost:9901")]), 403);
        assert_eq!(screened(&guard, &[("host", "localhost:9900"), ("origin", "http://127.0.0.1:9900")]), 403);
        assert_eq!(screened(&guard, &[("host", "sidecar.svc"), ("origin", "http://sidecar.svc")]), 403);
        assert_eq!(screened(&guard, &[("host", "localhost:*"), ("origin", "http://localhost:1")]), 400);
    }

    #[test]
    fn an_absolute_request_line_cannot_smuggle_a_foreign_host() {
        let guard = Guard::new(&[], &[], None);
        let parts = request("http://evil.example/mcp", &[("host", "localhost")]);
        assert_eq!(guard.screen(&parts).unwrap_err().status, StatusCode::FORBIDDEN);
    }

    #[test]
    fn a_unix_socket_takes_any_host_but_no_foreign_origin() {
        let guard = Guard::new(&[], &[], None).without_host_check();
        assert_eq!(screened(&guard, &[("host", "whatever")]), 200);
        assert_eq!(screened(&guard, &[("origin", "http://evil.example")]), 403);
    }

    #[test]
    fn a_token_is_demanded_where_one_is_set() {
        let guard = Guard::new(&[], &[], Some(&"s3cret".into()));
        let authorized = |value: Option<&str>| {
            let headers: Vec<_> = value.iter().map(|value| ("authorization", *value)).collect();
            guard.authorize(&request("/", &headers).headers)
        };
        assert!(authorized(Some("Bearer s3cret")).is_ok());
        assert!(authorized(Some("bearer s3cret")).is_ok());
        for wrong in [None, Some("Bearer s3cre"), Some("Bearer "), Some("s3cret"), Some("Basic s3cret")] {
            let denial = authorized(wrong).unwrap_err();
            assert_eq!(denial.status, StatusCode::UNAUTHORIZED);
            assert!(denial.challenge.unwrap().starts_with("Bearer"));
        }
        assert!(Guard::new(&[], &[], None).authorize(&HeaderMap::new()).is_ok());
    }
}
