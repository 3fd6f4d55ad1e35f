//! One URL with its headers: sends requests, follows the redirects that may be followed, hides what is secret.

use std::error::Error;
use std::sync::{Mutex, PoisonError};

use http::header::{HeaderMap, HeaderName, HeaderValue, LOCATION};
use http::{Method, StatusCode};
use secrecy::ExposeSecret;
use url::Url;

use super::client::HttpClient;
use crate::config::settings::HttpSettings;
use crate::core::cause::{Cause, CauseKind};

/// More redirects than this are a circle.
const MAX_REDIRECTS: usize = 5;

/// Where a server is. Not to be shown: the URL may hold secrets.
pub struct Endpoint {
    client: reqwest::Client,
    /// Moves with a permanent redirect.
    url: Mutex<Url>,
    headers: HeaderMap,
}

/// Why a request has no response.
#[derive(Debug)]
pub enum NoResponse {
    /// There is no connection: the server can't have seen the request.
    NotConnected(Cause),
    /// The server may have seen it.
    Lost(Cause),
    /// The server sends us where we do not go.
    Misdirected(Cause),
}

impl Endpoint {
    /// The place that the settings name.
    ///
    /// # Errors
    /// A header can't be sent.
    pub fn new(settings: &HttpSettings, client: &HttpClient) -> Result<Self, Cause> {
        let mut headers = HeaderMap::new();
        for (name, value) in &settings.headers {
            let refused = || Cause::new(CauseKind::HandshakeFailed, format!("the header {name:?} can't be sent"));
            let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refused())?;
            let mut value = HeaderValue::from_str(value.expose_secret()).map_err(|_| refused())?;
            value.set_sensitive(true);
            headers.insert(key, value);
        }
        let mut url = settings.url.clone();
        url.set_fragment(None);
        Ok(Self { client: client.for_url(&url).clone(), url: Mutex::new(url), headers })
    }

    /// The same credentials at another URL of the same origin.
    ///
    /// # Errors
    /// It is of another origin.
    pub fn sibling(&self, reference: &str) -> Result<Self, Cause> {
        let url = self.url();
        let found = url.join(reference).ok().filter(|found| found.origin() == url.origin());
        let url = found.ok_or_else(|| {
            Cause::new(CauseKind::ProtocolViolation, "the server names an endpoint of another origin")
        })?;
        Ok(Self { client: self.client.clone(), url: Mutex::new(url), headers: self.headers.clone() })
    }

    /// Sends a request; `headers` on top of the configured ones.
    pub async fn send(
        &self,
        method: Method,
        headers: &HeaderMap,
        body: Vec<u8>,
    ) -> Result<reqwest::Response, NoResponse> {
        let origin = self.url();
        let mut url = origin.clone();
        let body = bytes::Bytes::from(body);
        for _ in 0..=MAX_REDIRECTS {
            let mut all = self.headers.clone();
            all.extend(headers.iter().map(|(name, value)| (name.clone(), value.clone())));
            let request = self.client.request(method.clone(), url.clone()).headers(all);
            // `body` sets a length even of nothing, which a GET should not have.
            let request = if body.is_empty() { request } else { request.body(body.clone()) };
            let response = request.send().await.map_err(|error| explain(&error))?;
            let status = response.status();
            if status != StatusCode::TEMPORARY_REDIRECT && status != StatusCode::PERMANENT_REDIRECT {
                return Ok(response);
            }
            let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            let target = location.and_then(|location| url.join(location).ok());
            let Some(target) = target.filter(|target| target.origin() == origin.origin()) else {
                return Err(misdirected(format!("HTTP {} to another origin: configure that URL", status.as_u16())));
            };
            url = target;
            if status == StatusCode::PERMANENT_REDIRECT {
                *self.url.lock().unwrap_or_else(PoisonError::into_inner) = url.clone();
            }
        }
        Err(misdirected(format!("more than {MAX_REDIRECTS} redirects")))
    }

    fn url(&self) -> Url {
        self.url.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn misdirected(detail: String) -> NoResponse {
    NoResponse::Misdirected(Cause::new(CauseKind::ProtocolViolation, detail))
}

fn explain(error: &reqwest::Error) -> NoResponse {
    let detail = told(error);
    if error.is_connect() {
        return NoResponse::NotConnected(Cause::new(CauseKind::ConnectRefused, format!("could not connect: {detail}")));
    }
    NoResponse::Lost(Cause::new(CauseKind::TransportClosed, format!("the connection broke: {detail}")))
}

/// The error's innermost reason. The outer ones repeat the URL, whose query may be a secret.
pub fn told(error: &(dyn Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    match innermost.downcast_ref::<reqwest::Error>() {
        Some(error) if error.is_timeout() => "timed out".to_owned(),
        Some(_) => "no further reason".to_owned(),
        None => innermost.to_string(),
    }
}
