//! [`Plain`]: TLS 1.3 of which nothing is left but its round trips and its lengths.

use std::any::Any;
use std::sync::Arc;

use bytes::BytesMut;
use quinn_proto::crypto::{
    AeadKey, ClientConfig, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey,
    HmacKey, KeyPair, Keys, PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError, TransportErrorCode};
use sha2::{Digest, Sha256};

/// Bytes that authenticate an encrypted packet, and those that hide its number.
const TAG_LEN: usize = 16;
/// Usual lengths of TLS 1.3: a ClientHello and a ServerHello, a certificate of a few hundred bytes
/// with what surrounds it, a Finished.
const CLIENT_HELLO: usize = 280;
const SERVER_HELLO: usize = 90;
const CERTIFICATE: usize = 900;
const FINISHED: usize = 36;

/// Keys that encrypt nothing, and configurations that use them.
pub(super) struct Plain;

/// A handshake. Each message is its length, 2 bytes, that of the parameters in it, 2 bytes, the
/// parameters, and padding.
struct Handshake {
    side: Side,
    parameters: Vec<u8>,
    peer: Option<TransportParameters>,
    /// What arrived and is no whole message yet.
    arrived: Vec<u8>,
    received: usize,
    sent: usize,
}

/// What a side sends, as (length, with parameters), and how many messages it has to have first.
const CLIENT_SENDS: [(usize, bool, usize); 3] =
    [(CLIENT_HELLO, true, 0), (0, false, 1), (FINISHED, false, 2)];
const SERVER_SENDS: [(usize, bool, usize); 2] = [(SERVER_HELLO, false, 1), (CERTIFICATE, true, 1)];

impl Handshake {
    fn new(side: Side, parameters: &TransportParameters) -> Self {
        let mut bytes = Vec::new();
        parameters.write(&mut bytes);
        Self { side, parameters: bytes, peer: None, arrived: Vec::new(), received: 0, sent: 0 }
    }

    /// How many messages the other end sends.
    const fn expected(&self) -> usize {
        2
    }

    fn take(&mut self) -> Result<bool, TransportError> {
        let [a, b, c, d, rest @ ..] = self.arrived.as_slice() else { return Ok(false) };
        let len = usize::from(u16::from_be_bytes([*a, *b]));
        let own = usize::from(u16::from_be_bytes([*c, *d]));
        let Some((message, _)) = rest.split_at_checked(len) else { return Ok(false) };
        if let Some(mut parameters) = message.get(..own).filter(|own| !own.is_empty()) {
            let peer = TransportParameters::read(self.side, &mut parameters);
            self.peer = Some(peer.map_err(|_| {
                TransportError::from(TransportErrorCode::TRANSPORT_PARAMETER_ERROR)
            })?);
        }
        self.arrived.drain(..4 + len);
        self.received += 1;
        Ok(true)
    }
}

impl Session for Handshake {
    fn initial_keys(&self, _dst_cid: &ConnectionId, _side: Side) -> Keys {
        keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        self.received < self.expected()
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.arrived.extend_from_slice(buf);
        let before = self.received;
        while self.take()? {}
        Ok(before == 0 && self.received > 0)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.peer)
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        let sends: &[_] = if self.side.is_client() { &CLIENT_SENDS } else { &SERVER_SENDS };
        let (len, with_parameters, needs) = *sends.get(self.sent)?;
        if self.received < needs {
            return None;
        }
        self.sent += 1;
        if len > 0 {
            let own: &[u8] = if with_parameters { &self.parameters } else { &[] };
            let len = len.max(own.len());
            buf.extend_from_slice(&(len as u16).to_be_bytes());
            buf.extend_from_slice(&(own.len() as u16).to_be_bytes());
            buf.extend_from_slice(own);
            buf.resize(buf.len() + len - own.len(), 0);
        }
        // The first of a client's goes out with nothing agreed on yet.
        (self.side.is_server() || self.sent > 1).then(keys)
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(KeyPair { local: Box::new(Plain), remote: Box::new(Plain) })
    }

    fn is_valid_retry(&self, _orig: &ConnectionId, _header: &[u8], _payload: &[u8]) -> bool {
        true
    }

    fn export_keying_material(
        &self,
        _output: &mut [u8],
        _label: &[u8],
        _context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

fn keys() -> Keys {
    Keys {
        header: KeyPair { local: Box::new(Plain), remote: Box::new(Plain) },
        packet: KeyPair { local: Box::new(Plain), remote: Box::new(Plain) },
    }
}

impl ClientConfig for Plain {
    fn start_session(
        self: Arc<Self>,
        _version: u32,
        _server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(Box::new(Handshake::new(Side::Client, params)))
    }
}

impl ServerConfig for Plain {
    fn initial_keys(
        &self,
        _version: u32,
        _dst_cid: &ConnectionId,
    ) -> Result<Keys, UnsupportedVersion> {
        Ok(keys())
    }

    fn retry_tag(&self, _version: u32, _orig: &ConnectionId, _packet: &[u8]) -> [u8; 16] {
        [0; 16]
    }

    fn start_session(
        self: Arc<Self>,
        _version: u32,
        params: &TransportParameters,
    ) -> Box<dyn Session> {
        Box::new(Handshake::new(Side::Server, params))
    }
}

impl PacketKey for Plain {
    fn encrypt(&self, _packet: u64, _buf: &mut [u8], _header_len: usize) {}

    fn decrypt(
        &self,
        _packet: u64,
        _header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        let len = payload.len().checked_sub(TAG_LEN).ok_or(CryptoError)?;
        payload.truncate(len);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG_LEN
    }

    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

impl HeaderKey for Plain {
    fn decrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn encrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        TAG_LEN
    }
}

impl HmacKey for Plain {
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        let digest = Sha256::digest(data);
        signature_out.iter_mut().zip(digest).for_each(|(out, byte)| *out = byte);
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        if Sha256::digest(data).as_slice() == signature { Ok(()) } else { Err(CryptoError) }
    }
}

impl HandshakeTokenKey for Plain {
    fn aead_from_hkdf(&self, _random_bytes: &[u8]) -> Box<dyn AeadKey> {
        Box::new(Self)
    }
}

impl AeadKey for Plain {
    fn seal(&self, _data: &mut Vec<u8>, _additional_data: &[u8]) -> Result<(), CryptoError> {
        Ok(())
    }

    fn open<'a>(
        &self,
        data: &'a mut [u8],
        _additional_data: &[u8],
    ) -> Result<&'a mut [u8], CryptoError> {
        Ok(data)
    }
}
