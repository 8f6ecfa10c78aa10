//! Checks of `anabranch-keys`: whatever comes in a DTLS chunk or as a message about keys, nothing
//! is opened that was not sealed with the same keys, and both ends come to the same keys or none.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};

use anabranch_keys::{Identity, Suite, TlsKeys, Trust};
use anabranch_sansio::Time;
use anabranch_sctp::{
    Epoch, KeyAction, KeyContext, KeyManagement, KeyManagementFactory, KeyRole, NONCE_LEN,
    RecordKeys,
};
use anabranch_wire::{Chunk, CommonHeader, Dtls, Packet, VerificationTag};
use bytes::Bytes;

const HEADER: CommonHeader =
    CommonHeader { source_port: 1, destination_port: 2, verification_tag: VerificationTag(3) };

/// Bytes of a message from the script.
const MESSAGE_MAX: usize = 512;

static KEYS: LazyLock<TlsKeys> = LazyLock::new(|| {
    let identity = Identity::generate().expect("there is randomness");
    TlsKeys::new(&identity, Trust::Anyone).expect("TLS takes the key")
});

/// Opens `bytes` as chunks, and seals them as content.
pub fn chunk(bytes: &[u8]) {
    for suite in Suite::by_speed() {
        let key = vec![7; suite.key_len()];
        let cipher = suite.cipher(&key, &key).expect("keys of their length");
        let keys = RecordKeys { cipher: Arc::new(cipher), iv: [7; NONCE_LEN] };
        for chunk in Packet::from_parts(HEADER, bytes).chunks().map_while(Result::ok) {
            if let Chunk::Dtls(dtls) = chunk {
                check_opened(&keys, &dtls);
            }
        }
        let number = bytes.len() as u64;
        let sealed = keys.seal_chunk(Epoch::FIRST, number, bytes).expect("the cipher seals");
        with_dtls(&sealed, |dtls| {
            let opened = keys.open_chunk(Epoch::FIRST, number, dtls);
            assert_eq!(opened, Some((number, bytes.to_vec())));
        });
    }
}

/// What was opened is what such a record is made of.
fn check_opened(keys: &RecordKeys, dtls: &Dtls<'_>) {
    let Some((number, content)) = keys.open_chunk(Epoch::FIRST, 0, dtls) else { return };
    let sealed = keys.seal_chunk(Epoch::FIRST, number, &content).expect("the cipher seals");
    // Others may pad.
    with_dtls(&sealed, |again| assert!(again.record.len() <= dtls.record.len()));
}

fn with_dtls(chunk: &[u8], check: impl FnOnce(&Dtls<'_>)) {
    match Packet::from_parts(HEADER, chunk).chunks().next() {
        Some(Ok(Chunk::Dtls(dtls))) => check(&dtls),
        other => panic!("no DTLS chunk: {other:?}"),
    }
}

/// Two ends that agree on keys, with `bytes` as a script of what becomes of their messages.
pub fn messages(bytes: &[u8]) {
    let mut ends = [End::new(KeyRole::Client), End::new(KeyRole::Server)];
    let mut script = bytes.iter().copied();
    let mut messages = [VecDeque::new(), VecDeque::new()];
    while let Some(step) = script.next() {
        let to = usize::from(step & 1);
        match step >> 1 & 3 {
            0 => ends[to].take(messages[to].pop_front()),
            1 => {
                let altered = messages[to].pop_front().map(|message: Bytes| {
                    let (at, mask) = (script.next().unwrap_or(0), script.next().unwrap_or(1));
                    let mut message = message.to_vec();
                    let at = usize::from(at) * message.len() / 256;
                    message[at] ^= mask;
                    message.into()
                });
                ends[to].take_in_the_open(altered);
            }
            2 => drop(messages[to].pop_front()),
            _ => {
                let len = usize::from(script.next().unwrap_or(0)) * MESSAGE_MAX / 256;
                ends[to].take_in_the_open(Some(script.by_ref().take(len).collect()));
            }
        }
        for (from, end) in ends.iter_mut().enumerate() {
            messages[1 - from].extend(end.act());
        }
    }
    let [client, server] = &ends;
    assert_same_keys(client.sealing.as_ref(), server.opening.as_ref());
    assert_same_keys(server.sealing.as_ref(), client.opening.as_ref());
}

/// Nobody seals before the other end can open.
fn assert_same_keys(sealing: Option<&RecordKeys>, opening: Option<&RecordKeys>) {
    let Some(sealing) = sealing else { return };
    let opening = opening.expect("who is to seal was told that the other end opens");
    let sealed = sealing.seal_chunk(Epoch::FIRST, 0, b"content").expect("the cipher seals");
    with_dtls(&sealed, |dtls| assert!(opening.open_chunk(Epoch::FIRST, 0, dtls).is_some()));
}

/// One end, and the first keys that it has.
struct End {
    session: Option<Box<dyn KeyManagement>>,
    sealing: Option<RecordKeys>,
    opening: Option<RecordKeys>,
}

impl End {
    fn new(role: KeyRole) -> Self {
        let context = KeyContext::new(role, b"client".to_vec(), b"server".to_vec());
        let session = KEYS.begin(Time::ZERO, context).ok();
        Self { session, sealing: None, opening: None }
    }

    /// An end that refuses a message is gone.
    fn take(&mut self, message: Option<Bytes>) {
        let (Some(session), Some(message)) = (&mut self.session, message) else { return };
        if session.handle_message(Time::ZERO, &message).is_err() {
            self.session = None;
        }
    }

    /// A message that is not the peer's. From the first keys on none gets here: it is not sealed.
    fn take_in_the_open(&mut self, message: Option<Bytes>) {
        if self.opening.is_none() {
            self.take(message);
        }
    }

    /// What it has to say.
    fn act(&mut self) -> Vec<Bytes> {
        let mut said = Vec::new();
        while let Some(action) = self.session.as_mut().and_then(|session| session.poll()) {
            match action {
                KeyAction::Send(message) => said.push(message),
                KeyAction::OpenWith(Epoch::FIRST, keys) => self.opening = Some(keys),
                KeyAction::SealWith(Epoch::FIRST, keys) => self.sealing = Some(keys),
                KeyAction::OpenWith(..)
                | KeyAction::SealWith(..)
                | KeyAction::RequireProtection
                | KeyAction::Retire(_)
                | KeyAction::KeepForRestart(_) => {}
            }
        }
        said
    }
}
