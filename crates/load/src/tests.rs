//! Viewers of both kinds at a server of this process, on real sockets.

#[path = "../../keys/tests/associations/issuer.rs"]
#[expect(dead_code, reason = "the tests of several crates share it")]
mod issuer;

use std::net::SocketAddr;
use std::time::Duration;

use anabranch_driver::{Clock, Driver, Handle, SocketSet};
use anabranch_keys::{Identity, TlsKeys, Trust};
use anabranch_media::clip::VIDEO_TRACK;
use anabranch_media::decoding::{VideoFormat, VideoInfo};
use anabranch_media::{Class, Layer, Unit};
use anabranch_rtc::RtcConfig;
use anabranch_sansio::{Rng, Time};
use anabranch_sctp::{AssociationConfig, Encryption};
use anabranch_television::channel::{ChannelId, Label};
use anabranch_television::{
    OpenToAll, Server as Machine, ServerConfig, Television, TelevisionConfig, ViewerEvent,
};
use anabranch_transport::SctpConfig;
use clap::Parser as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UdpSocket};

use crate::crowd::Crowd;
use crate::report::Report;
use crate::seat::{Kind, Seat};
use crate::server::Server;
use crate::{Arguments, encryption};
use issuer::{ClientAuth, Holds, Issuer, ServerAuth};

/// Between two pictures.
const PICTURE: Duration = Duration::from_millis(20);

/// A server gives up who does not answer after some of these.
const TIMEOUT: Duration = Duration::from_millis(50);

/// How often a test looks for what shall happen, before it takes it for a thing that never does.
const LOOKS_MAX: usize = 600;

#[tokio::test]
async fn viewers_of_both_kinds_are_let_in_and_change_channels() {
    let (server, _machine) = television().await;
    let mut crowd = four_viewers(&server).await;
    all_zap(&mut crowd, 2).await;
    let mut report = Report::new(Duration::from_secs(1));
    report.add(&crowd.members, &[]);
    let report = report.to_string();
    assert!(report.contains("viewers                 2          2"), "{report}");
}

#[tokio::test]
async fn who_leaves_in_friendship_leaves_nothing_at_the_server() {
    let (server, machine) = television().await;
    let crowd = four_viewers(&server).await;
    assert_eq!(population(&machine), 4);
    assert!(crowd.leave().await, "the server answers who leaves");
    assert_eq!(population(&machine), 0);
}

#[tokio::test]
async fn who_dies_without_a_word_is_given_up_and_disturbs_nobody() {
    let (server, machine) = television().await;
    let mut crowd = four_viewers(&server).await;
    let mut victims = Vec::new();
    for kind in [Kind::Native, Kind::Browser] {
        let (seat, _) = newcomer(kind, &server).await;
        unplug(&seat).await;
        victims.push(seat);
    }
    assert_eq!(population(&machine), 6);
    let before = zaps(&crowd);
    until(&mut crowd, |_| population(&machine) == 4).await;
    all_zap(&mut crowd, before + 2).await;
}

