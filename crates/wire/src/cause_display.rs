//! Error causes in plain words, for the person who reads why an association ended.

use std::fmt;

use crate::{ChunkType, ErrorCause, Parameter, Parameters};

impl fmt::Display for ErrorCause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidStreamIdentifier { stream } => {
                write!(f, "data on stream {stream}, which does not exist")
            }
            Self::MissingMandatoryParameter { missing } => {
                f.write_str("mandatory parameters are missing: ")?;
                list(f, missing.iter())
            }
            Self::StaleCookie { measure_us: 0 } => f.write_str("the cookie had expired"),
            Self::StaleCookie { measure_us } => {
                write!(f, "the cookie had expired {measure_us} microseconds before")
            }
            Self::OutOfResource => f.write_str("out of resources"),
            Self::UnresolvableAddress(address) => {
                f.write_str("an address cannot be used: ")?;
                list(f, parameters(address))
            }
            Self::UnrecognizedChunkType(chunk) => match chunk {
                [ty, ..] => write!(f, "a chunk was not recognized: {}", ChunkType(*ty)),
                [] => f.write_str("a chunk was not recognized"),
            },
            Self::InvalidMandatoryParameter => {
                f.write_str("a mandatory field has a forbidden value")
            }
            Self::UnrecognizedParameters(unrecognized) => {
                f.write_str("parameters were not recognized: ")?;
                list(f, parameters(unrecognized))
            }
            Self::NoUserData { tsn } => write!(f, "the DATA chunk with TSN {tsn} has no user data"),
            Self::CookieReceivedWhileShuttingDown => {
                f.write_str("a cookie arrived while the association shuts down")
            }
            Self::RestartWithNewAddresses(addresses) => {
                f.write_str("a restart brought new addresses: ")?;
                list(f, parameters(addresses))
            }
            Self::UserInitiatedAbort(reason) => {
                write!(f, "the application aborted: {}", Text(reason))
            }
            Self::ProtocolViolation(information) => {
                write!(f, "the protocol was violated: {}", Text(information))
            }
            Self::NewEncapsulationPort { current, new } => {
                write!(
                    f,
                    "a restart changed the UDP encapsulation port: current {current}, new {new}"
                )
            }
            Self::MissingDtlsChunkSupport => f.write_str("the DTLS chunk is demanded"),
            Self::NoCommonDtlsKeyManagement => {
                f.write_str("there is no common way to agree on keys for the DTLS chunk")
            }
            Self::DtlsTieBreakerCollision => {
                f.write_str("both ends drew the same tie breaker for the DTLS chunk")
            }
            Self::IncompatibleDtlsRoles => {
                f.write_str("both ends demand the same role where keys are agreed on")
            }
            Self::DeleteLastRemainingIpAddress(request) => {
                f.write_str("the last address cannot be deleted: ")?;
                list(f, parameters(request))
            }
            Self::ResourceShortage(request) => {
                f.write_str("there is no room for an address: ")?;
                list(f, parameters(request))
            }
            Self::DeleteSourceIpAddress(request) => {
                f.write_str("the address that a request came from cannot be deleted: ")?;
                list(f, parameters(request))
            }
            Self::IllegalAsconfAck => f.write_str("an ASCONF-ACK for no ASCONF"),
            Self::NoAuthorization([]) => f.write_str("not authorized"),
            Self::NoAuthorization(request) => {
                f.write_str("not authorized: ")?;
                list(f, parameters(request))
            }
            Self::UnsupportedHmacIdentifier { hmac_identifier } => {
                write!(f, "the HMAC algorithm {hmac_identifier} is not supported")
            }
            Self::Unknown { code, value } => write!(f, "{code}: {}", Text(value)),
        }
    }
}

/// The most items, or bytes of a text, that are shown: the peer chose how many there are.
const SHOWN_MAX: usize = 80;

/// Writes `items` with commas between them.
fn list(
    f: &mut fmt::Formatter<'_>,
    items: impl IntoIterator<Item = impl fmt::Display>,
) -> fmt::Result {
    for (index, item) in items.into_iter().take(SHOWN_MAX).enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        write!(f, "{comma}{item}")?;
    }
    Ok(())
}

/// The parameters in `bytes` up to the first that is malformed.
fn parameters(bytes: &[u8]) -> impl Iterator<Item = Shown<'_>> {
    Parameters::from_bytes(bytes).iter().map_while(Result::ok).map(Shown)
}

