//! The whole demo, in real time over loopback: what holds whatever the machine is busy with.

use futures_util::{SinkExt as _, StreamExt as _};
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use super::*;

/// Runs a demo to its end.
async fn play(config: DemoConfig) -> (Report, Vec<String>) {
    let mut seconds = Vec::new();
    let mut demo = Demo::start(config).await.unwrap();
    let tell = |news: News<'_>| {
        if let News::Second(snapshot) = news {
            seconds.push(format!("{:?}", snapshot.elapsed));
        }
    };
    let outcome = demo.run(std::future::pending(), tell).await;
    assert!(!outcome.stopped);
    (outcome.report, seconds)
}

#[tokio::test]
async fn every_picture_is_accounted_for() {
    let length = Some(Duration::from_millis(1_500));
    let (report, seconds) = play(DemoConfig { length, ..DemoConfig::default() }).await;
    let frames = report.frames;
    assert_eq!(frames.shown + frames.lost, 38, "{report:#?}");
    assert!(frames.shown > 0, "{report:#?}");
    assert_eq!(seconds.len(), 1);
    assert_eq!(report.paths.len(), 2);
    assert_eq!(report.layers.len(), 3);
}

#[tokio::test]
async fn a_demo_that_is_stopped_ends_in_order() {
    let mut demo =
        Demo::start(DemoConfig { page_port: Some(0), ..DemoConfig::default() }).await.unwrap();
    assert!(demo.url().unwrap().starts_with("http://127.0.0.1:"));
    let stop = tokio::time::sleep(Duration::from_millis(700));
    let outcome = demo.run(stop, |_| ()).await;
    assert!(outcome.stopped);
    let frames = outcome.report.frames;
    assert!(frames.shown > 0 && frames.shown + frames.lost <= 20, "{frames:?}");
    demo.end().await;
}

#[tokio::test]
async fn a_demo_that_has_ended_starts_again_when_a_page_asks_for_it() {
    let length = Some(Duration::from_millis(600));
    let cut = Timeline::of_cuts(["wifi@0.2..0.4".parse().unwrap()]);
    let config = DemoConfig { length, timeline: cut, page_port: Some(0), ..DemoConfig::default() };
    let mut demo = Demo::start(config).await.unwrap();
    let socket = demo.url().unwrap().replace("http://", "ws://") + "socket";
    let page = tokio::spawn(ask_once(socket));
    for run in 1..=2 {
        let report = demo.run(std::future::pending(), |_| ()).await.report;
        assert_eq!(report.frames.shown + report.frames.lost, 15, "run {run}");
        let cuts = report.events.iter().filter(|event| event.text.contains("was cut")).count();
        assert_eq!(cuts, 1, "run {run}: what is to happen happens again");
        assert_eq!(demo.start_again(std::future::pending()).await.unwrap(), run == 1);
    }
    page.await.unwrap();
}

/// A page that asks for another start once, and leaves at the second end.
async fn ask_once(socket: String) {
    let mut request = socket.as_str().into_client_request().unwrap();
    let host = request.uri().authority().unwrap().to_string();
    request.headers_mut().insert("origin", format!("http://{host}").parse().unwrap());
    let (mut socket, _) = connect_async(request).await.unwrap();
    let mut ends = 0;
    while ends < 2 {
        let message = socket.next().await.expect("open").unwrap();
        if message.to_text().is_ok_and(|text| text.contains(r#""type":"finished""#)) {
            ends += 1;
            if ends == 1 {
                socket.send(Message::text(r#"{ "type": "restart" }"#)).await.unwrap();
            }
        }
    }
}

#[tokio::test]
async fn senseless_configurations_are_refused_in_words() {
    let refused = |config| async { Demo::start(config).await.unwrap_err().to_string() };
    let none = DemoConfig { links: vec![], ..DemoConfig::default() };
    assert_eq!(refused(none).await, "the demo runs over 0 links: give 1 to 8");
    let cut = Timeline::of_cuts(["dsl@1..2".parse().unwrap()]);
    let unknown = DemoConfig { timeline: cut, ..DemoConfig::default() };
    assert_eq!(refused(unknown).await, "there is no link \"dsl\"; there is wifi, mobile");
}
