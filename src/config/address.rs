//! Where a listener listens, as text.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use super::settings::ListenAddress;

/// What fits into `sockaddr_un` besides its terminating zero.
const LONGEST_SOCKET_PATH: usize = 107;

/// Reads `127.0.0.1:9900`, `[::1]:9900`, `localhost:9900` (which means 127.0.0.1, without asking DNS) or
/// `unix:/run/mcp.sock`.
///
/// # Errors
/// What is wrong, for a person.
pub fn parse(text: &str) -> Result<ListenAddress, String> {
    if let Some(path) = text.strip_prefix("unix:") {
        return unix(path);
    }
    let numeric = match text.strip_prefix("localhost:") {
        Some(port) => format!("{}:{port}", Ipv4Addr::LOCALHOST),
        None => text.to_owned(),
    };
    numeric.parse().map(ListenAddress::Tcp).map_err(|_| {
        let right = match text.trim_start_matches(':').parse::<u16>() {
            Ok(port) => format!("127.0.0.1:{port}"),
            Err(_) => "127.0.0.1:9900, [::1]:9900 or unix:/run/mcp.sock".to_owned(),
        };
        format!("is not an address to listen on; write an IP address and a port or unix:/path, e.g. {right}")
    })
}

fn unix(path: &str) -> Result<ListenAddress, String> {
    // `unix:///run/x.sock` is how many other programs write it.
    let path = if path.starts_with("///") { &path[2..] } else { path };
    if !path.starts_with('/') || path.ends_with('/') {
        return Err("must hold an absolute path of a socket, e.g. unix:/run/mcp.sock".to_owned());
    }
    if path.len() > LONGEST_SOCKET_PATH || path.contains('\0') {
        return Err(format!("is too long: a socket's path may have {LONGEST_SOCKET_PATH} bytes"));
    }
    Ok(ListenAddress::Unix(PathBuf::from(path)))
}

/// Whether only this machine can reach it.
#[must_use]
pub fn is_local(address: &ListenAddress) -> bool {
    match address {
        ListenAddress::Tcp(address) => address.ip().to_canonical().is_loopback(),
        ListenAddress::Unix(_) => true,
    }
}

/// Whether two listeners can't both have what they want.
#[must_use]
pub fn collide(a: &ListenAddress, b: &ListenAddress) -> bool {
    match (a, b) {
        (ListenAddress::Unix(a), ListenAddress::Unix(b)) => a == b,
        (ListenAddress::Tcp(a), ListenAddress::Tcp(b)) => a.port() == b.port() && a.port() != 0 && overlap(a, b),
        (ListenAddress::Unix(_), ListenAddress::Tcp(_)) | (ListenAddress::Tcp(_), ListenAddress::Unix(_)) => false,
    }
}

fn overlap(a: &SocketAddr, b: &SocketAddr) -> bool {
    let any = |ip: IpAddr, other: IpAddr| ip.is_unspecified() && (ip.is_ipv6() || other.is_ipv4());
    let (a, b) = (a.ip().to_canonical(), b.ip().to_canonical());
    a == b || any(a, b) || any(b, a)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(text: &str) -> ListenAddress {
        ListenAddress::Tcp(text.parse().unwrap())
    }

    #[test]
    fn addresses_are_ip_and_port_or_a_socket_path() {
        assert_eq!(parse("127.0.0.1:9900"), Ok(tcp("127.0.0.1:9900")));
        assert_eq!(parse("[::1]:0"), Ok(tcp("[::1]:0")));
        assert_eq!(parse("localhost:80"), Ok(tcp("127.0.0.1:80")));
        assert_eq!(parse("unix:/run/x.sock"), Ok(ListenAddress::Unix("/run/x.sock".into())));
        assert_eq!(parse("unix:///run/x.sock"), Ok(ListenAddress::Unix("/run/x.sock".into())));
    }

    #[test]
    fn a_bare_port_is_answered_with_the_right_spelling() {
        assert!(parse("9900").unwrap_err().ends_with("e.g. 127.0.0.1:9900"));
        assert!(parse(":8000").unwrap_err().ends_with("e.g. 127.0.0.1:8000"));
        for bad in ["", "http://127.0.0.1:1/mcp", "example.com:1", "127.0.0.1", "unix:x", "unix:/a/"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        assert!(parse(&format!("unix:/{}", "x".repeat(107))).unwrap_err().contains("107"));
    }

    #[test]
    fn only_loopback_and_sockets_are_local() {
        for local in ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1", "unix:/x"] {
            assert!(is_local(&parse(local).unwrap()), "{local}");
        }
        for open in ["0.0.0.0:1", "[::]:1", "10.0.0.1:1", "[::ffff:10.0.0.1]:1"] {
            assert!(!is_local(&parse(open).unwrap()), "{open}");
        }
    }

    #[test]
    fn a_wildcard_collides_with_what_it_covers() {
        let collides = |a: &str, b: &str| collide(&parse(a).unwrap(), &parse(b).unwrap());
        assert!(collides("127.0.0.1:1", "127.0.0.1:1"));
        assert!(collides("0.0.0.0:1", "127.0.0.1:1"));
        assert!(collides("127.0.0.1:1", "[::]:1"));
        assert!(collides("unix:/x", "unix:/x"));
        assert!(!collides("127.0.0.1:0", "127.0.0.1:0"));
        assert!(!collides("0.0.0.0:1", "[::1]:1"));
        assert!(!collides("127.0.0.1:1", "127.0.0.1:2"));
        assert!(!collides("unix:/x", "127.0.0.1:1"));
    }
}
