//! Viewers of both kinds at a server of this process, on real sockets.

use std::net::SocketAddr;
use std::time::Duration;

use anabranch_driver::{Driver, Handle, SocketSet};
use anabranch_media::decoding::{MediaTrack, VideoFormat, VideoInfo};
use anabranch_sansio::{Rng, Time};
use anabranch_television::channel::{ChannelUnit, Label};
use anabranch_television::{
    OpenGate, Server as Machine, ServerConfig, Television, TelevisionConfig,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::crowd::Crowd;
use crate::report::Report;
use crate::seat::Kind;
use crate::server::Server;

/// Between two pictures.
const PICTURE: Duration = Duration::from_millis(20);

#[tokio::test]
async fn viewers_of_both_kinds_are_let_in_and_change_channels() {
    let server = television().await;
    let kinds = [(Kind::Native, 2), (Kind::Browser, 2)];
    let mut crowd = Crowd::gather(&server, &kinds, 1).await.unwrap();
    let has_zapped = |crowd: &Crowd| crowd.members.iter().all(|it| it.record().zaps.len() > 2);
    while !has_zapped(&crowd) {
        crowd.watch(Duration::from_millis(200), 20.0).await;
        let out = crowd.members.iter().find_map(|member| member.record().closed.clone());
        assert_eq!(out, None);
    }
    let report = Report::of(Duration::from_secs(1), &crowd.members, &[]).to_string();
    assert!(report.contains("viewers                 2          2"), "{report}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_as_such() {
    let nobody = SocketAddr::from(([127, 0, 0, 1], 9));
    let server = Server { http: "127.0.0.1:9".to_owned(), udp: nobody };
    let refused = Crowd::gather(&server, &[(Kind::Browser, 1)], 1).await.err().unwrap();
    assert!(refused.to_string().contains("refused"), "{refused}");
}

/// Two channels, and an exchange of offers.
async fn television() -> Server {
    let mut television = Television::new(TelevisionConfig::default(), Box::new(OpenGate));
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
    let machine = Machine::new(television, ServerConfig::default(), Rng::from_u64(7)).unwrap();
    let handle = Driver::spawn(machine, sockets).unwrap();
    let source = handle.clone();
    tokio::spawn(async move {
        for picture in 0.. {
            source.with(|server, now| {
                server.act(now, |television| {
                    channels.iter().for_each(|id| television.push(*id, &unit(now, picture)));
                });
            });
            tokio::time::sleep(PICTURE).await;
        }
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let http = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((stream, from)) = listener.accept().await {
            answer(stream, from, &handle).await;
        }
    });
    Server { http, udp }
}

/// A small picture, every tenth a key frame.
fn unit(now: Time, picture: u32) -> ChannelUnit {
    ChannelUnit {
        track: MediaTrack::Video,
        layer: 0,
        frame: picture,
        key: picture.is_multiple_of(10),
        reference: true,
        last_layer: true,
        discontinuity: false,
        pts_us: i64::try_from(now.as_micros()).unwrap(),
        at: now,
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
