//! Authenticated chunks (RFC 4895): which packets are taken, which are signed.

use anabranch_wire::{
    ChunkType, ErrorCause, ErrorCauses, ErrorChunk, HmacIdentifier, Packet, PacketWriter,
};

use super::Association;
use super::control::Bundling;
use crate::authentication::{Announced, AssociationKeys, Random, Standing};
use crate::config::AssociationConfig;
use crate::event::CloseReason;
use crate::handshake::Cookie;
use crate::path_name::PathSlot;

/// The keys that a listener's cookie leads to, if both ends authenticate.
pub(crate) fn keys_of_cookie(
    config: &AssociationConfig,
    cookie: &Cookie,
) -> Option<Box<AssociationKeys>> {
    let authentication = config.extensions.authentication.as_ref()?;
    let (random, peer) = cookie.authentication.as_ref()?;
    let ours = Announced::ours(authentication, *random);
    Some(Box::new(AssociationKeys::new(authentication, &ours, peer)))
}

impl Association {
    /// Takes the keys that follow from our random number and what the peer announced.
    pub(super) fn take_keys(&mut self, random: Random, peer: Option<&Announced>) {
        self.random = random;
        let authentication = self.config.extensions.authentication.as_ref();
        self.keys = authentication.zip(peer).map(|(authentication, peer)| {
            let ours = Announced::ours(authentication, random);
            Box::new(AssociationKeys::new(authentication, &ours, peer))
        });
    }

    /// Takes the keys that a listener's cookie leads to. RFC 4895 section 6.1: "In case of INIT
    /// collision, the rules governing the handling of this Random Number follow the same pattern as
    /// those for the Verification Tag".
    pub(super) fn take_keys_of(&mut self, cookie: &Cookie) {
        let own = cookie.authentication.as_ref().map_or(self.random, |(random, _)| *random);
        self.take_keys(own, cookie.authentication.as_ref().map(|(_, peer)| peer));
    }

    /// Whether a COOKIE ECHO may be used for this association.
    ///
    /// RFC 4895 section 6.3: "If the receiver has an STCB, it MUST process the AUTH chunk as
    /// described above using the STCB from the existing association"; "the restarting endpoint most
    /// likely does not know the association shared key of the old association". One that has the
    /// secret that both ends share proves more by it than by having seen a handshake.
    pub(crate) fn takes_cookie(&self, packet: &Packet<'_>, cookie: &Cookie) -> bool {
        let by = |keys: &AssociationKeys| keys.judge(packet).is_usable();
        // The draft's section 5.4: a restart is protected, or there is none.
        if self.is_encrypted() {
            return false;
        }
        if self.keys.as_ref().is_some_and(|keys| by(keys)) {
            return true;
        }
        let has_secret =
            self.config.extensions.authentication.as_ref().is_some_and(|ours| ours.has_secret());
        match keys_of_cookie(&self.config, cookie) {
            None => self.keys.is_none(),
            Some(fresh) => (self.keys.is_none() || has_secret) && by(&fresh),
        }
    }

    /// Looks at a packet before anything of it is used; `None` if nothing may be.
    pub(super) fn screen(&mut self, packet: &Packet<'_>) -> Option<Standing> {
        let Some(keys) = &self.keys else { return Some(Standing::Plain) };
        let standing = keys.judge(packet);
        if standing.is_usable() {
            return Some(standing);
        }
        if let Standing::Unsupported(algorithm) = standing {
            self.report_unsupported(algorithm);
        }
        self.journal.stats.unauthenticated += 1;
        None
    }

    /// RFC 4895 section 6.3: "the AUTH chunk and all the chunks after it MUST be discarded and an
    /// ERROR chunk SHOULD be sent with the error cause defined in Section 4.1."
    fn report_unsupported(&mut self, hmac_identifier: HmacIdentifier) {
        let mut causes = Vec::new();
        ErrorCause::UnsupportedHmacIdentifier { hmac_identifier }.encode(&mut causes);
        let error = ErrorChunk { causes: ErrorCauses::from_bytes(&causes) };
        self.queue_control(self.sender.paths.current(), Bundling::Bundled, &error);
    }

