//! Sessions over DCCP, as their users meet them.

use crate::harness::{Place, Running, STREAM, assert_same, free_port, run};

/// A listener's URL and a caller's over DCCP, with these options.
fn urls(listener: &str, caller: &str) -> (String, String) {
    let port = free_port();
    (
        format!("anabranch+dccp://:{port}?mode=listener&encryption=off{listener}"),
        format!("anabranch+dccp://127.0.0.1:{port}?mode=caller{caller}"),
    )
}

#[test]
fn a_file_over_two_paths_in_real_time_is_bit_identical() {
    let place = Place::new("dccp");
    let (out, stats) = (place.file("out.ts"), place.file("stats.json"));
    let (listener, caller) = urls("&latency=500", "&path=127.0.0.1,127.0.0.2&connections=auto");
    let receiver = Running::start(&["recv", &listener, &out]);
    let sender = Running::start(&["send", STREAM, &caller, "--stats", &stats]);
    let said = sender.assert_success();
    assert!(said.contains("latency 500 ms"), "the larger one of both: {said}");
    assert!(said.contains("encryption=off"), "{said}");
    let said = receiver.assert_success();
    assert!(said.contains("handed on: 543 packets, 0 missing: nothing is missing"), "{said}");
    assert_same(&out, STREAM);
    let text = std::fs::read_to_string(&stats).unwrap();
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let paths = last["association"]["paths"].as_array().unwrap();
    assert_eq!(paths.len(), 2, "{paths:?}");
    assert!(paths.iter().all(|path| path["state"] == "active"), "{paths:?}");
}

#[test]
fn the_receiver_may_call_and_what_is_reliable_goes_as_fast_as_it_can() {
    let place = Place::new("dccp-fast");
    let out = place.file("out.ts");
    let (listener, caller) = urls("", "");
    let sender = Running::start(&["send", STREAM, &listener, "--fast", "--treatment", "reliable"]);
    let receiver = Running::start(&["recv", &caller, &out]);
    sender.assert_success();
    receiver.assert_success();
    assert_same(&out, STREAM);
}

#[test]
fn a_caller_with_another_streamid_is_refused_in_words() {
    let place = Place::new("dccp-streamid");
    let out = place.file("out.ts");
    let (listener, caller) = urls("&streamid=a", "&streamid=b");
    let mut receiver = Running::start(&["recv", &listener, &out]);
    let (status, said) = run(&["send", STREAM, &caller]);
    assert_eq!(status, Some(1));
    let reason = "the other end refuses: there is no stream of that streamid here";
    assert!(said.contains(reason), "{said}");
    receiver.line_with(" was refused: ");
}

#[test]
fn what_dccp_cannot_do_is_refused_before_anything_is_sent() {
    for (url, expected) in [
        ("anabranch+dccp://192.0.2.1:9000", "over DCCP nothing is encrypted: write encryption=off"),
        ("anabranch+dccp://:9000", "write encryption=off"),
        ("anabranch+dccp://127.0.0.1:9000?passphrase=0123456789", "passphrase= cannot be kept"),
        ("anabranch://127.0.0.1:9000?connections=4", "connections= is for anabranch+dccp://"),
    ] {
        let (status, said) = run(&["send", STREAM, url]);
        assert_eq!(status, Some(2), "{url}: {said}");
        assert!(said.contains(expected), "{url}: {said}");
        assert_eq!(said.lines().count(), 1, "{url}: {said}");
    }
    let (status, said) = run(&["watch", "anabranch+dccp://127.0.0.1:9000"]);
    assert_eq!(status, Some(2), "{said}");
    assert!(said.contains("a television server speaks SCTP"), "{said}");
}

#[test]
fn a_listener_in_the_open_takes_a_caller_over_dccp_at_its_sctp_url() {
    let place = Place::new("dccp-either");
    let (out, port) = (place.file("out.ts"), free_port());
    let listener = format!("anabranch://127.0.0.1:{port}?mode=listener&encryption=off");
    let receiver = Running::start(&["recv", &listener, &out]);
    let caller = format!("anabranch+dccp://127.0.0.1:{port}");
    Running::start(&["send", STREAM, &caller]).assert_success();
    receiver.assert_success();
    assert_same(&out, STREAM);
}

#[test]
fn who_calls_over_dccp_where_all_is_encrypted_is_told_so_at_both_ends() {
    let place = Place::new("dccp-refused");
    let (out, port) = (place.file("out.ts"), free_port());
    let listener = format!("anabranch://127.0.0.1:{port}?mode=listener");
    let mut receiver = Running::start(&["recv", &listener, &out]);
    let (status, said) = run(&["send", STREAM, &format!("anabranch+dccp://127.0.0.1:{port}")]);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("the other end takes no calls over DCCP"), "{said}");
    receiver.line_with(" was refused: it calls over DCCP, which neither encrypts");
}

#[test]
fn who_calls_encrypted_where_all_is_in_the_open_is_told_so() {
    let place = Place::new("dccp-encrypted");
    let out = place.file("out.ts");
    let (listener, caller) = urls("", "");
    let _receiver = Running::start(&["recv", &listener, &out]);
    let (status, said) = run(&["send", STREAM, &caller.replace("+dccp", "")]);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("one end encrypts and the other does not"), "{said}");
}
