//! The service behind `anabranch meet`: rooms where browsers call each other.

mod config;
mod http;
mod metrics;
mod operator;
mod room_server;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anabranch_driver::{Driver, Recording};
use anabranch_rooms::{Event, Occurrence, RoomsConfig, Server, ServerConfig, Tokens};
use anabranch_rtc::RtcConfig;
use serde::Serialize;
use tokio::sync::mpsc;

use crate::service::{Secured, Stop, sanitized, url_of};
use crate::site::{
    Advertised, Https, Listener, OriginGuard, Proxies, Secure, Service, SiteError, Wanted,
    bind_http, bind_udp, candidates, places, random_token,
};
use crate::url::Credentials;
pub use config::{MeetSection, RoomConfig, RoomsFile};
use http::Site;
use room_server::{Entrance, OpenError, RoomServer};

/// Members hear so long that the server ends.
const FAREWELL: Duration = Duration::from_millis(300);

/// Datagrams in one call.
const SEGMENTS_MAX: usize = 16;

/// Lines that wait to be told; more are dropped.
const NEWS_MAX: usize = 256;

/// What rooms to serve, and where.
#[derive(Debug, Clone, Default)]
pub struct MeetOptions {
    /// Rooms and settings.
    pub file: RoomsFile,
    /// The program, in its own words.
    pub program: String,
    /// Where the page is served, before what the file says.
    pub http: Option<SocketAddr>,
    /// Where media passes, before what the file says.
    pub udp: Option<SocketAddr>,
    /// Where members find the server, before what the file says.
    pub advertise: Option<Advertised>,
    /// Names under which browsers may ask, beside those of the file.
    pub names: Vec<String>,
    /// Where the page is served by HTTPS, before what the file says.
    pub https: Option<SocketAddr>,
    /// The certificate for it, before what the file says.
    pub tls_certificate: Option<PathBuf>,
    /// The certificate's key, before what the file says.
    pub tls_key: Option<PathBuf>,
    /// What opens the operator's interface; a random one without it.
    pub operator_token: Option<String>,
    /// Where every packet of the members' port is recorded, if that is wanted.
    pub recording: Recording,
}

/// A server that answers.
#[derive(Debug)]
pub struct Meeting {
    http: SocketAddr,
    https: Option<Https>,
    links: Links,
    token: String,
    rooms: Arc<RoomServer>,
    news: mpsc::Receiver<String>,
}

/// How to enter a room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invitation {
    /// What the room is called.
    pub title: String,
    /// Where it is; what follows # opens it, and never leaves a browser.
    pub link: String,
    /// The same for hosts, who may lock the room and remove others.
    pub host_link: String,
    /// What `anabranch call` is given, for who has several networks.
    pub agent_link: String,
}

/// Where rooms are found.
#[derive(Debug, Clone)]
struct Links {
    /// The pages.
    pages: String,
    /// The server, for agents, with the key that must answer there.
    agents: String,
}

impl Links {
    /// To a room of this name, for who has this token.
    fn agent(&self, name: &str, token: &str) -> String {
        format!("{}&room={name}&token={token}", self.agents)
    }
}

impl Invitation {
    /// To a room of this name at these places.
    fn new(links: &Links, name: &str, entrance: Entrance) -> Self {
        let pages = &links.pages;
        let Entrance { title, tokens: Tokens { attendees, hosts }, .. } = entrance;
        let link = |token| format!("{pages}r/{name}#{token}");
        let agent_link = links.agent(name, &attendees);
        Self { title, link: link(&attendees), host_link: link(&hosts), agent_link }
    }
}

