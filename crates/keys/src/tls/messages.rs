//! What TLS says, and what we had it say, in words that both ends are told.

use anabranch_sctp::KeyFailure;
use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError, Error};

use super::verifier::untrusted_key;
use crate::error::failure;

const DAY: u64 = 24 * 60 * 60;

pub(super) fn tls_failure(error: Error) -> KeyFailure {
    if let Error::InvalidCertificate(error) = &error {
        return KeyFailure::Untrusted { what: of_certificate(error) };
    }
    if let Error::AlertReceived(alert) = error {
        return failure(of_alert(alert));
    }
    failure(format!("TLS: {error}"))
}

#[expect(clippy::wildcard_enum_match_arm, reason = "most of them need no words of our own")]
fn of_certificate(error: &CertificateError) -> String {
    if let Some(key) = untrusted_key(error) {
        return key.to_string();
    }
    match error {
        CertificateError::ExpiredContext { time, not_after } => {
            let days = days(*not_after, *time);
            format!("the certificate expired {days} ago: its owner needs a new one")
        }
        CertificateError::NotValidYetContext { time, not_before } => {
            let days = days(*time, *not_before);
            format!("the certificate holds in {days} only: are both clocks right?")
        }
        CertificateError::NotValidForNameContext { expected, presented } => {
            let names: Vec<_> = presented.iter().map(|name| bare(name)).collect();
            let (names, expected) = (names.join(", "), expected.to_str());
            format!("the certificate is for {names}, and not for {expected}")
        }
        CertificateError::UnknownIssuer => {
            "no CA that is known to who asked for it issued the certificate".to_owned()
        }
        CertificateError::InvalidPurposeContext { required, .. } => {
            format!("the certificate is not for {required}")
        }
        error => format!("the certificate is not valid: {error}"),
    }
}

/// The name in what webpki writes: `DnsName("host.example")`.
fn bare(presented: &str) -> &str {
    presented.split('"').nth(1).unwrap_or(presented)
}

fn days(from: UnixTime, to: UnixTime) -> String {
    match to.as_secs().saturating_sub(from.as_secs()) / DAY {
        1 => "1 day".to_owned(),
        days => format!("{days} days"),
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the others are the library's to put in words")]
fn of_alert(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::CertificateExpired => {
            "the other end says that our certificate is not of today".to_owned()
        }
        AlertDescription::UnknownCA => {
            "the other end does not trust the CA that issued our certificate".to_owned()
        }
        AlertDescription::BadCertificate
        | AlertDescription::CertificateUnknown
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::AccessDenied => {
            "the other end does not take our key or certificate".to_owned()
        }
        alert => format!("TLS: the other end says {alert:?}"),
    }
}
