//! [`TestServer`]: three channels, one of them off air.

use std::net::{Ipv4Addr, SocketAddr};
use std::thread::sleep;
use std::time::Duration;

use anabranch_driver::{Driver, Handle, SocketSet};
use anabranch_keys::{Identity, PublicKey, TlsKeys, Trust};
use anabranch_media::clip::VIDEO_TRACK;
use anabranch_media::decoding::{AudioFormat, AudioInfo, VideoFormat, VideoInfo};
use anabranch_media::{Class, Layer, Unit};
use anabranch_sansio::Rng;
use anabranch_sctp::Encryption;
use anabranch_television::channel::{ChannelId, Label};
use anabranch_television::protocol::UrgentLevel;
use anabranch_television::{OpenToAll, Server, ServerConfig, Television, TelevisionConfig};
use tokio::runtime::Runtime;
use tokio::time::interval;

use super::ports::{free_port, wait_until_free};

const PICTURE: Duration = Duration::from_millis(40);

/// How often a state is looked at that no event tells of.
const LOOK_EVERY: Duration = Duration::from_millis(10);

pub(crate) struct TestServer {
    runtime: Runtime,
    handle: Handle<Server>,
    address: SocketAddr,
    keys: Keys,
}

/// Who the server is.
struct Keys {
    encryption: Encryption,
    public: PublicKey,
}

impl Keys {
    fn generate() -> Self {
        let identity = Identity::generate().unwrap();
        let keys = TlsKeys::new(&identity, Trust::Anyone).unwrap();
        Self { encryption: keys.required(), public: identity.public_key() }
    }
}

impl TestServer {
    pub(crate) fn start() -> Self {
        Self::at(any_address(), Keys::generate())
    }

    /// Its channels come [later](Self::begin).
    pub(crate) fn without_channels() -> Self {
        Self::idle_at(any_address(), Keys::generate())
    }

    fn at(address: SocketAddr, keys: Keys) -> Self {
        let server = Self::idle_at(address, keys);
        server.begin();
        server
    }

    fn idle_at(address: SocketAddr, keys: Keys) -> Self {
        let runtime = Runtime::new().unwrap();
        let within = runtime.enter();
        let mut sockets = SocketSet::new();
        let address = sockets.bind(address).unwrap();
        let television = Television::new(TelevisionConfig::default(), Box::new(OpenToAll));
        let seed = u64::from(std::process::id()) << 16 | u64::from(address.port());
        let mut config = ServerConfig::default();
        config.native.association.extensions.encryption = Some(keys.encryption.clone());
        let server = Server::new(television, config, Rng::from_u64(seed));
        let handle = Driver::spawn(server.unwrap(), sockets).unwrap();
        drop(within);
        Self { runtime, handle, address, keys }
    }

    /// Two channels are on air from now on, and one is not.
    pub(crate) fn begin(&self) {
        let channels = self.handle.with(|server, _| {
            server.act(|television| {
                let channels = [(1, "News"), (2, "Sport"), (3, "Secret Garden")];
                let channels = channels.map(|(number, name)| {
                    let name = name.to_owned();
                    television.add_channel(Label { number, name, group: None, open: true })
                });
                for id in &channels[..2] {
                    television.begin(*id, Some(video()), Some(audio()));
                }
                channels
            })
        });
        let _endless = self.runtime.spawn(broadcast(self.handle.clone(), channels[..2].to_vec()));
    }

    pub(crate) fn url(&self) -> String {
        format!("anabranch://{}?key={}", self.address, self.keys.public)
    }

    /// Where it is, without a word of who it is.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn alarm(&self, text: &str) -> u32 {
        let level = UrgentLevel::Alarm;
        self.handle.with(|server, _| server.act(|it| it.urgent(level, text, None)))
    }

    /// How many viewers have shown an urgent message.
    pub(crate) fn seen(&self, id: u32) -> usize {
        self.handle.with(|server, _| server.television().seen(id))
    }

    pub(crate) fn wait_until(&self, is_so: impl Fn(&Television) -> bool) {
        while !self.handle.with(|server, _| is_so(server.television())) {
            sleep(LOOK_EVERY);
        }
    }

    /// Another server at the same address, which sends its viewers away first.
    pub(crate) fn restart(self) -> Self {
        let Self { runtime, handle, address, keys } = self;
        let dismiss = |server: &mut Server, now| {
            let viewers: Vec<_> = server.television().viewers().map(|viewer| viewer.id).collect();
            server.act(|television| {
                let text = "the server is started anew";
                viewers.into_iter().for_each(|id| television.dismiss(now, id, text.to_owned()));
            });
        };
        handle.with(dismiss);
        while handle.with(|server, _| server.stats().natives > 0) {
            sleep(LOOK_EVERY);
        }
        handle.close();
        runtime.block_on(handle.closed()).unwrap();
        drop(runtime);
        wait_until_free(address.port());
        Self::at(address, keys)
    }
}

/// An address that nobody takes between a server's end and the start of the next one.
fn any_address() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, free_port()).into()
}

/// A picture every 40 ms, a key frame every second.
async fn broadcast(handle: Handle<Server>, channels: Vec<ChannelId>) {
    let mut pictures = interval(PICTURE);
    for frame in 0.. {
        pictures.tick().await;
        let push = |server: &mut Server, at| {
            let is_key = u32::is_multiple_of(frame, 25);
            let unit = Unit {
                track: VIDEO_TRACK,
                class: if is_key { Class::KeyFrame } else { Class::Reference },
                layer: Layer::BASE,
                frame: frame.into(),
                at,
                pts_us: i64::from(frame) * 40_000,
                last_layer: true,
                discontinuity: false,
                bytes: vec![0; 4_000].into(),
            };
            server.act(|television| {
                channels.iter().for_each(|id| television.push(*id, &unit));
            });
        };
        if handle.try_with(push).is_err() {
            return;
        }
    }
}

fn video() -> VideoInfo {
    let (codec, format) = ("avc1.42E01E".to_owned(), VideoFormat::AnnexB);
    VideoInfo { codec, format, width: None, height: None, fps: None }
}

fn audio() -> AudioInfo {
    let (codec, format) = ("opus".to_owned(), AudioFormat::Opus);
    AudioInfo { codec, format, sample_rate: 48_000, channels: 2 }
}
