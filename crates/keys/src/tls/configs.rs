//! [`Configs`]: what TLS is told, for each role and each form in which keys go.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::server::{CertificateType, ClientHello};
use rustls::version::TLS13;
use rustls::{ClientConfig, KeyLog, ServerConfig};

use super::credentials::{Credentials, Shown};
use super::verifier::{Judge, Verifier};
use crate::certificate::Certificate;
use crate::error::KeyError;
use crate::identity::Identity;
use crate::trust::Trust;

/// What TLS is told.
///
/// RFC 7250 section 4.1: "the client_certificate_type extension in the client hello indicates the
/// certificate types the client is able to provide to the server", and likewise what it is able to
/// process of the server's. A client names one form for each direction: keys as they are, unless it
/// has a certificate, or wants to see one. The server takes what it is offered.
#[derive(Debug, Clone)]
pub(super) struct Configs {
    pub(super) client: Arc<ClientConfig>,
    /// By whether the client's key comes as it is, and whether ours is to go so.
    servers: [[Arc<ServerConfig>; 2]; 2],
}

impl Configs {
    pub(super) fn new(
        identity: &Identity,
        trust: &Trust,
        certificate: Option<&Certificate>,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Self, KeyError> {
        let credentials = Arc::new(Credentials::new(identity, certificate, provider)?);
        let judge = trust.authority().map(|authority| Judge::new(authority, provider));
        let judge = judge.transpose()?.map(Arc::new);
        let parts = Parts { trust, judge, credentials, provider };
        let server = |takes_raw, shows_raw| parts.server(takes_raw, shows_raw);
        Ok(Self {
            client: parts.client()?,
            servers: [
                [server(false, false)?, server(false, true)?],
                [server(true, false)?, server(true, true)?],
            ],
        })
    }

    /// For who begins so. What is not said is an X.509 certificate.
    pub(super) fn server(&self, hello: &ClientHello<'_>) -> Arc<ServerConfig> {
        let is_raw = |types: Option<&[CertificateType]>| {
            types.is_some_and(|types| types.contains(&CertificateType::RawPublicKey))
        };
        let [takes_raw, shows_raw] = [hello.client_cert_types(), hello.server_cert_types()]
            .map(|types| usize::from(is_raw(types)));
        Arc::clone(&self.servers[takes_raw][shows_raw])
    }

    pub(super) fn set_key_log(&mut self, log: &Arc<dyn KeyLog>) {
        Arc::make_mut(&mut self.client).key_log = Arc::clone(log);
        for server in self.servers.as_flattened_mut() {
            Arc::make_mut(server).key_log = Arc::clone(log);
        }
    }
}

struct Parts<'a> {
    trust: &'a Trust,
    judge: Option<Arc<Judge>>,
    credentials: Arc<Credentials>,
    provider: &'a Arc<CryptoProvider>,
}

impl Parts<'_> {
    fn verifier(&self, is_raw: bool) -> Arc<Verifier> {
        let judge = self.judge.clone();
        Arc::new(Verifier::new(self.trust.clone(), is_raw, judge, self.provider))
    }

    fn shown(&self, is_raw: bool) -> Arc<Shown> {
        Arc::new(Shown { credentials: Arc::clone(&self.credentials), is_raw })
    }

    fn client(&self) -> Result<Arc<ClientConfig>, KeyError> {
        let client = ClientConfig::builder_with_provider(Arc::clone(self.provider))
            .with_protocol_versions(&[&TLS13])
            .map_err(failure)?
            .dangerous()
            .with_custom_certificate_verifier(self.verifier(self.judge.is_none()))
            .with_client_cert_resolver(self.shown(!self.credentials.has_certificate()));
        Ok(Arc::new(client))
    }

    fn server(&self, takes_raw: bool, shows_raw: bool) -> Result<Arc<ServerConfig>, KeyError> {
        let mut server = ServerConfig::builder_with_provider(Arc::clone(self.provider))
            .with_protocol_versions(&[&TLS13])
            .map_err(failure)?
            .with_client_cert_verifier(self.verifier(takes_raw))
            .with_cert_resolver(self.shown(shows_raw));
        // Each association has a full handshake.
        server.send_tls13_tickets = 0;
        Ok(Arc::new(server))
    }
}

fn failure(error: rustls::Error) -> KeyError {
    KeyError::Tls(error.to_string())
}
