//! Tokens that are forged, changed and over.

use std::time::Instant;

use super::super::access::House as Closed;
use super::super::program;
use super::{House, held, metric, metrics, native_url, until};

#[test]
fn forged_changed_and_ended_tokens_are_refused_in_words_and_leave_nothing() {
    let closed = Closed::new("hostile");
    let other = Closed::new("hostile-key");
    other.serve().end();
    let mut house = House::new(&[closed.file().to_str().unwrap()]);
    let url = native_url(&mut house.server);
    let token =
        |house: &Closed, who, span| house.token(&["--who", who, "--channels", "2", "--for", span]);
    let (forged, brief) = (token(&other, "a", "1h"), token(&closed, "a", "1s"));
    let [good, better] = ["a", "b"].map(|who| token(&closed, who, "1h"));
    let (_, signature) = good.rsplit_once('.').unwrap();
    let altered = format!("{}.{signature}", better.rsplit_once('.').unwrap().0);
    let path = format!("/playlist.m3u?token={brief}");
    let answer = || house.server.get(&path);
    until("the brief token is refused", answer, |it| it.starts_with("HTTP/1.1 401"));

    let started = Instant::now();
    for (token, words) in [
        (&forged, "not made with this server's key"),
        (&altered, "not made with this server's key, or was changed since"),
        (&brief, "this token was good until "),
        (&"nonsense".to_owned(), "this is no token"),
    ] {
        for path in ["/ch/2.ts", "/playlist.m3u"] {
            let answer = house.server.get(&format!("{path}?token={token}"));
            assert!(answer.starts_with("HTTP/1.1 401") && answer.contains(words), "{answer}");
        }
        let headers = format!("Authorization: Bearer {token}");
        let answer = crate::limits::offer(&house.server, &headers);
        assert!(answer.starts_with("HTTP/1.1 401") && answer.contains(words), "{answer}");
        assert_eq!(held(&house.server).browsers, 0, "no connection for it");
        let arguments = ["watch", "--headless", "--retries", "0", "--token", token, &url];
        let output = program(&arguments).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains(words), "{said}");
    }
    let text = metrics(&house.server);
    for (outcome, least) in [("forged", 8), ("expired", 4), ("senseless", 4)] {
        let count = metric(&text, &format!("tokens_total{{outcome=\"{outcome}\"}}"));
        assert!(count >= least, "{outcome}: {count}");
    }
    house.watching.goes_on();
    house.settle(started, "tokens");
    house.end();
}
