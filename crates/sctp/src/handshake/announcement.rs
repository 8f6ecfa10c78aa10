//! [`Announcement`]: the content of an INIT or INIT ACK.

use std::net::IpAddr;

use anabranch_wire::{
    ChunkType, DecodeError, ErrorDetectionMethod, HmacIdentifier, Init, Items, Parameter,
    Parameters, SALT_LEN, Tsn, UnknownParameter, VerificationTag,
};
use thiserror::Error;

use crate::authentication::{Announced, Authentication, OfferError, Random};
use crate::config::{A_RWND_MIN, AssociationConfig};
use crate::dtls::{Agreement, Disagreement, Encryption, EncryptionPolicy, KeyOffer, Offers};
use crate::extensions::SupportedExtensions;

/// Addresses that are taken from one INIT or INIT ACK; the rest is ignored.
const ADDRESSES_MAX: usize = 16;

/// Bytes of unrecognized parameters that are reported back.
const REPORT_MAX: usize = 256;

impl SupportedExtensions {
    /// What an association offers.
    pub(crate) const fn of(config: &AssociationConfig) -> Self {
        Self {
            forward_tsn: config.extensions.partial_reliability,
            cmt_delayed_ack: config.extensions.cmt_delayed_ack,
            spaced_sacks: config.extensions.spaced_sacks,
            level_marks: config.extensions.level_marks,
            re_config: true,
            asconf: offers_asconf(config),
            i_data: config.extensions.message_interleaving,
            i_forward_tsn: config.extensions.message_interleaving
                && config.extensions.partial_reliability,
            zero_checksum: config.extensions.zero_checksum_over_dtls,
            zero_checksum_of_sealed: config.extensions.omits_checksums_of_sealed(),
        }
    }
}

/// The parameters of authentication as they came, maybe not all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Offer {
    random: Option<Vec<u8>>,
    chunks: Option<Vec<ChunkType>>,
    algorithms: Option<Vec<HmacIdentifier>>,
}

/// What a peer announces when an association is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Announcement {
    pub(crate) tag: VerificationTag,
    pub(crate) a_rwnd: u32,
    pub(crate) outbound_streams: u16,
    pub(crate) inbound_streams: u16,
    pub(crate) initial_tsn: Tsn,
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) extensions: SupportedExtensions,
    offer: Offer,
    /// How the peer agrees on keys for the DTLS chunk, if it knows it.
    key_offer: Option<KeyOffer>,
    /// What a listener made its keys with.
    pub(crate) salt: Option<[u8; SALT_LEN]>,
    pub(crate) cookie: Option<Vec<u8>>,
    pub(crate) cookie_preservative_ms: Option<u32>,
    /// Whole parameters that we do not know and that want to be reported, with padding between
    /// them.
    unrecognized: Vec<u8>,
    has_forward_tsn_parameter: bool,
}

/// Why an announcement is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum Refusal {
    #[error("it has the Initiate Tag 0")]
    ZeroTag,
    #[error(
        "it has {outbound} outbound and {inbound} inbound streams, but each must be at least 1"
    )]
    NoStreams { outbound: u16, inbound: u16 },
    #[error("it has a window of {a_rwnd} bytes, but RFC 9260 asks for at least {A_RWND_MIN}")]
    SmallWindow { a_rwnd: u32 },
    #[error("it has a host name, which RFC 9260 does not allow")]
    HostName { parameter: Vec<u8> },
    #[error("it does not authenticate its chunks, and a key is demanded here")]
    NotAuthenticated,
    #[error("it offers to change addresses but not to authenticate that")]
    AsconfWithoutAuthentication,
    #[error(
        "it does not tell the salt that keys of passphrases are made with here: both ends must be \
         of versions that do so"
    )]
    NoSalt,
    #[error("{0}")]
    Offer(OfferError),
    #[error("it does not offer the DTLS chunk, and encryption is demanded here")]
    NotEncrypted,
    #[error("{0}")]
    Keys(Disagreement),
    #[error("a parameter cannot be read: {0}")]
    Malformed(DecodeError),
}

