//! Both ends known by certificates of a CA.

use crate::harness::{Place, Running, STREAM, assert_same, run, urls};
use crate::issuer::{ClientAuth, Holds, Issuer, ServerAuth};

/// Files of one CA, and of what it made out to a listener at 127.0.0.1 and to a caller.
struct Certificates {
    place: Place,
    ca: String,
    listener: String,
    caller: String,
}

impl Certificates {
    fn new(test: &str, host: &str) -> Self {
        let (place, ca) = (Place::new(test), Issuer::new("The broadcaster"));
        let write = |name: &str, bytes: &[u8]| {
            std::fs::write(place.file(name), bytes).unwrap();
            place.file(name)
        };
        let option = |name: &str, [chain, key]: [Vec<u8>; 2]| {
            let (chain, key) = (write(&format!("{name}.pem"), &chain), write(name, &key));
            format!("&certificate={chain}&certificate_key={key}")
        };
        let listener = option("listener", ca.issue_pem(host, ServerAuth, Holds::Today));
        let caller = option("caller", ca.issue_pem("camera.example", ClientAuth, Holds::Today));
        let ca = format!("&ca={}", write("ca.pem", &ca.pem()));
        Self { place, ca, listener, caller }
    }
}

#[test]
fn a_file_arrives_whole_between_ends_that_a_ca_knows() {
    let files = Certificates::new("certified", "127.0.0.1");
    let Certificates { place, ca, listener, caller } = &files;
    let out = place.file("out.ts");
    let (listener, caller) = urls(&format!("{ca}{listener}"), &format!("{ca}{caller}"));
    let mut receiver = Running::start(&["recv", &listener, &out]);
    let said = receiver.line_with("encrypted; ");
    assert!(said.contains("or by a name in our certificate with ca="), "{said}");
    let (status, said) = run(&["send", STREAM, &caller]);
    assert_eq!(status, Some(0), "{said}");
    receiver.assert_success();
    assert_same(STREAM, &out);
}

#[test]
fn a_listener_of_another_name_and_a_caller_without_a_certificate_are_refused_in_words() {
    let files = Certificates::new("misnamed", "studio.example");
    let Certificates { place, ca, listener, caller } = &files;
    let out = place.file("out.ts");
    let (listener_url, caller_url) = urls(&format!("{ca}{listener}"), &format!("{ca}{caller}"));
    let mut receiver = Running::start(&["recv", &listener_url, &out]);
    let (status, said) = run(&["send", STREAM, &caller_url]);
    assert_eq!(status, Some(1));
    assert!(said.contains("certificate is for studio.example, and not for 127.0.0.1"), "{said}");
    receiver.line_with("certificate is for studio.example, and not for 127.0.0.1");

    let bare = caller_url.split('?').next().unwrap();
    let (status, said) = run(&["send", STREAM, bare]);
    assert_eq!(status, Some(1));
    assert!(
        said.contains("came without a certificate, but one of a known CA is demanded"),
        "{said}"
    );
    receiver.line_with("came without a certificate, but one of a known CA is demanded");
}

#[test]
fn a_file_that_holds_no_certificate_is_named_before_anything_is_sent() {
    let (_, caller) = urls("", &format!("&ca={STREAM}"));
    let (status, said) = run(&["send", STREAM, &caller]);
    assert_eq!(status, Some(2), "{said}");
    assert!(said.contains("h264_aac.ts is of no use: there is no certificate in it"), "{said}");
    let (_, caller) = urls("", "&ca=/nowhere/ca.pem");
    let (status, said) = run(&["send", STREAM, &caller]);
    assert_eq!(status, Some(2), "{said}");
    assert!(said.contains("/nowhere/ca.pem cannot be read: "), "{said}");
}