#[tokio::test]
async fn floods_of_requests_and_of_random_datagrams_disturb_nobody() {
    let (server, machine) = television().await;
    let mut crowd = four_viewers(&server).await;
    for kind in [Kind::Native, Kind::Browser] {
        let (seat, channels) = newcomer(kind, &server).await;
        channels.iter().cycle().take(1_000).for_each(|channel| seat.tune(*channel));
        while !matches!(seat.next().await, Ok(ViewerEvent::Bye(_)) | Err(_)) {}
    }
    flood(server.udp).await;
    let before = zaps(&crowd);
    until(&mut crowd, |_| population(&machine) == 4).await;
    all_zap(&mut crowd, before + 2).await;
    let stats = machine.with(|server, _| server.stats());
    assert!(stats.native.malformed > 0, "what is no SCTP has come: {stats:?}");
    assert!(stats.browsers.strangers > 0 && stats.browsers.checks_refused > 0, "{stats:?}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_as_such() {
    let nobody = SocketAddr::from(([127, 0, 0, 1], 9));
    let http = "127.0.0.1:9".to_owned();
    let server = Server { http, udp: nobody, encryption: None };
    let refused = Crowd::gather(&server, &[(Kind::Browser, 1)], 1).await.err().unwrap();
    assert!(refused.to_string().contains("refused"), "{refused}");
}

#[tokio::test]
async fn viewers_and_their_server_know_each_other_by_certificates() {
    let folder = std::env::temp_dir().join(format!("anabranch-load-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, text: &[u8]| {
        let file = folder.join(name).to_str().unwrap().to_owned();
        std::fs::write(&file, text).unwrap();
        file
    };
    let ca = Issuer::new("The broadcaster");
    let [chain, key] = ca.issue_pem("viewer.example", ClientAuth, Holds::Today);
    let [chain, key] = [write("viewer.pem", &chain), write("viewer.key", &key)];
    let ca_file = write("ca.pem", &ca.pem());
    let certificate = ca.issue("127.0.0.1", ServerAuth, Holds::Today);
    let trust = Trust::Certified(ca.of_anyone(), Vec::new());
    let keys = TlsKeys::with_certificate(&Identity::generate().unwrap(), trust, &certificate);
    let keys = keys.unwrap().required();
    let own = ["--certificate", &chain, "--certificate-key", &key];
    let (server, _machine) =
        television_with(keys.clone(), &[&own[..], &["--ca", &ca_file]].concat()).await;
    let mut crowd = Crowd::gather(&server, &[(Kind::Native, 2)], 1).await.unwrap();
    all_zap(&mut crowd, 0).await;

    let other = write("other.pem", &Issuer::new("Somebody else").pem());
    let (server, _machine) = television_with(keys, &[&own[..], &["--ca", &other]].concat()).await;
    let refused = Crowd::gather(&server, &[(Kind::Native, 1)], 1).await.err().unwrap().to_string();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(refused.contains("no CA that is known to who asked"), "{refused}");
}

async fn four_viewers(server: &Server) -> Crowd {
    Crowd::gather(server, &[(Kind::Native, 2), (Kind::Browser, 2)], 1).await.unwrap()
}

/// Keys that were answered at the viewer with the fewest.
fn zaps(crowd: &Crowd) -> usize {
    crowd.members.iter().map(|member| member.record().zaps.len()).min().unwrap()
}

/// Lets viewers press keys until more than `zaps` were answered at each.
async fn all_zap(crowd: &mut Crowd, more_than: usize) {
    until(crowd, |crowd| zaps(crowd) > more_than).await;
}

/// Lets viewers press keys until something has happened; none of them may be out.
async fn until(crowd: &mut Crowd, mut has_happened: impl FnMut(&Crowd) -> bool) {
    for _ in 0..LOOKS_MAX {
        crowd.watch(Duration::from_millis(100), 20.0).await;
        let out = crowd.members.iter().find_map(|member| member.record().closed.clone());
        assert_eq!(out, None);
        if has_happened(crowd) {
            return;
        }
    }
    panic!("it never happened");
}

/// Whom the server knows, those that come or go included.
fn population(machine: &Handle<Machine>) -> usize {
    let stats = machine.with(|server, _| server.stats());
    stats.natives + stats.connections
}

/// One more viewer, who watches; and what there is to watch.
async fn newcomer(kind: Kind, server: &Server) -> (Seat, Vec<ChannelId>) {
    let seat = Seat::take(kind, server, Clock::start(), Rng::from_u64(3)).await.unwrap();
    let mut channels = Vec::new();
    loop {
        let event = seat.next().await.unwrap();
        if let ViewerEvent::Welcome { channels: entries, .. } = event {
            channels = entries.iter().map(|entry| entry.id).collect();
            seat.tune(channels[0]);
        } else if let ViewerEvent::Unit(_) = event {
            return (seat, channels);
        }
    }
}

/// Nothing of a viewer is heard any more, and it hears nothing.
async fn unplug(seat: &Seat) {
    let sockets = match seat {
        Seat::Native(handle) => handle.sockets(),
        Seat::Browser(handle) => handle.sockets(),
    };
    for socket in sockets {
        match seat {
            Seat::Native(handle) => handle.remove(socket.bound).await,
            Seat::Browser(handle) => handle.remove(socket.bound).await,
        };
    }
}

/// Datagrams of any length that begin with any byte.
async fn flood(to: SocketAddr) {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let mut rng = Rng::from_u64(5);
    for number in 0..5_000_usize {
        let mut datagram: Vec<u8> =
            (0..rng.range(0..1_500)).map(|_| rng.next_u32() as u8).collect();
        if let Some(first) = datagram.first_mut() {
            *first = number as u8;
        }
        // Whether it is taken is the kernel's matter.
        socket.send_to(&datagram, to).await.ok();
    }
}

/// Two channels, and an exchange of offers.
async fn television() -> (Server, Handle<Machine>) {
    let keys = TlsKeys::new(&Identity::generate().unwrap(), Trust::Anyone).unwrap();
    television_with(keys.required(), &[]).await
}

/// The same of a server with these keys, for viewers that are told so.
async fn television_with(keys: Encryption, arguments: &[&str]) -> (Server, Handle<Machine>) {
    let mut television = Television::new(TelevisionConfig::default(), Box::new(OpenToAll));
    let channels = [1, 2].map(|number| {
        let label = Label { number, name: format!("Channel {number}"), group: None, open: true };
        let channel = television.add_channel(label);
        let video = VideoInfo {
            codec: "avc1.42E01E".to_owned(),
            format: VideoFormat::AnnexB,
            width: None,
            height: None,
            fps: None,
        };
        television.begin(channel, Some(video), None);
        channel
    });
    let mut sockets = SocketSet::new();
    let udp = sockets.bind("127.0.0.1:0".parse::<SocketAddr>().unwrap()).unwrap();
    let mut config = impatient();
    config.native.association.extensions.encryption = Some(keys);
    let machine = Machine::new(television, config, Rng::from_u64(7)).unwrap();
    let handle = Driver::spawn(machine, sockets).unwrap();
    let source = handle.clone();
    tokio::spawn(async move {
        for picture in 0.. {
            source.with(|server, now| {
                server.act(|television| {
                    channels.iter().for_each(|id| television.push(*id, &unit(now, picture)));
                });
            });
            tokio::time::sleep(PICTURE).await;
        }
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let http = listener.local_addr().unwrap().to_string();
    let machine = handle.clone();
    tokio::spawn(async move {
        while let Ok((stream, from)) = listener.accept().await {
            answer(stream, from, &handle).await;
        }
    });
    let arguments = [&["anabranch-load", "--http", &*http], arguments].concat();
    let encryption = Some(encryption(&Arguments::parse_from(arguments)).unwrap());
    (Server { http, udp, encryption }, machine)
}

/// A server that soon gives up who does not answer.
fn impatient() -> ServerConfig {
    let quick = |base: AssociationConfig| {
        base.with(|config| {
            config.timers.rto_min = TIMEOUT;
            config.timers.rto_max = TIMEOUT;
        })
    };
    let ServerConfig { native, browsers } = ServerConfig::default();
    let native = SctpConfig { association: quick(native.association), ..native };
    let association = quick(browsers.association);
    ServerConfig { native, browsers: RtcConfig { association, ..browsers } }
}

/// A small picture, every tenth a key frame.
fn unit(now: Time, picture: u32) -> Unit {
    Unit {
        track: VIDEO_TRACK,
        class: if picture.is_multiple_of(10) { Class::KeyFrame } else { Class::Reference },
        layer: Layer::BASE,
        frame: picture.into(),
        at: now,
        pts_us: i64::try_from(now.as_micros()).unwrap(),
        last_layer: true,
        discontinuity: false,
        bytes: vec![7; 2_000].into(),
    }
}

/// Answers one request, whose body is an offer.
async fn answer(mut stream: TcpStream, from: SocketAddr, handle: &Handle<Machine>) {
    let mut request = String::new();
    let mut buffer = [0; 4_096];
    while !request.contains("a=max-message-size") {
        let len = stream.read(&mut buffer).await.unwrap();
        request += std::str::from_utf8(&buffer[..len]).unwrap();
    }
    let (_, offer) = request.split_once("\r\n\r\n").unwrap();
    let (_, sdp) = handle.with(|server, now| server.accept(now, offer, from.ip())).unwrap();
    let len = sdp.len();
    let response = format!("HTTP/1.1 201 Created\r\ncontent-length: {len}\r\n\r\n{sdp}");
    stream.write_all(response.as_bytes()).await.unwrap();
}
