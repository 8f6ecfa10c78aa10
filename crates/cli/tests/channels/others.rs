//! Other ends of anabranch as sources: servers, and `anabranch send`.

use super::media::H264_AAC;
use super::ports::free_port;
use super::program::{Folder, Running, get};

#[test]
fn a_channel_of_another_server_is_watched_here_and_comes_back_with_it() {
    let folder = Folder::new("relay");
    let (first, second, http) = (free_port(), free_port(), free_port());
    let origin = "[[channel]]\nname = 'Clock'\nsource = 'demo:clock'\nnow = 'The time'\n\
                  [[channel]]\nname = 'Clip'\nsource = 'demo:clip'\n";
    let studio = Running::serve(&folder, origin, first, free_port());
    let relay = format!(
        "[[channel]]\nname = 'Time'\nsource = 'anabranch://127.0.0.1:{first}?channel=clock'\n\
         [[channel]]\nname = 'Layers'\nsource = 'anabranch://127.0.0.1:{first}?channel=2'\n\
         [[channel]]\nname = 'None'\nsource = 'anabranch://127.0.0.1:{first}?channel=9'\n"
    );
    let mut server = Running::serve(&folder, &relay, second, http);
    let mut said = String::new();
    let expected = [
        "1 Time: on air (avc1.",
        "2 Layers: on air (vp09.",
        "3 None: off air: 9 is not a channel of this server; there are 1 Clock, 2 Clip",
    ];
    while !expected.iter().all(|line| said.contains(line)) {
        said.push_str(&server.until(":"));
    }
    let url = format!("anabranch://127.0.0.1:{second}");
    let mut viewer = Running::start(&["watch", "--headless", "--channel", "2", &url]);
    viewer.until("the first picture came after");
    let mut viewer = Running::start(&["watch", "--headless", "--channel", "1", &url]);
    viewer.until("the first picture came after");
    let answer = get(http, "/ch/1.ts");
    assert!(answer.contains("This channel is no transport stream"), "{answer}");
    server.until_measured(http, "anabranch_source_wait_p99_seconds{channel=\"1\",level=\"0\"}");

    studio.end();
    server.until("says goodbye: the server ends");
    viewer.until("1 Time is off air: ");
    let studio = Running::serve(&folder, origin, first, free_port());
    server.until("1 Time: on air (avc1.");
    studio.end();
    server.end();
}

#[test]
fn a_channel_that_leads_back_to_its_server_is_refused_in_words() {
    let folder = Folder::new("loop");
    let (first, second) = (free_port(), free_port());
    let channel = |port| {
        format!("[[channel]]\nname = 'Echo'\nsource = 'anabranch://127.0.0.1:{port}?channel=1'\n")
    };
    let mut alone = Running::serve(&folder, &channel(first), first, free_port());
    alone.until("comes from this server itself: give the source it has here");
    alone.end();
    let mut one = Running::serve(&folder, &channel(second), first, free_port());
    let mut other = Running::serve(&folder, &channel(first), second, free_port());
    // Whichever of the two finds out: the other one hears that the channel is off air.
    let (found, off_air) = ("comes from this server itself", " is off air: trying again");
    if !one.until_either(found, off_air).contains(found) {
        other.until(found);
    }
}

#[test]
fn what_anabranch_send_brings_is_a_channel_that_goes_and_comes_with_it() {
    let folder = Folder::new("contribution");
    let (port, second) = (free_port(), free_port());
    let channels = format!(
        "[[channel]]\nname = 'Camera'\nsource = 'anabranch://127.0.0.1:{port}?mode=listener&\
         streamid=camera'\n[[channel]]\nname = 'Clip'\nsource = 'anabranch://:{second}'\n"
    );
    let http = free_port();
    let mut server = Running::serve(&folder, &channels, free_port(), http);
    server.until("waiting for a sender at");
    let url = format!("anabranch://127.0.0.1:{port}?streamid=camera");
    for _ in 0..2 {
        let sender = Running::start(&["send", "--loop", H264_AAC, &url]);
        server.until("1 Camera: on air (avc1.");
        server
            .until_measured(http, "anabranch_source_waiting_messages{channel=\"1\",level=\"3\"} ");
        sender.end();
        server.until("1 Camera: off air: the sender has ended");
    }
    server.end();
}