/// A parameter as the address it holds, or else by name.
struct Shown<'a>(Parameter<'a>);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Parameter::Ipv4Address(address) => write!(f, "{address}"),
            Parameter::Ipv6Address(address) => write!(f, "{address}"),
            Parameter::AddIpAddress { address, .. }
            | Parameter::DeleteIpAddress { address, .. }
            | Parameter::SetPrimaryAddress { address, .. } => write!(f, "{address}"),
            Parameter::HostNameAddress(name) => write!(f, "{}", Text(name)),
            Parameter::HeartbeatInfo(_)
            | Parameter::StateCookie(_)
            | Parameter::UnrecognizedParameter(_)
            | Parameter::CookiePreservative { .. }
            | Parameter::SupportedAddressTypes(_)
            | Parameter::OutgoingSsnResetRequest(_)
            | Parameter::IncomingSsnResetRequest(_)
            | Parameter::SsnTsnResetRequest { .. }
            | Parameter::ReconfigurationResponse(_)
            | Parameter::AddOutgoingStreamsRequest(_)
            | Parameter::AddIncomingStreamsRequest(_)
            | Parameter::EcnCapable
            | Parameter::CmtDelayedAckSupported
            | Parameter::SpacedSacksSupported
            | Parameter::LevelMarksSupported
            | Parameter::KeySalt(_)
            | Parameter::Padding(_)
            | Parameter::DtlsKeyManagement(_)
            | Parameter::Random(_)
            | Parameter::ChunkList(_)
            | Parameter::HmacAlgorithms(_)
            | Parameter::SupportedExtensions(_)
            | Parameter::ForwardTsnSupported
            | Parameter::ErrorCauseIndication { .. }
            | Parameter::SuccessIndication { .. }
            | Parameter::AdaptationLayerIndication { .. }
            | Parameter::ZeroChecksumAcceptable(_)
            | Parameter::Unknown(_) => write!(f, "{}", self.0.ty()),
        }
    }
}

/// Bytes that are most often text.
struct Text<'a>(&'a [u8]);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shown, more) = match self.0.split_at_checked(SHOWN_MAX) {
            Some((shown, [_, ..])) => (shown, "..."),
            _ => (self.0, ""),
        };
        write!(f, "\"{}{more}\"", shown.escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::hex;
    use crate::{CauseCode, Items, ParameterType, StreamId, Tsn};

    #[test]
    fn causes_are_told_in_plain_words() {
        let missing = [ParameterType::STATE_COOKIE, ParameterType(0xc0fe)];
        let addresses = hex("000500087f000009 00060014fd770001000000000000000000000002");
        let host = hex("000b0011 686f73742e6578616d706c6500");
        for (cause, words) in [
            (
                ErrorCause::InvalidStreamIdentifier { stream: StreamId(77) },
                "data on stream 77, which does not exist",
            ),
            (
                ErrorCause::MissingMandatoryParameter { missing: Items::from_slice(&missing) },
                "mandatory parameters are missing: State Cookie, type 0xc0fe",
            ),
            (ErrorCause::StaleCookie { measure_us: 0 }, "the cookie had expired"),
            (
                ErrorCause::StaleCookie { measure_us: 250 },
                "the cookie had expired 250 microseconds before",
            ),
            (
                ErrorCause::UnresolvableAddress(&host),
                r#"an address cannot be used: "host.example\x00""#,
            ),
            (
                ErrorCause::UnrecognizedChunkType(&[0xfe, 0, 0, 4]),
                "a chunk was not recognized: type 254",
            ),
            (ErrorCause::NoUserData { tsn: Tsn(9) }, "the DATA chunk with TSN 9 has no user data"),
            (
                ErrorCause::RestartWithNewAddresses(&addresses),
                "a restart brought new addresses: 127.0.0.9, fd77:1::2",
            ),
            (
                ErrorCause::NewEncapsulationPort { current: 9900, new: 9901 },
                "a restart changed the UDP encapsulation port: current 9900, new 9901",
            ),
            (ErrorCause::Unknown { code: CauseCode(180), value: b"" }, r#"code 180: """#),
        ] {
            assert_eq!(cause.to_string(), words);
        }
    }

    #[test]
    fn a_long_reason_is_cut() {
        let reason = [b'a'; SHOWN_MAX + 1];
        let shown = ErrorCause::UserInitiatedAbort(&reason).to_string();
        let expected = format!("the application aborted: \"{}...\"", "a".repeat(SHOWN_MAX));
        assert_eq!(shown, expected);
    }
}