    /// Whether we take chunks of this type authenticated only.
    pub(super) fn demands(&self, ty: ChunkType) -> bool {
        self.keys.as_ref().is_some_and(|keys| keys.demands(ty))
    }

    /// Bytes of the longest DATA chunk that fits into a packet, chunk header included.
    pub(super) fn pmdcs(&self) -> usize {
        self.config.pmdcs() - self.data_signature_len()
    }

    /// Bytes that authentication or encryption takes of a packet with data.
    pub(super) fn data_signature_len(&self) -> usize {
        let keys = self.keys.as_ref().filter(|keys| keys.signs_traffic());
        keys.map_or(self.sealing_len(), |keys| keys.auth_len())
    }

    /// Bytes that authentication or encryption takes of a packet that begins with such a control
    /// chunk.
    pub(super) fn signature_len(&self, ty: ChunkType) -> usize {
        let Some(keys) = &self.keys else { return self.sealing_len() };
        let is_signed = if ty == ChunkType::COOKIE_ECHO {
            keys.signs(ty)
        } else {
            keys.signs_traffic() || keys.signs(ty)
        };
        if is_signed { keys.auth_len() } else { 0 }
    }

    /// Whether chunks of a type that follow a COOKIE ECHO must go without the proof that the peer
    /// wants of them.
    ///
    /// RFC 4895 section 6.3: "If the receiver has an STCB, it MUST process the AUTH chunk as
    /// described above using the STCB from the existing association to authenticate the COOKIE-ECHO
    /// chunk and all the chunks after it." To a peer that knows us from before we restarted, our
    /// key is a wrong one: where it takes a COOKIE ECHO unsigned, an AUTH chunk would only keep it
    /// from being used.
    pub(super) fn lacks_proof_behind_echo(&self, ty: ChunkType) -> bool {
        let keys = self.keys.as_ref();
        keys.is_some_and(|keys| !keys.signs(ChunkType::COOKIE_ECHO) && keys.signs(ty))
    }

    /// Begins a packet for a path with an AUTH chunk, if anything that may follow is to be signed.
    /// Returns where it stands.
    ///
    /// RFC 4895 section 6.2: "Endpoints MUST send all requested chunks that have been authenticated
    /// where this has been requested by the peer. The other chunks MAY be sent whether or not they
    /// have been authenticated."
    pub(super) fn begin_signature(
        &self,
        path: PathSlot,
        writer: &mut PacketWriter<'_>,
    ) -> Option<usize> {
        let keys = self.keys.as_ref()?;
        let front = self.control.front().filter(|chunk| chunk.path == path);
        let is_wanted = if front.is_some_and(|chunk| chunk.ty() == ChunkType::COOKIE_ECHO) {
            keys.signs(ChunkType::COOKIE_ECHO)
        } else {
            keys.signs_traffic() || self.control.has_for(path, |ty| keys.signs(ty))
        };
        let blank = keys.blank().filter(|_| is_wanted)?;
        let at = writer.len();
        writer.push(&blank);
        Some(at)
    }

    /// Fills in the HMAC of a packet that is else complete.
    pub(super) fn finish_signature(&self, at: Option<usize>, writer: &mut PacketWriter<'_>) {
        if let (Some(keys), Some(at)) = (&self.keys, at) {
            writer.sign(at, keys.hmac_len(), |covered, hmac| keys.sign(covered, hmac));
        }
    }

    /// The peer does not take the key that we have, or wants one.
    pub(super) fn on_no_authorization(&mut self) {
        if self.is_handshaking() {
            self.control.clear();
            self.close(CloseReason::KeyRefused);
        }
    }

    /// Whether an ABORT says that we have not the right key. Only while the association is set up:
    /// RFC 5061 uses the cause for other requests as well.
    pub(super) fn is_about_key(&self, causes: ErrorCauses<'_>) -> bool {
        let is_so = |cause| matches!(cause, Ok(ErrorCause::NoAuthorization(_)));
        self.is_handshaking() && causes.iter().any(is_so)
    }
}