/// What a server of rooms reports.
#[derive(Debug)]
pub enum News<'a> {
    /// A sentence for people.
    Line(&'a str),
    /// How things stand, once a second.
    Second(&'a Standing),
}

/// How things stand. `docs/stats.md` describes the fields.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "meet")]
pub struct Standing {
    /// Milliseconds since the server began.
    pub at_ms: u64,
    /// Rooms.
    pub rooms: usize,
    /// Those where somebody is.
    pub used: usize,
    /// People in all of them.
    pub members: usize,
    /// Those of them whose connection is lost at the moment.
    pub away: usize,
    /// Pictures that were left out for those who are there, since their networks do not take them.
    pub left_out: u64,
    /// Bytes of datagrams received so far.
    pub received_bytes: u64,
    /// Bytes of datagrams sent so far.
    pub sent_bytes: u64,
    /// Bits of datagrams sent in the last second.
    pub sent_bps: u64,
}

impl Meeting {
    /// Binds addresses and opens all rooms.
    ///
    /// # Errors
    /// An address cannot be had; says what would be right.
    pub async fn start(options: MeetOptions) -> Result<Self, SiteError> {
        let section = options.file.server;
        let from_file = section.advertise.as_deref().map(str::parse).transpose()?;
        let (mut sockets, udp) = bind_udp(options.udp.or(section.udp))?;
        sockets.record(options.recording);
        let candidates = candidates(&udp, options.advertise.or(from_file))?;
        let found_at = candidates.first().or(udp.first()).copied();
        let browsers = RtcConfig { candidates, segments_max: SEGMENTS_MAX, ..RtcConfig::default() };
        let plain = bind_http(options.http.or(section.http)).await?;
        let http = plain.local_addr().map_err(SiteError::System)?;
        let names: Vec<_> = options.names.into_iter().chain(section.names).collect();
        let secure = Secure::bind(Wanted {
            addr: options.https.or(section.https),
            certificate: options.tls_certificate.or(section.tls_certificate),
            key: options.tls_key.or(section.tls_key),
            folder: options.file.folder,
            names: names.clone(),
        })
        .await?;

        let rooms = RoomsConfig { program: options.program };
        let secured = Secured::of_server(Some(&Credentials::default()))?;
        let encryption = secured.encryption();
        let segments_max = SEGMENTS_MAX;
        let config = ServerConfig { rooms, browsers, encryption, segments_max };
        let server = Server::new(config, crate::net::unpredictable_rng()?)?;
        let server = Driver::spawn_apart(server, sockets)?;
        let rooms = RoomServer::new(server);
        for room in options.file.rooms {
            rooms.open(room).map_err(|error| match error {
                OpenError::Site(error) => error,
                // The file was checked for both.
                OpenError::Taken(_) | OpenError::Full => SiteError::System(io::Error::other(error)),
            })?;
        }
        let rooms = Arc::new(rooms);
        let token = options.operator_token.map_or_else(random_token, Ok)?;
        let https = secure.as_ref().map(Secure::https);
        let plain_url = || format!("http://{}/", crate::net::reachable(http));
        let links = Links {
            pages: https.as_ref().map_or_else(plain_url, |https| https.url.clone()),
            agents: found_at.map_or_else(String::new, |addr| url_of(addr, secured.own_key())),
        };
        let proxies = Proxies::new(section.trusted_proxies);
        let places = places();
        let site = Site {
            rooms: rooms.clone(),
            origin_guard: Arc::new(OriginGuard::new(names)),
            proxies: proxies.clone(),
            places: places.clone(),
            links: links.clone(),
        };
        let service = Service::new(http::router(Arc::new(site), &token), proxies, places);
        let (sender, news) = mpsc::channel(NEWS_MAX);
        if let Some(secure) = secure {
            secure.serve(service.clone(), sender)?;
        }
        tokio::spawn(Listener { tcp: plain, tls: None, service }.serve());
        Ok(Self { http, https, links, token, rooms, news })
    }

    /// Where the pages are by HTTPS.
    #[must_use]
    pub const fn https(&self) -> Option<&Https> {
        self.https.as_ref()
    }

    /// Whether other machines get the page by HTTP alone, where browsers give it no camera.
    #[must_use]
    pub const fn lacks_https(&self) -> bool {
        self.https.is_none() && !self.http.ip().is_loopback()
    }

    /// How to enter each room, by HTTPS where there is.
    pub fn invitations(&self) -> impl Iterator<Item = Invitation> + '_ {
        let entrances = self.rooms.entrances().into_iter();
        entrances.map(|(name, entrance)| Invitation::new(&self.links, &name, entrance))
    }

    /// Where the operator's interface is.
    #[must_use]
    pub fn operator_url(&self) -> String {
        format!("{}api/rooms", self.links.pages)
    }

    /// What opens it.
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
                // Without HTTPS there is nobody who tells anything.
                Some(line) = self.news.recv() => tell(News::Line(&line)),
                event = self.rooms.server().next_event() => match event {
                    Some(event) => tell(News::Line(&sentence(event))),
                    None => break,
                },
                _ = seconds.tick() => {
                    standing = self.standing(&standing);
                    tell(News::Second(&standing));
                }
            }
        }
        self.rooms.close();
        tokio::time::sleep(FAREWELL).await;
        let handle = self.rooms.server();
        handle.close();
        if let Err(error) = handle.closed().await {
            tracing::warn!(%error, "the server did not end in order");
        }
    }

    fn standing(&self, before: &Standing) -> Standing {
        let server = self.rooms.server();
        let total = server.stats().total;
        let sent_bytes = total.tx.bytes;
        server.with(|server, now| {
            let rooms: Vec<_> = server.rooms().rooms().map(|(_, report)| report).collect();
            let members = || rooms.iter().flat_map(|room| &room.members);
            Standing {
                at_ms: now.as_millis(),
                rooms: rooms.len(),
                used: rooms.iter().filter(|room| !room.members.is_empty()).count(),
                members: members().count(),
                away: members().filter(|member| member.guest.is_none()).count(),
                left_out: members().map(|member| member.left_out).sum(),
                received_bytes: total.rx.bytes,
                sent_bytes,
                sent_bps: (sent_bytes - before.sent_bytes) * 8_000
                    / (now.as_millis() - before.at_ms).max(1),
            }
        })
    }
}

fn sentence(event: Event) -> String {
    let what = match event.what {
        Occurrence::Joined { name } => format!("{name} is in"),
        Occurrence::Away { name } => format!("the connection of {name} is lost"),
        Occurrence::Back { name } => format!("{name} is back"),
        Occurrence::Left { text } | Occurrence::Refused { text } | Occurrence::Locked { text } => {
            text
        }
    };
    sanitized(&format!("{}: {what}", event.room))
}
