//! The whole demo, in real time over loopback: what holds whatever the machine is busy with.

use super::*;

/// Runs a demo to its end.
async fn play(config: DemoConfig) -> (Report, Vec<String>) {
    let mut seconds = Vec::new();
    let demo = Demo::start(config).await.unwrap();
    let tell = |news: News<'_>| {
        if let News::Second(snapshot) = news {
            seconds.push(format!("{:?}", snapshot.elapsed));
        }
    };
    let report = demo.run(std::future::pending(), tell).await;
    (report, seconds)
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
    let demo =
        Demo::start(DemoConfig { page_port: Some(0), ..DemoConfig::default() }).await.unwrap();
    assert!(demo.url().unwrap().starts_with("http://127.0.0.1:"));
    let stop = tokio::time::sleep(Duration::from_millis(700));
    let report = demo.run(stop, |_| ()).await;
    let frames = report.frames;
    assert!(frames.shown > 0 && frames.shown + frames.lost <= 20, "{frames:?}");
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