impl Announcement {
    /// Reads an INIT; an INIT ACK has the same fields.
    pub(crate) fn read(init: &Init<'_>) -> Result<Self, Refusal> {
        // RFC 9260 section 3.3.2: "If the value of the Initiate Tag in a received INIT chunk is
        // found to be 0, the receiver MUST silently discard the packet."
        if init.initiate_tag.0 == 0 {
            return Err(Refusal::ZeroTag);
        }
        // RFC 9260 section 3.3.2: "A receiver of an INIT chunk with the OS value set to 0 MUST
        // discard the packet, SHOULD send a packet in response containing an ABORT chunk"; the same
        // holds for MIS.
        if init.outbound_streams == 0 || init.inbound_streams == 0 {
            let (outbound, inbound) = (init.outbound_streams, init.inbound_streams);
            return Err(Refusal::NoStreams { outbound, inbound });
        }
        // RFC 9260 section 3.3.2: "A receiver of an INIT chunk with the a_rwnd value set to a value
        // smaller than 1500 MUST discard the packet, SHOULD send a packet in response containing an
        // ABORT chunk".
        if init.a_rwnd < A_RWND_MIN {
            return Err(Refusal::SmallWindow { a_rwnd: init.a_rwnd });
        }
        let mut announcement = Self {
            tag: init.initiate_tag,
            a_rwnd: init.a_rwnd,
            outbound_streams: init.outbound_streams,
            inbound_streams: init.inbound_streams,
            initial_tsn: init.initial_tsn,
            addresses: Vec::new(),
            extensions: SupportedExtensions::default(),
            offer: Offer::default(),
            key_offer: None,
            salt: None,
            cookie: None,
            cookie_preservative_ms: None,
            unrecognized: Vec::new(),
            has_forward_tsn_parameter: false,
        };
        announcement.read_parameters(init.parameters)?;
        Ok(announcement)
    }

    fn read_parameters(&mut self, parameters: Parameters<'_>) -> Result<(), Refusal> {
        for parameter in parameters.iter() {
            match parameter.map_err(Refusal::Malformed)? {
                Parameter::Ipv4Address(address) => self.add_address(IpAddr::V4(address)),
                Parameter::Ipv6Address(address) => self.add_address(IpAddr::V6(address)),
                Parameter::StateCookie(cookie) => self.cookie = Some(cookie.to_vec()),
                Parameter::CookiePreservative { increment_ms } => {
                    self.cookie_preservative_ms = Some(increment_ms);
                }
                parameter @ Parameter::HostNameAddress(_) => {
                    let mut raw = Vec::new();
                    parameter.encode(&mut raw);
                    return Err(Refusal::HostName { parameter: raw });
                }
                Parameter::CmtDelayedAckSupported => self.extensions.cmt_delayed_ack = true,
                Parameter::SpacedSacksSupported => self.extensions.spaced_sacks = true,
                Parameter::LevelMarksSupported => self.extensions.level_marks = true,
                Parameter::ForwardTsnSupported => {
                    self.extensions.forward_tsn = true;
                    self.has_forward_tsn_parameter = true;
                }
                Parameter::SupportedExtensions(types) => {
                    let lists = |wanted| types.iter().any(|ty| ty == wanted);
                    self.extensions.forward_tsn |= lists(ChunkType::FORWARD_TSN);
                    self.extensions.re_config |= lists(ChunkType::RE_CONFIG);
                    self.extensions.asconf |= lists(ChunkType::ASCONF);
                    self.extensions.i_data |= lists(ChunkType::I_DATA);
                    self.extensions.i_forward_tsn |= lists(ChunkType::I_FORWARD_TSN);
                }
                Parameter::ZeroChecksumAcceptable(method) => {
                    self.extensions.zero_checksum |= method == ErrorDetectionMethod::DTLS;
                    self.extensions.zero_checksum_of_sealed |=
                        method == ErrorDetectionMethod::DTLS_CHUNK;
                }
                Parameter::KeySalt(salt) => self.salt = Some(salt),
                Parameter::Random(random) => self.offer.random = Some(random.to_vec()),
                Parameter::ChunkList(types) => {
                    self.offer.chunks = Some(types.iter().collect());
                }
                Parameter::HmacAlgorithms(algorithms) => {
                    self.offer.algorithms = Some(algorithms.iter().collect());
                }
                Parameter::DtlsKeyManagement(offer) => {
                    self.key_offer = Some(KeyOffer::read(&offer));
                }
                Parameter::Unknown(unknown) => {
                    let action = unknown.action();
                    if action.report {
                        self.note_unrecognized(&unknown);
                    }
                    if action.stop {
                        break;
                    }
                }
                // RFC 6525 section 4.1: "This parameter MUST NOT appear in any other chunk type."
                Parameter::OutgoingSsnResetRequest(_)
                | Parameter::IncomingSsnResetRequest(_)
                | Parameter::SsnTsnResetRequest { .. }
                | Parameter::ReconfigurationResponse(_)
                | Parameter::AddOutgoingStreamsRequest(_)
                | Parameter::AddIncomingStreamsRequest(_)
                | Parameter::HeartbeatInfo(_)
                | Parameter::UnrecognizedParameter(_)
                | Parameter::SupportedAddressTypes(_)
                | Parameter::EcnCapable
                // RFC 4820 section 4: "The receiver of the PAD parameter MUST silently discard this
                // parameter and continue processing the rest of the INIT chunk."
                | Parameter::Padding(_)
                | Parameter::AddIpAddress { .. }
                | Parameter::DeleteIpAddress { .. }
                | Parameter::ErrorCauseIndication { .. }
                | Parameter::SetPrimaryAddress { .. }
                | Parameter::SuccessIndication { .. }
                | Parameter::AdaptationLayerIndication { .. } => {}
            }
        }
        Ok(())
    }

