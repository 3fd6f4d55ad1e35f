//! An HTTP server that wants credentials nobody has.

use std::net::Ipv4Addr;

/// Starts it; every request gets 401 with a challenge. Lives as long as the test's runtime.
pub async fn unauthorized() -> String {
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
    let address = listener.local_addr().expect("its address");
    let app = axum::Router::new().fallback(|| async {
        (axum::http::StatusCode::UNAUTHORIZED, [("www-authenticate", "Bearer realm=\"test\"")], "credentials, please")
    });
    tokio::spawn(async move { axum::serve(listener, app).await });
    format!("http://{address}/mcp")
}
