//! Variables that Kubernetes injects for services whose name begins like ours.

/// Whether `name`, which begins with `prefix`, is one of those that Kubernetes (and Docker before it) sets for a service
/// called like the prefix, or like the prefix and more (`mcp-sidecar-admin`).
pub(super) fn injected(prefix: &str, name: &str, value: &str) -> bool {
    let Some(rest) = name.strip_prefix(prefix) else { return false };
    let rest = format!("_{rest}");
    if rest.contains("__") {
        return false;
    }
    rest.ends_with("_SERVICE_HOST")
        || rest.ends_with("_SERVICE_PORT")
        || rest.contains("_SERVICE_PORT_")
        || (rest.ends_with("_PORT") && value.contains("://"))
        || port_of_protocol(&rest)
}

/// `…_PORT_9900_TCP` and its `_PROTO`, `_PORT` and `_ADDR`.
fn port_of_protocol(rest: &str) -> bool {
    let Some((_, port)) = rest.rsplit_once("_PORT_").filter(|(_, port)| port.starts_with(|c: char| c.is_ascii_digit()))
    else {
        // `_PORT_9900_TCP_PORT` ends in a `_PORT` of its own.
        return false;
    };
    let mut parts = port.split('_');
    let number = parts.next().is_some_and(|number| number.parse::<u16>().is_ok());
    let protocol = matches!(parts.next(), Some("TCP" | "UDP" | "SCTP"));
    number && protocol && matches!(parts.next(), None | Some("PROTO" | "PORT" | "ADDR")) && parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_kubernetes_injects_is_recognised() {
        for (name, value) in [
            ("SERVICE_HOST", "10.0.0.1"),
            ("SERVICE_PORT", "9900"),
            ("SERVICE_PORT_MCP", "9900"),
            ("PORT", "tcp://10.0.0.1:9900"),
            ("PORT_9900_TCP", "tcp://10.0.0.1:9900"),
            ("PORT_9900_TCP_PROTO", "tcp"),
            ("PORT_9900_TCP_PORT", "9900"),
            ("PORT_9900_TCP_ADDR", "10.0.0.1"),
            ("ADMIN_SERVICE_HOST", "10.0.0.1"),
            ("ADMIN_PORT", "tcp://10.0.0.1:9901"),
            ("ADMIN_PORT_53_UDP_ADDR", "10.0.0.1"),
        ] {
            assert!(injected("MCP_SIDECAR_", &format!("MCP_SIDECAR_{name}"), value), "{name}");
        }
    }

    #[test]
    fn what_a_person_sets_is_not() {
        for (name, value) in [
            ("PORT", "9900"),
            ("LISTEN", "127.0.0.1:9900"),
            ("PORT_X_TCP", "1"),
            ("PORT_9900_TCP_OTHER", "1"),
            ("SERVERS__A__ENV__X_SERVICE_HOST", "h"),
        ] {
            assert!(!injected("MCP_SIDECAR_", &format!("MCP_SIDECAR_{name}"), value), "{name}");
        }
    }
}
