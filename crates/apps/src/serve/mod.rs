//! The service behind `anabranch serve`: channels from their sources to all who watch.

mod access;
mod config;
mod error;
mod http;
mod import;
mod metrics;
mod operator;
mod players;
mod playlist;
mod relay;
pub(crate) mod source;
mod station;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anabranch_driver::{Driver, Recording};
use anabranch_keys::PublicKey;
use anabranch_sansio::Rng;
use anabranch_television::{Carrier, Server, ServerConfig, Television, TelevisionConfig};
use serde::Serialize;
use tokio::sync::mpsc;

use crate::input::Readers;
use crate::service::{Secured, Stop, url_of};
use crate::site::{
    Advertised, Https, Listener, OriginGuard, Places, Proxies, Secure, Service, SiteError, Wanted,
    bind_http, bind_udp, candidates, places, random_hex, random_token,
};
use crate::url::EncryptionSwitch;
use access::{Access, TokenAccess};
pub use access::{AccessKey, All, KeyError, Ticket, TicketChannels, TicketError, TokenError};
pub use config::{ChannelAccess, ChannelConfig, ChannelsFile, ServerSection};
pub use error::ServeError;
use http::Site;
pub use source::{DemoChannel, Source};
use station::{NEWS_MAX, Station};

/// Viewers hear so long that the server ends.
const FAREWELL: Duration = Duration::from_millis(300);

/// Random bytes of the name by which other servers know this one.
const NAME_BYTES: usize = 8;

/// Datagrams in one call: as many of 1,200 bytes as the kernel's 64 KiB hold.
const SEGMENTS_MAX: usize = 48;

/// Players at once. Each holds a connection, and few people use one.
const PLAYERS_MAX: usize = 200;

/// What to serve, and where.
#[derive(Debug, Clone, Default)]
pub struct ServeOptions {
    /// Channels and settings.
    pub file: ChannelsFile,
    /// Where the page is served, before what the file says.
    pub http: Option<SocketAddr>,
    /// Where viewers are served, before what the file says.
    pub udp: Option<SocketAddr>,
    /// Where viewers find the server, before what the file says.
    pub advertise: Option<Advertised>,
    /// Names under which browsers may ask, beside those of the file.
    pub names: Vec<String>,
    /// What opens the operator's interface; a random one without it.
    pub operator_token: Option<String>,
    /// Where the page is served by HTTPS, before what the file says.
    pub https: Option<SocketAddr>,
    /// The certificate for it, before what the file says.
    pub tls_certificate: Option<PathBuf>,
    /// The certificate's key, before what the file says.
    pub tls_key: Option<PathBuf>,
    /// The file with the key for tokens, before what the channels' file says.
    pub access_key: Option<PathBuf>,
    /// Whether native viewers' sessions are encrypted, before what the file says.
    pub encryption: Option<EncryptionSwitch>,
    /// Where every packet of the viewers' port is recorded, if that is wanted.
    pub recording: Recording,
    /// Where films in foreign containers are read.
    pub readers: Readers,
}

/// A server that answers.
#[derive(Debug)]
pub struct Serving {
    http: SocketAddr,
    https: Option<Https>,
    udp: Vec<SocketAddr>,
    /// That by which native viewers know the server, if what they get is encrypted.
    key: Option<PublicKey>,
    candidates: Vec<SocketAddr>,
    station: Arc<Station>,
    token: String,
    news: mpsc::Receiver<String>,
}

