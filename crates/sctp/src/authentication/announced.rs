//! [`Announced`]: what one end says of authentication in its INIT or INIT ACK, and the key vector
//! that it makes.

use anabranch_wire::{ChunkType, HmacIdentifier, Items, Parameter, Parameters};
use thiserror::Error;

use super::config::Authentication;
use super::keys::Algorithm;

/// RFC 4895 section 6.1: "The RANDOM parameter MUST contain a 32-byte Random Number."
pub(crate) const RANDOM_LEN: usize = 32;

/// RFC 4895 section 3.2: the CHUNKS parameter's "maximum length is 260 bytes."
const CHUNKS_MAX: usize = 256;

/// Algorithms that a peer may list; two are defined.
const ALGORITHMS_MAX: usize = 16;

/// The Random Number of one end.
pub(crate) type Random = [u8; RANDOM_LEN];

/// The RANDOM, CHUNKS and HMAC-ALGO parameters of one end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Announced {
    pub(super) random: Random,
    /// `None`: the parameter was not sent.
    pub(super) chunks: Option<Vec<ChunkType>>,
    pub(super) algorithms: Vec<HmacIdentifier>,
}

/// Why a peer's parameters cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum OfferError {
    #[error("its random number has {len} bytes, but RFC 4895 asks for {RANDOM_LEN}")]
    RandomLength { len: usize },
    #[error("it lists {count} chunks, but there are {CHUNKS_MAX} at most")]
    TooManyChunks { count: usize },
    #[error("it lists {count} HMAC algorithms, but {ALGORITHMS_MAX} are the most that we take")]
    TooManyAlgorithms { count: usize },
    #[error("it lists no HMAC algorithm that we know, not even SHA-1")]
    NoAlgorithm,
}

impl Announced {
    /// What we announce.
    pub(crate) fn ours(authentication: &Authentication, random: Random) -> Self {
        Self {
            random,
            chunks: Some(authentication.chunks().to_vec()),
            // RFC 4895 section 6.1: "The HMAC algorithm based on SHA-1 MUST be supported and
            // included in the HMAC-ALGO parameter."
            algorithms: Algorithm::ALL.map(Algorithm::id).to_vec(),
        }
    }

    /// What a peer announced, if it can be used.
    pub(crate) fn theirs(
        random: &[u8],
        chunks: Option<Items<'_, ChunkType>>,
        algorithms: Items<'_, HmacIdentifier>,
    ) -> Result<Self, OfferError> {
        // RFC 4895 section 6.1: "If the Random Number is not 32 bytes, the association MUST be
        // aborted."
        let len = random.len();
        let random = Random::try_from(random).map_err(|_| OfferError::RandomLength { len })?;
        let count = algorithms.iter().count();
        if count > ALGORITHMS_MAX {
            return Err(OfferError::TooManyAlgorithms { count });
        }
        let count = chunks.map_or(0, |chunks| chunks.iter().count());
        if count > CHUNKS_MAX {
            return Err(OfferError::TooManyChunks { count });
        }
        let announced = Self {
            random,
            chunks: chunks.map(|chunks| chunks.iter().collect()),
            algorithms: algorithms.iter().collect(),
        };
        announced.preferred_algorithm().ok_or(OfferError::NoAlgorithm)?;
        Ok(announced)
    }

    /// RFC 4895 section 6.1: "The receiver of an HMAC-ALGO parameter SHOULD use the first listed
    /// algorithm it supports."
    pub(super) fn preferred_algorithm(&self) -> Option<Algorithm> {
        self.algorithms.iter().find_map(|id| Algorithm::of(*id))
    }

    /// Appends the parameters, in the order of the key vector.
    pub(crate) fn encode(&self, buf: &mut Vec<u8>) {
        for parameter in self.parameters().into_iter().flatten() {
            parameter.encode(buf);
        }
    }

    /// Reads what [`encode`](Self::encode) wrote.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (mut random, mut chunks, mut algorithms) = (None, None, None);
        for parameter in Parameters::from_bytes(bytes).iter() {
            if let Ok(Parameter::Random(number)) = parameter {
                random = Some(number);
            } else if let Ok(Parameter::ChunkList(types)) = parameter {
                chunks = Some(types);
            } else if let Ok(Parameter::HmacAlgorithms(identifiers)) = parameter {
                algorithms = Some(identifiers);
            }
        }
        Self::theirs(random?, chunks, algorithms?).ok()
    }

    /// RFC 4895 section 6.1: "The RANDOM parameter, the CHUNKS parameter, and the HMAC-ALGO
    /// parameter sent by each endpoint are concatenated as byte vectors. These parameters include
    /// the parameter type, parameter length, and the parameter value, but padding is omitted".
    pub(super) fn key_vector(&self) -> Vec<u8> {
        let mut vector = Vec::new();
        for parameter in self.parameters().into_iter().flatten() {
            let start = vector.len();
            parameter.encode(&mut vector);
            if let Some(&[_, _, len0, len1]) = vector.get(start..start + 4) {
                vector.truncate(start + usize::from(u16::from_be_bytes([len0, len1])));
            }
        }
        vector
    }

    /// "Parameters that were not sent are simply omitted from the concatenation process."
    fn parameters(&self) -> [Option<Parameter<'_>>; 3] {
        let chunks = self.chunks.as_deref();
        [
            Some(Parameter::Random(&self.random)),
            chunks.map(|chunks| Parameter::ChunkList(Items::from_slice(chunks))),
            Some(Parameter::HmacAlgorithms(Items::from_slice(&self.algorithms))),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authentication::Protection;

    #[test]
    fn a_key_vector_is_what_was_sent_without_padding() {
        let authentication = Authentication::new(Vec::new(), Protection::Addresses).unwrap();
        let ours = Announced::ours(&authentication, [7; 32]);
        let mut expected = vec![0x80, 0x02, 0, 36];
        expected.extend([7; 32]);
        expected.extend([0x80, 0x03, 0, 6, 0xc1, 0x80]);
        expected.extend([0x80, 0x04, 0, 8, 0, 3, 0, 1]);
        assert_eq!(ours.key_vector(), expected);
        let mut sent = Vec::new();
        ours.encode(&mut sent);
        assert_eq!(sent.len(), expected.len() + 2, "the list of chunks is padded");

        let without = Announced { chunks: None, ..ours };
        assert_eq!(without.key_vector().len(), 36 + 8);
    }

    #[test]
    fn what_cannot_be_used_is_refused_by_the_rule_it_breaks() {
        let algorithms = [HmacIdentifier::SHA_1];
        let theirs = |random: &[u8], chunks: &[ChunkType], algorithms: &[HmacIdentifier]| {
            let chunks = Some(Items::from_slice(chunks));
            Announced::theirs(random, chunks, Items::from_slice(algorithms)).map(|_| ())
        };
        assert_eq!(theirs(&[0; 32], &[], &algorithms), Ok(()));
        let len = OfferError::RandomLength { len: 31 };
        assert_eq!(theirs(&[0; 31], &[], &algorithms), Err(len));
        let many = vec![ChunkType::DATA; 257];
        let error = OfferError::TooManyChunks { count: 257 };
        assert_eq!(theirs(&[0; 32], &many, &algorithms), Err(error));
        let error = OfferError::TooManyAlgorithms { count: 17 };
        assert_eq!(theirs(&[0; 32], &[], &[HmacIdentifier::SHA_1; 17]), Err(error));
        let unknown = [HmacIdentifier(2), HmacIdentifier(77)];
        assert_eq!(theirs(&[0; 32], &[], &unknown), Err(OfferError::NoAlgorithm));
    }
}