    /// What the peer announced of authentication, if both ends authenticate.
    pub(crate) fn authentication(
        &self,
        ours: Option<&Authentication>,
    ) -> Result<Option<Announced>, Refusal> {
        let Some(ours) = ours else { return Ok(None) };
        let Offer { random: Some(random), chunks, algorithms: Some(algorithms) } = &self.offer
        else {
            // RFC 5061 section 6: "If an SCTP endpoint that supports this extension receives an
            // INIT that indicates that the peer supports the ASCONF extension but does NOT support
            // the [RFC4895] extension, the receiver of such an INIT MUST send an ABORT in
            // response."
            return match (ours.is_demanded(), self.extensions.asconf) {
                (true, _) => Err(Refusal::NotAuthenticated),
                (false, true) => Err(Refusal::AsconfWithoutAuthentication),
                (false, false) => Ok(None),
            };
        };
        let chunks = chunks.as_deref().map(Items::from_slice);
        let announced = Announced::theirs(random, chunks, Items::from_slice(algorithms));
        announced.map(Some).map_err(Refusal::Offer)
    }

    /// What both ends' offers of the DTLS chunk amount to; nothing if it is not used.
    ///
    /// The draft's section 5.1: "If an SCTP endpoint operates in strict DTLS mode and receives an
    /// SCTP packet with an INIT or INIT ACK chunk does not contain any DTLS Key Management
    /// Parameter or only an incompatible one, the endpoint MUST send an SCTP packet with an ABORT
    /// chunk." and "If an SCTP endpoint operates in loose DTLS mode, it MAY continue with the
    /// handshake in any case."
    pub(crate) fn encryption(
        &self,
        encryption: Option<&Encryption>,
        own: Option<&KeyOffer>,
    ) -> Result<Option<(Offers, Agreement)>, Refusal> {
        let (Some(encryption), Some(own)) = (encryption, own) else { return Ok(None) };
        let agreed = self.key_offer.clone().ok_or(Refusal::NotEncrypted).and_then(|peers| {
            let offers = Offers { own: own.clone(), peers };
            let agreement = offers.agree().map_err(Refusal::Keys)?;
            Ok((offers, agreement))
        });
        match encryption.policy {
            EncryptionPolicy::Require => agreed.map(Some),
            EncryptionPolicy::Prefer => Ok(agreed.ok()),
        }
    }

    /// What is reported to the peer as not recognized by an association of this configuration.
    ///
    /// RFC 3758 section 3.3.2: "When a receiver of an INIT detects a Forward-TSN-Supported
    /// parameter and does not support the Forward-TSN chunk type, the receiver MUST follow the
    /// rules defined in Section 3.3.3 of RFC 2960"; the same holds for an INIT ACK. The upper bits
    /// of its type, 0xC000, say: skip and report.
    pub(crate) fn unrecognized_with(&self, config: &AssociationConfig) -> Vec<u8> {
        let mut unrecognized = self.unrecognized.clone();
        if self.has_forward_tsn_parameter && !config.extensions.partial_reliability {
            unrecognized.resize(unrecognized.len().next_multiple_of(4), 0);
            Parameter::ForwardTsnSupported.encode(&mut unrecognized);
        }
        unrecognized
    }

