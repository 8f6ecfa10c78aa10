//! Names to addresses.

use std::net::{IpAddr, SocketAddr};

use anabranch_driver::canonical;

use super::NetError;

/// The addresses of a host, in the system's order of preference. At least one.
pub(super) async fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, NetError> {
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, port)]);
    }
    let unknown = |message: String| NetError::UnknownHost { host: host.to_owned(), message };
    let found = tokio::net::lookup_host((host, port)).await;
    let found = found.map_err(|error| unknown(error.to_string()))?;
    let mut addrs: Vec<SocketAddr> = Vec::new();
    for addr in found.map(canonical) {
        if !addrs.contains(&addr) {
            addrs.push(addr);
        }
    }
    if addrs.is_empty() {
        return Err(unknown("it has no address".to_owned()));
    }
    Ok(addrs)
}
