//! Who may see what of the admin listener.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::WWW_AUTHENTICATE;
use http::{HeaderValue, StatusCode};
use secrecy::SecretString;

use crate::listener::{Denial, Guard, Listener};

/// What comes before each request: `Host` and `Origin`, how far the listener reaches, and the token.
#[derive(Debug)]
pub struct Access {
    guard: Guard,
    /// Whoever reaches the listener may be anybody, and no token tells them apart.
    probes_only: bool,
}

impl Access {
    /// For this listener. `allowed_hosts` are accepted as `Host` besides loopback names and IP literals; no `Origin` is, because
    /// no page has a reason to be here. `token` is asked for on `/status` only: probes and scrapers have none.
    #[must_use]
    pub fn new(listener: &Listener, allowed_hosts: &[String], token: Option<&SecretString>) -> Self {
        let guard = Guard::new(allowed_hosts, &[], token);
        let local = listener.tcp_address().is_none_or(|address| address.ip().to_canonical().is_loopback());
        Self {
            guard: if listener.is_unix() { guard.without_host_check() } else { guard },
            probes_only: !local && token.is_none(),
        }
    }
}

/// Lets the request pass or answers it.
pub async fn check(State(access): State<Arc<Access>>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path();
    let verdict = access.guard.screen(&parts).and_then(|()| {
        if access.probes_only && !OPEN.contains(&path) {
            Err(Denial {
                status: StatusCode::FORBIDDEN,
                message: "Beyond loopback this needs a token to be configured",
                challenge: None,
            })
        } else if path == GUARDED {
            access.guard.authorize(&parts.headers)
        } else {
            Ok(())
        }
    });
    match verdict {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(denial) => denied(&denial),
    }
}

/// What kubelets and scrapers need. Shows names of servers and numbers, no errors and no addresses.
const OPEN: [&str; 4] = ["/livez", "/readyz", "/startupz", "/metrics"];
const GUARDED: &str = "/status";

fn denied(denial: &Denial) -> Response {
    let mut response = (denial.status, format!("{}\n", denial.message)).into_response();
    if let Some(challenge) = denial.challenge {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    }
    response
}