    fn note_unrecognized(&mut self, unknown: &UnknownParameter<'_>) {
        let start = self.unrecognized.len().next_multiple_of(4);
        if start + unknown.raw.len() <= REPORT_MAX {
            self.unrecognized.resize(start, 0);
            self.unrecognized.extend_from_slice(unknown.raw);
        }
    }

    fn add_address(&mut self, address: IpAddr) {
        if self.addresses.len() < ADDRESSES_MAX && !self.addresses.contains(&address) {
            self.addresses.push(address);
        }
    }
}

/// The parameters that we put into INIT and INIT ACK alike.
///
/// A single address is not listed: without any, RFC 9260 section 5.1.2 has the peer take "the
/// source IP address from which the chunk arrives", and then a NAT in between does no harm.
pub(crate) fn encode_parameters(
    addresses: &[IpAddr],
    config: &AssociationConfig,
    random: Random,
    key_offer: Option<&KeyOffer>,
) -> Vec<u8> {
    let extensions = SupportedExtensions::of(config);
    let mut bytes = Vec::new();
    if addresses.len() > 1 {
        for address in addresses {
            match *address {
                IpAddr::V4(address) => Parameter::Ipv4Address(address).encode(&mut bytes),
                IpAddr::V6(address) => Parameter::Ipv6Address(address).encode(&mut bytes),
            }
        }
    }
    if extensions.cmt_delayed_ack {
        Parameter::CmtDelayedAckSupported.encode(&mut bytes);
    }
    if extensions.spaced_sacks {
        Parameter::SpacedSacksSupported.encode(&mut bytes);
    }
    if extensions.level_marks {
        Parameter::LevelMarksSupported.encode(&mut bytes);
    }
    if extensions.forward_tsn {
        Parameter::ForwardTsnSupported.encode(&mut bytes);
    }
    // Some stacks look for FORWARD TSN here only, and not for the parameter of RFC 3758. RFC 5061
    // section 4.2.7: "An implementation supporting this extension MUST list the ASCONF,the
    // ASCONF-ACK, and the AUTH chunks in its INIT and INIT-ACK parameters."
    // RFC 8260 section 2.2.1: "An SCTP endpoint indicates user message interleaving support by
    // listing the I-DATA chunk within the Supported Extensions Parameter".
    let listed = [
        (extensions.forward_tsn, ChunkType::FORWARD_TSN),
        (extensions.re_config, ChunkType::RE_CONFIG),
        (extensions.asconf, ChunkType::ASCONF),
        (extensions.asconf, ChunkType::ASCONF_ACK),
        (extensions.asconf, ChunkType::AUTH),
        (extensions.i_data, ChunkType::I_DATA),
        (extensions.i_forward_tsn, ChunkType::I_FORWARD_TSN),
    ];
    let types: Vec<_> = listed.iter().filter(|(is_offered, _)| *is_offered).map(|e| e.1).collect();
    if !types.is_empty() {
        Parameter::SupportedExtensions(Items::from_slice(&types)).encode(&mut bytes);
    }
    if extensions.zero_checksum {
        Parameter::ZeroChecksumAcceptable(ErrorDetectionMethod::DTLS).encode(&mut bytes);
    } else if extensions.zero_checksum_of_sealed {
        Parameter::ZeroChecksumAcceptable(ErrorDetectionMethod::DTLS_CHUNK).encode(&mut bytes);
    }
    if let Some(authentication) = &config.extensions.authentication {
        Announced::ours(authentication, random).encode(&mut bytes);
    }
    if let Some(offer) = key_offer {
        Parameter::DtlsKeyManagement(offer.parameter()).encode(&mut bytes);
    }
    bytes
}

/// Whether changes of addresses are offered (RFC 5061): where they can be proven.
///
/// A peer that does not know the DTLS chunk, and is told of ASCONF without AUTH, "MUST send an
/// ABORT in response" (RFC 5061 section 6): nothing is said of it where such a peer is welcome.
const fn offers_asconf(config: &AssociationConfig) -> bool {
    let is_encrypted = match &config.extensions.encryption {
        Some(encryption) => matches!(encryption.policy, EncryptionPolicy::Require),
        None => false,
    };
    is_encrypted || config.extensions.authentication.is_some()
}

