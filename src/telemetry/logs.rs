//! Log lines: text or JSON, on stderr.

use std::io::{self, IsTerminal};
use std::time::Duration;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;
use tracing_subscriber::util::SubscriberInitExt;

use super::line_queue::LineQueue;
use crate::config::settings::LogSettings;

/// Keeps the way to stderr. Flush it before the process ends, or the last lines are lost.
#[derive(Debug)]
pub struct Logs {
    queue: LineQueue,
}

/// Why logging could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The filter makes no sense.
    #[error("log filter {filter:?} is invalid: {source}")]
    Filter {
        /// As configured.
        filter: String,
        /// What is wrong with it.
        source: ParseError,
    },
    /// The thread that writes could not be started.
    #[error("the log's thread can't be started: {0}")]
    Thread(#[from] io::Error),
}

impl Logs {
    /// Waits until all lines so far are written, at most for `bound`.
    pub fn flush(&self, bound: Duration) {
        self.queue.flush(bound);
    }
}

/// Starts logging to stderr. Where a subscriber is installed already (in tests), that one stays.
///
/// # Errors
/// The filter is invalid, or no thread can be started.
pub fn init(settings: &LogSettings) -> Result<Logs, LogError> {
    let filter = filter(&settings.filter)?;
    let queue = LineQueue::start(io::stderr())?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(queue.clone());
    let installed = if settings.json {
        lines.json().flatten_event(true).with_current_span(false).with_span_list(false).finish().try_init()
    } else {
        lines.with_ansi(io::stderr().is_terminal()).finish().try_init()
    };
    // An error says that there is a subscriber already.
    drop(installed);
    Ok(Logs { queue })
}

/// Libraries that tell contents (messages, headers, URLs) below these levels: secrets among them. A filter that names one of
/// them explicitly gets what it asks for.
const QUIET: [(&str, &str); 7] = [
    ("rmcp", "warn"),
    ("reqwest", "warn"),
    ("hyper", "info"),
    ("hyper_util", "info"),
    ("h2", "info"),
    ("rustls", "info"),
    ("axum", "info"),
];

/// The configured filter, with [`QUIET`] for all libraries that it doesn't name.
///
/// # Errors
/// The filter is invalid.
pub fn filter(configured: &str) -> Result<EnvFilter, LogError> {
    let named = |library: &str| {
        configured.split(',').any(|directive| {
            let target = directive.trim().split(['=', '[']).next().unwrap_or_default();
            target == library || target.strip_prefix(library).is_some_and(|rest| rest.starts_with("::"))
        })
    };
    let mut directives: Vec<String> = QUIET
        .iter()
        .filter(|(library, _)| !named(library))
        .map(|(library, level)| format!("{library}={level}"))
        .collect();
    if !configured.trim().is_empty() {
        directives.push(configured.to_owned());
    }
    EnvFilter::builder()
        .parse(directives.join(","))
        .map_err(|source| LogError::Filter { filter: configured.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_that_log_contents_stay_quiet_at_trace() {
        let filter = filter("trace").unwrap().to_string();
        for (library, level) in QUIET {
            assert!(filter.contains(&format!("{library}={level}")), "{filter}");
        }
        assert!(filter.contains("trace"), "{filter}");
    }

    #[test]
    fn a_library_that_the_filter_names_is_left_to_it() {
        let filter = filter("info,rmcp::service=debug").unwrap().to_string();
        assert!(!filter.contains("rmcp=warn"), "{filter}");
        assert!(filter.contains("rmcp::service=debug"), "{filter}");
    }

    #[test]
    fn a_filter_that_makes_no_sense_is_named() {
        let error = filter("mcp_sidecar=loud").unwrap_err().to_string();
        assert!(error.contains("mcp_sidecar=loud"), "{error}");
    }

    #[test]
    fn a_second_initialisation_changes_nothing_and_fails_nobody() {
        let settings = LogSettings { json: true, filter: "off".to_owned() };
        init(&settings).unwrap();
        init(&settings).unwrap().flush(Duration::from_secs(1));
    }
}
