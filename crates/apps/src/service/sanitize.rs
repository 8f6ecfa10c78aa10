//! What people are told: without secrets, and without what a terminal would act on.

/// Stands where a secret stood.
const STRUCK_OUT: &str = "***";

/// Keys of a URL whose values are secrets.
const SECRET_KEYS: [&str; 7] =
    ["passphrase=", "token=", "password=", "passwd=", "pwd=", "pass=", "user="];

/// A text for a terminal or a log: user information and secrets of URLs are struck out, and what is
/// no sign to read is left out.
#[must_use]
pub fn sanitized(text: &str) -> String {
    printable(&without_secrets(text))
}

/// A text without what a terminal would act on: names and words of others have no line breaks.
#[must_use]
pub fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

/// A text whose URLs tell neither user nor password (`rtsp://***@camera/`), passphrase nor token.
#[must_use]
pub fn without_secrets(text: &str) -> String {
    let mut struck = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("://") {
        struck.push_str(before);
        struck.push_str("://");
        let (url, after) = behind.split_at(behind.find(ends_quoted_url).unwrap_or(behind.len()));
        // A password may hold what should be written as %2F or %40: all up to the last @ goes.
        match url.rsplit_once('@') {
            Some((user, host)) if !user.is_empty() => {
                struck.push_str(STRUCK_OUT);
                struck.push('@');
                struck.push_str(host);
            }
            _ => struck.push_str(url),
        }
        rest = after;
    }
    struck.push_str(rest);
    SECRET_KEYS.iter().fold(struck, |text, key| without_values(&text, key))
}

fn without_values(text: &str, key: &str) -> String {
    let mut parts = text.split(key);
    let mut struck = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let ends = |c: char| c == '&' || ends_url(c);
        let (value, after) = part.split_at(part.find(ends).unwrap_or(part.len()));
        struck.push_str(key);
        struck.push_str(if value.is_empty() { "" } else { STRUCK_OUT });
        struck.push_str(after);
    }
    struck
}

fn ends_url(c: char) -> bool {
    ends_quoted_url(c) || matches!(c, '\'' | '`')
}

/// A password may hold an apostrophe (RFC 3986 section 3.2.1).
fn ends_quoted_url(c: char) -> bool {
    c.is_whitespace() || c.is_control() || matches!(c, '"' | '<' | '>')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_and_passwords_of_urls_are_struck_out() {
        for (text, expected) in [
            ("rtsp://me:secret@10.0.0.7/1: 401", "rtsp://***@10.0.0.7/1: 401"),
            ("'rtmp://u@a/' and rtmp://u:p@b", "'rtmp://***@a/' and rtmp://***@b"),
            ("srt://u:p/w@d@host:1?x=1", "srt://***@host:1?x=1"),
            ("udp://@239.1.2.3:5000", "udp://@239.1.2.3:5000"),
            ("mail me@home about rtsp://a/b", "mail me@home about rtsp://a/b"),
            (
                "anabranch://h:1?passphrase=0123456789&path=eth0&token=a.b.c",
                "anabranch://h:1?passphrase=***&path=eth0&token=***",
            ),
            (
                "rtsp://me:se'cret@cam/1?user=admin&password=hunter2&pwd=a&passwd=b&pass=c",
                "rtsp://***@cam/1?user=***&password=***&pwd=***&passwd=***&pass=***",
            ),
            ("`rtsp://u:p`w@cam/` is down", "`rtsp://***@cam/` is down"),
            ("passphrase= is missing", "passphrase= is missing"),
        ] {
            assert_eq!(without_secrets(text), expected);
        }
    }

    #[test]
    fn a_terminal_is_told_nothing_to_act_on() {
        assert_eq!(sanitized("\x1b[2Jfoo\u{9b}1m://a:b@c\r\n"), "[2Jfoo1m://***@c");
    }
}