/// Bytes that an INIT ACK has and the INIT with the same parameters has not: a State Cookie
/// parameter with two addresses of IPv6 and tie-tags, less what follows here.
const INIT_ACK_MORE: usize = 120;

/// What authentication adds to that: a salt, and a cookie with both ends' random numbers, a list of
/// all chunks and one of algorithms.
const INIT_ACK_MORE_AUTHENTICATED: usize = 132;

/// What the DTLS chunk adds to that: both ends' offers in the cookie.
const INIT_ACK_MORE_ENCRYPTED: usize = 24;

/// Addresses that the listener may have and we have not.
const LISTENERS_ADDRESSES: usize = 4;

/// Bytes of an address parameter, the larger one of both, and of an address in a cookie.
const ADDRESS_PARAMETER_LEN: usize = 20;

/// Makes an INIT at least as long as the INIT ACK that a listener like us answers it with: who
/// sends it in somebody else's name has nothing multiplied.
pub(crate) fn pad_init(parameters: &mut Vec<u8>, addresses: usize, config: &AssociationConfig) {
    let authenticated =
        config.extensions.authentication.as_ref().map_or(0, |_| INIT_ACK_MORE_AUTHENTICATED);
    let encrypted = config.extensions.encryption.as_ref().map_or(0, |_| INIT_ACK_MORE_ENCRYPTED);
    let of_addresses = (LISTENERS_ADDRESSES + addresses) * ADDRESS_PARAMETER_LEN;
    let padding = vec![0; INIT_ACK_MORE + authenticated + encrypted + of_addresses];
    Parameter::Padding(&padding).encode(parameters);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authentication::Protection;
    use crate::format::DataFormat;

    fn init(parameters: &[u8]) -> Init<'_> {
        Init {
            initiate_tag: VerificationTag(1),
            a_rwnd: 10_000,
            outbound_streams: 2,
            inbound_streams: 3,
            initial_tsn: Tsn(9),
            parameters: Parameters::from_bytes(parameters),
        }
    }

    #[test]
    fn what_we_announce_can_be_read() {
        let addresses = ["10.0.0.1".parse().unwrap(), "fd00::1".parse().unwrap()];
        let authentication = Authentication::new(Vec::new(), Protection::Addresses).unwrap();
        let ours = Announced::ours(&authentication, [5; 32]);
        let config = AssociationConfig::default().with(|config| {
            config.extensions.authentication = Some(authentication.clone());
            config.extensions.cmt_delayed_ack = true;
            config.extensions.spaced_sacks = true;
            config.extensions.level_marks = true;
            config.extensions.message_interleaving = true;
            config.extensions.zero_checksum_over_dtls = true;
        });
        let extensions = SupportedExtensions {
            forward_tsn: true,
            cmt_delayed_ack: true,
            spaced_sacks: true,
            level_marks: true,
            re_config: true,
            asconf: true,
            i_data: true,
            i_forward_tsn: true,
            zero_checksum: true,
            zero_checksum_of_sealed: false,
        };
        assert_eq!(SupportedExtensions::of(&config), extensions);
        let bytes = encode_parameters(&addresses, &config, [5; 32], None);
        let read = Announcement::read(&init(&bytes)).unwrap();
        assert_eq!(read.authentication(Some(&authentication)), Ok(Some(ours)));
        assert_eq!((read.addresses, read.extensions), (addresses.to_vec(), extensions));
        let single = encode_parameters(&addresses[..1], &config, [5; 32], None);
        assert!(Announcement::read(&init(&single)).unwrap().addresses.is_empty());
    }

    #[test]
    fn interleaving_has_its_own_partial_reliability() {
        let interleaving = SupportedExtensions { i_data: true, ..SupportedExtensions::default() };
        let without = SupportedExtensions { forward_tsn: true, ..interleaving };
        assert_eq!(without.data_format(), DataFormat::IData);
        assert!(!without.partial_reliability());
        let with = SupportedExtensions { i_forward_tsn: true, ..interleaving };
        assert!(with.partial_reliability());
        let plain = SupportedExtensions { i_data: false, ..with };
        assert_eq!(plain.data_format(), DataFormat::Data);
        assert!(!plain.partial_reliability());
    }

    #[test]
    fn only_dtls_stands_in_for_the_checksum() {
        let reads = |method| {
            let mut bytes = Vec::new();
            Parameter::ZeroChecksumAcceptable(method).encode(&mut bytes);
            Announcement::read(&init(&bytes)).unwrap().extensions.zero_checksum
        };
        assert!(reads(ErrorDetectionMethod::DTLS));
        assert!(!reads(ErrorDetectionMethod(2)));
    }

    #[test]
    fn unknown_parameters_are_skipped_reported_or_end_the_reading_by_their_upper_bits() {
        // 0xc123: skip and report; 0x8123: skip; 0x4123: stop and report; then an address.
        let bytes = [
            0xc1, 0x23, 0, 5, 7, 0, 0, 0, 0x81, 0x23, 0, 4, 0x41, 0x23, 0, 4, 0, 5, 0, 8, 10, 0, 0,
            1,
        ];
        let read = Announcement::read(&init(&bytes)).unwrap();
        assert_eq!(read.unrecognized, [0xc1, 0x23, 0, 5, 7, 0, 0, 0, 0x41, 0x23, 0, 4]);
        assert!(read.addresses.is_empty(), "behind a parameter that stops");
    }

    #[test]
    fn an_init_that_cannot_work_is_refused_by_the_rule_it_breaks() {
        let zero_tag = Init { initiate_tag: VerificationTag(0), ..init(&[]) };
        assert_eq!(Announcement::read(&zero_tag), Err(Refusal::ZeroTag));
        let small_window = Init { a_rwnd: 1_499, ..init(&[]) };
        let refusal = Refusal::SmallWindow { a_rwnd: 1_499 };
        assert_eq!(Announcement::read(&small_window), Err(refusal));
        let no_streams = Init { inbound_streams: 0, ..init(&[]) };
        let refusal = Refusal::NoStreams { outbound: 2, inbound: 0 };
        assert_eq!(Announcement::read(&no_streams), Err(refusal));
        let host_name = [0, 11, 0, 8, b'a', b'.', b'b', 0];
        let refusal = Announcement::read(&init(&host_name));
        assert_eq!(refusal, Err(Refusal::HostName { parameter: host_name.to_vec() }));
    }

    #[test]
    fn who_does_not_authenticate_is_refused_only_where_that_is_demanded() {
        let key = crate::SharedKey::new(1, b"secret");
        let with = |protection| Authentication::new(vec![key.clone()], protection).unwrap();
        let (strict, lenient) = (with(Protection::Everything), with(Protection::Addresses));
        let plain = Announcement::read(&init(&[])).unwrap();
        assert_eq!(plain.authentication(None), Ok(None));
        assert_eq!(plain.authentication(Some(&lenient)), Ok(None));
        assert_eq!(plain.authentication(Some(&strict)), Err(Refusal::NotAuthenticated));

        let mut bytes = Vec::new();
        let types = [ChunkType::ASCONF];
        Parameter::SupportedExtensions(Items::from_slice(&types)).encode(&mut bytes);
        let half = Announcement::read(&init(&bytes)).unwrap();
        assert_eq!(half.authentication(None), Ok(None));
        let refusal = Err(Refusal::AsconfWithoutAuthentication);
        assert_eq!(half.authentication(Some(&lenient)), refusal);

        Parameter::Random(&[0; 31]).encode(&mut bytes);
        let sha_1 = [HmacIdentifier::SHA_1];
        Parameter::HmacAlgorithms(Items::from_slice(&sha_1)).encode(&mut bytes);
        let short = Announcement::read(&init(&bytes)).unwrap();
        let refusal = Refusal::Offer(OfferError::RandomLength { len: 31 });
        assert_eq!(short.authentication(Some(&lenient)), Err(refusal));
    }

    #[test]
    fn addresses_taken_from_one_peer_are_bounded() {
        let mut bytes = Vec::new();
        for last in 0..200_u8 {
            Parameter::Ipv4Address([10, 0, 0, last].into()).encode(&mut bytes);
        }
        let read = Announcement::read(&init(&bytes)).unwrap();
        assert_eq!(read.addresses.len(), ADDRESSES_MAX);
    }
}
