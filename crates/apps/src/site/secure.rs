//! [`Secure`]: a port for HTTPS, and what is shown there.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::addresses::{bind_https, certificate_names};
use super::error::SiteError;
use super::listen::{Files, Listener, Service, Tls};

/// Where the page is served by HTTPS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Https {
    /// Where other machines find it.
    pub url: String,
    /// SHA-256 of the certificate, as browsers show it.
    pub fingerprint: String,
}

/// What is asked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    /// Where.
    pub(crate) addr: Option<SocketAddr>,
    /// A certificate of the operator's, and its key.
    pub(crate) certificate: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
    /// Where one of our own lies, or is made.
    pub(crate) folder: Option<PathBuf>,
    /// Names under which browsers may ask.
    pub(crate) names: Vec<String>,
}

/// A port for HTTPS, and what is shown there.
pub(crate) struct Secure {
    tcp: TcpListener,
    addr: SocketAddr,
    tls: Arc<Tls>,
}

impl Secure {
    /// Binds the port, if there is to be one.
    pub(crate) async fn bind(wanted: Wanted) -> Result<Option<Self>, SiteError> {
        let Wanted { addr, certificate, key, folder, names } = wanted;
        let addr = match (addr, &certificate, &key) {
            (Some(addr), _, _) if certificate.is_some() == key.is_some() => addr,
            (None, None, None) => return Ok(None),
            (_, _, _) => return Err(SiteError::HalfTls),
        };
        let tls = match certificate.zip(key) {
            Some((certificate, key)) => Tls::read(Files { certificate, key })?,
            None => {
                let folder = folder.unwrap_or_else(crate::net::state_folder);
                Tls::own(&folder, certificate_names(&names))?
            }
        };
        let tcp = bind_https(addr).await?;
        let addr = tcp.local_addr().map_err(SiteError::System)?;
        Ok(Some(Self { tcp, addr, tls }))
    }

    pub(crate) fn https(&self) -> Https {
        let url = format!("https://{}/", crate::net::from_elsewhere(self.addr));
        Https { url, fingerprint: self.tls.fingerprint() }
    }

    /// Serves, and follows the certificate's file, whose changes `news` is told.
    pub(crate) fn serve(
        self,
        service: Service,
        news: mpsc::Sender<String>,
    ) -> Result<(), SiteError> {
        let listener = Listener { tcp: self.tcp, tls: Some(self.tls.acceptor()?), service };
        tokio::spawn(self.tls.follow(news));
        tokio::spawn(listener.serve());
        Ok(())
    }
}