/// What a server reports.
#[derive(Debug)]
pub enum News<'a> {
    /// A sentence for people.
    Line(&'a str),
    /// How things stand, once a second.
    Second(&'a Standing),
}

/// How things stand. `docs/stats.md` describes the fields.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(tag = "type", rename = "serve")]
pub struct Standing {
    /// Milliseconds since the server began.
    pub at_ms: u64,
    /// Channels.
    pub channels: usize,
    /// Those whose source is there.
    pub on_air: usize,
    /// Viewers by UDP.
    pub native_viewers: usize,
    /// Viewers in browsers.
    pub browser_viewers: usize,
    /// Bytes of datagrams sent so far.
    pub sent_bytes: u64,
    /// Bits of datagrams sent in the last second.
    pub sent_bps: u64,
}

impl Serving {
    /// Binds addresses and begins to read all sources.
    ///
    /// # Errors
    /// An address cannot be had; says what would be right.
    pub async fn start(options: ServeOptions) -> Result<Self, ServeError> {
        let section = &options.file.server;
        let from_file = section.advertise.as_deref().map(str::parse).transpose()?;
        let advertised = options.advertise.or(from_file);
        let (mut sockets, udp) = bind_udp(options.udp.or(section.udp))?;
        sockets.record(options.recording.clone());
        let candidates = candidates(&udp, advertised)?;
        let plain = bind_http(options.http.or(section.http)).await?;
        let http = plain.local_addr().map_err(SiteError::System)?;
        let names: Vec<_> = options.names.iter().chain(&section.names).cloned().collect();
        let secure = Secure::bind(Wanted {
            addr: options.https.or(section.https),
            certificate: options.tls_certificate.or_else(|| section.tls_certificate.clone()),
            key: options.tls_key.or_else(|| section.tls_key.clone()),
            folder: options.file.folder.clone(),
            names: names.clone(),
        })
        .await?;

        let switch = options.encryption.or(section.encryption).unwrap_or_default();
        let credentials = section.credentials(switch)?;
        let secured = Secured::of_server(credentials.as_ref()).map_err(SiteError::from)?;
        let mut config = ServerConfig::default();
        config.native = config.native.with_encryption(secured.encryption());
        config.native.segments_max = SEGMENTS_MAX;
        config.browsers.segments_max = SEGMENTS_MAX;
        config.browsers.candidates.clone_from(&candidates);
        let limits = limits(section);
        config.browsers.connections_max = config.browsers.connections_max.max(limits.viewers_max);
        let (sender, news) = mpsc::channel(NEWS_MAX);
        let key_file = options.access_key.as_ref().or(section.access_key.as_ref());
        let key = key_file.map(|file| access_key(file, &sender)).transpose()?;
        let access = Arc::new(Access::new(key));
        let television = Television::new(limits, Box::new(TokenAccess(access.clone())));
        let server = Server::new(television, config, unpredictable()?).map_err(SiteError::from)?;
        let server = Driver::spawn_apart(server, sockets).map_err(SiteError::from)?;
        let name = random_hex::<NAME_BYTES>()?;
        let station = Arc::new(Station::new(server, access, name, sender.clone(), options.readers));
        let token = options.operator_token.map_or_else(random_token, Ok)?;
        let proxies = Proxies::new(section.trusted_proxies.clone());
        let places = places();
        let site = Site {
            station: station.clone(),
            origin_guard: Arc::new(OriginGuard::new(names)),
            proxies: proxies.clone(),
            players: Places::new(
                section.players_max.unwrap_or(PLAYERS_MAX),
                limits.viewers_per_address_max,
            ),
            places: places.clone(),
        };
        let service = Service::new(http::router(Arc::new(site), &token), proxies, places);
        let https = secure.as_ref().map(Secure::https);
        if let Some(secure) = secure {
            secure.serve(service.clone(), sender)?;
        }
        tokio::spawn(Listener { tcp: plain, tls: None, service }.serve());
        for channel in options.file.channels {
            station.add(channel);
        }
        let key = secured.own_key();
        Ok(Self { http, https, udp, key, candidates, station, token, news })
    }

    /// Where the page is.
    #[must_use]
    pub fn page_url(&self) -> String {
        format!("http://{}/", crate::net::reachable(self.http))
    }

    /// Where the page is by HTTPS.
    #[must_use]
    pub const fn https(&self) -> Option<&Https> {
        self.https.as_ref()
    }

    /// Where native viewers call.
    #[must_use]
    pub fn native_address(&self) -> Option<SocketAddr> {
        self.candidates.first().or(self.udp.first()).copied()
    }

    /// Whether what native viewers get is encrypted.
    #[must_use]
    pub const fn is_encrypted(&self) -> bool {
        self.key.is_some()
    }

    /// What `anabranch watch` calls.
    #[must_use]
    pub fn native_url(&self) -> String {
        self.native_address().map_or_else(String::new, |addr| url_of(addr, self.key))
    }

    /// Where the operator's page is, opened by its token: what follows # never leaves a browser.
    #[must_use]
    pub fn operator_url(&self) -> String {
        format!("{}operator#{}", self.page_url(), self.token)
    }

    /// What opens the operator's interface.
    #[must_use]
    pub fn operator_token(&self) -> &str {
        &self.token
    }

    /// Serves until it is to end.
    pub async fn run(mut self, mut stop: Stop, tell: &mut (dyn FnMut(News<'_>) + Send)) {
        let mut standing = Standing::default();
        let mut seconds = tokio::time::interval(Duration::from_secs(1));
        loop {
            tokio::select! {
                () = stop.asked() => break,
                line = self.news.recv() => {
                    if let Some(line) = line {
                        tell(News::Line(&line));
                    }
                }
                _ = seconds.tick() => {
                    standing = self.standing(&standing);
                    tell(News::Second(&standing));
                }
            }
        }
        self.station.end();
        tokio::time::sleep(FAREWELL).await;
        let handle = self.station.handle();
        handle.close();
        if let Err(error) = handle.closed().await {
            tracing::warn!(%error, "the server did not end in order");
        }
    }

    fn standing(&self, before: &Standing) -> Standing {
        let sent_bytes = self.station.handle().stats().total.tx.bytes;
        self.station.look(|server, now| {
            let channels = server.television().channels();
            let count = |carrier| {
                server.television().viewers().filter(|viewer| viewer.carrier == carrier).count()
            };
            Standing {
                at_ms: now.as_millis(),
                channels: channels.len(),
                on_air: channels.iter().filter(|channel| channel.on_air).count(),
                native_viewers: count(Carrier::Native),
                browser_viewers: count(Carrier::Browser),
                sent_bytes,
                sent_bps: (sent_bytes - before.sent_bytes) * 8_000
                    / (now.as_millis() - before.at_ms).max(1),
            }
        })
    }
}

/// The key in a file; reports if it had to be made.
fn access_key(file: &Path, news: &mpsc::Sender<String>) -> Result<AccessKey, KeyError> {
    let (key, is_new) = AccessKey::read_or_make(file)?;
    if is_new {
        // There is room: nothing was told yet.
        _ = news.try_send(format!("the key for tokens is new: {}", file.display()));
    }
    Ok(key)
}

fn unpredictable() -> Result<Rng, ServeError> {
    Ok(crate::net::unpredictable_rng().map_err(SiteError::from)?)
}

fn limits(section: &ServerSection) -> TelevisionConfig {
    let usual = TelevisionConfig::default();
    TelevisionConfig {
        viewers_max: section.viewers_max.unwrap_or(usual.viewers_max),
        viewers_per_address_max: section
            .viewers_per_address_max
            .unwrap_or(usual.viewers_per_address_max),
        ..usual
    }
}
