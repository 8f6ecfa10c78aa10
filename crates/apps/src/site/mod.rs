//! What servers of pages have in common: where they are found, who may ask, and the certificate
//! that they show.

mod addresses;
mod answers;
mod config_file;
mod error;
mod exposition;
mod listen;
mod operator;
mod origin_guard;
mod ports;
mod proxies;
mod random;
mod secure;
mod sessions;

pub use addresses::Advertised;
pub(crate) use addresses::{bind_http, bind_udp, candidates};
pub(crate) use answers::{accept_status, asset, done, guarded, not_found, unauthorized};
pub use config_file::ConfigError;
pub(crate) use config_file::{TextFile, line_of, read_toml};
pub use error::SiteError;
pub(crate) use exposition::Exposition;
pub use listen::TlsError;
pub(crate) use listen::{Listener, NoPlace, Peer, Place, Places, Service, places};
#[cfg(test)]
pub(crate) use operator::description;
pub(crate) use operator::operators;
pub(crate) use origin_guard::OriginGuard;
pub use ports::{http_address, https_address, udp_address};
pub(crate) use ports::{http_place, https_place, udp_place};
pub(crate) use proxies::Proxies;
pub use proxies::{Network, NoNetwork};
pub(crate) use random::{random_hex, random_token};
pub use secure::Https;
pub(crate) use secure::{Secure, Wanted};
pub(crate) use sessions::Sessions;
