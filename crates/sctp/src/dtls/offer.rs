//! How both ends find out that they know the DTLS chunk, by which method they agree on keys, and
//! who of them is the server in that (the draft's section 5.1).

use anabranch_sansio::Rng;
use anabranch_wire::DtlsKeyManagement;
use thiserror::Error;

use super::method::{KeyContext, KeyRole};

/// The content of a DTLS Key Management parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyOffer {
    tie_breaker: u32,
    flags: u8,
    methods: Vec<u8>,
}

/// Both ends' offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offers {
    pub(crate) own: KeyOffer,
    pub(crate) peers: KeyOffer,
}

/// What follows from both ends' offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Agreement {
    pub(crate) role: KeyRole,
    pub(crate) method: u8,
}

/// Why nothing follows from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum Disagreement {
    #[error("it knows no way to agree on keys that we know")]
    Methods,
    #[error("it demands the role that we demand where keys are agreed on")]
    Roles,
    #[error("it drew the same tie breaker as we did")]
    TieBreakers,
}

/// What callers have in their tie breakers and listeners have not: the caller is the server then.
/// Its last message needs no answer before it sends what it has.
const CALLERS_BIT: u32 = 1 << 31;

impl KeyOffer {
    /// What a caller offers.
    pub(crate) fn of_caller(method: u8, rng: &mut Rng) -> Self {
        Self::with_tie_breaker(method, rng.next_u32() | CALLERS_BIT)
    }

    /// What a listener offers.
    pub(crate) fn of_listener(method: u8, rng: &mut Rng) -> Self {
        Self::with_tie_breaker(method, rng.next_u32() & !CALLERS_BIT)
    }

    fn with_tie_breaker(method: u8, tie_breaker: u32) -> Self {
        let flags = DtlsKeyManagement::CLIENT | DtlsKeyManagement::SERVER;
        Self { tie_breaker, flags, methods: vec![method] }
    }

    /// The same of who can restart an association, or cannot.
    pub(crate) const fn restarting(mut self, restarts: bool) -> Self {
        if restarts {
            self.flags |= DtlsKeyManagement::RESTART;
        }
        self
    }

    pub(crate) fn read(parameter: &DtlsKeyManagement<'_>) -> Self {
        let DtlsKeyManagement { tie_breaker, flags, methods } = *parameter;
        Self { tie_breaker, flags, methods: methods.to_vec() }
    }

    pub(crate) fn parameter(&self) -> DtlsKeyManagement<'_> {
        let Self { tie_breaker, flags, methods } = self;
        DtlsKeyManagement { tie_breaker: *tie_breaker, flags: *flags, methods }
    }

    /// As it goes into the derivation of keys: "including the parameter header and excluding the
    /// optional padding".
    pub(crate) fn derivation_input(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.parameter().encode_unpadded(&mut bytes);
        bytes
    }
}

impl Offers {
    /// What they amount to.
    pub(crate) fn agree(&self) -> Result<Agreement, Disagreement> {
        let role = self.role()?;
        let (server, client) = match role {
            KeyRole::Server => (&self.own, &self.peers),
            KeyRole::Client => (&self.peers, &self.own),
        };
        // The draft's section 5.1: "The prioritized list of DTLS Key Management Identifiers
        // provided by the endpoint acting as the server is evaluated, and the first identifier also
        // supported by the peer endpoint is selected."
        let common = server.methods.iter().find(|method| client.methods.contains(method));
        common.map(|&method| Agreement { role, method }).ok_or(Disagreement::Methods)
    }

    /// Whether both ends can restart the association.
    pub(crate) fn restart(&self) -> bool {
        let can = |offer: &KeyOffer| offer.parameter().has(DtlsKeyManagement::RESTART);
        can(&self.own) && can(&self.peers)
    }

    /// What keys depend on.
    pub(crate) fn context(&self, role: KeyRole) -> KeyContext {
        let (own, peers) = (self.own.derivation_input(), self.peers.derivation_input());
        let (clients_offer, servers_offer) = match role {
            KeyRole::Client => (own, peers),
            KeyRole::Server => (peers, own),
        };
        let restarts = self.restart();
        KeyContext { role, clients_offer, servers_offer, restarts, peer_identity: None }
    }

    fn role(&self) -> Result<KeyRole, Disagreement> {
        let (own, peers) = (self.own.parameter(), self.peers.parameter());
        let can = |offer: &DtlsKeyManagement<'_>| {
            (offer.has(DtlsKeyManagement::CLIENT), offer.has(DtlsKeyManagement::SERVER))
        };
        match (can(&own), can(&peers)) {
            // 2. "Both endpoints indicate both roles": "The endpoint with the larger value SHALL be
            // the server".
            ((true, true), (true, true)) => match own.tie_breaker.cmp(&peers.tie_breaker) {
                std::cmp::Ordering::Greater => Ok(KeyRole::Server),
                std::cmp::Ordering::Less => Ok(KeyRole::Client),
                std::cmp::Ordering::Equal => Err(Disagreement::TieBreakers),
            },
            // 1. "At least one endpoint indicates a single role (client or server) and the peer
            // supports the other role."
            ((true, false), (_, true)) | ((true, true), (false, true)) => Ok(KeyRole::Client),
            ((false, true), (true, _)) | ((true, true), (true, false)) => Ok(KeyRole::Server),
            _ => Err(Disagreement::Roles),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(tie_breaker: u32, flags: u8, methods: &[u8]) -> KeyOffer {
        KeyOffer { tie_breaker, flags, methods: methods.to_vec() }
    }

    fn agree(own: &KeyOffer, peers: &KeyOffer) -> Result<Agreement, Disagreement> {
        Offers { own: own.clone(), peers: peers.clone() }.agree()
    }

    const C: u8 = DtlsKeyManagement::CLIENT;
    const S: u8 = DtlsKeyManagement::SERVER;

    #[test]
    fn both_ends_come_to_opposite_roles() {
        for (own, peers, expected) in [
            (C, S, Ok(KeyRole::Client)),
            (C, C | S, Ok(KeyRole::Client)),
            (C | S, S, Ok(KeyRole::Client)),
            (C | S, C | S, Ok(KeyRole::Client)),
            (S, C, Ok(KeyRole::Server)),
            (S, C | S, Ok(KeyRole::Server)),
            (C | S, C, Ok(KeyRole::Server)),
            (C, C, Err(Disagreement::Roles)),
            (S, S, Err(Disagreement::Roles)),
            (0, C | S, Err(Disagreement::Roles)),
        ] {
            let (own, peers) = (offer(1, own, &[9]), offer(2, peers, &[9]));
            let role = agree(&own, &peers).map(|agreement| agreement.role);
            assert_eq!(role, expected, "{own:?} and {peers:?}");
            let other = agree(&peers, &own).map(|agreement| agreement.role);
            assert_eq!(other, expected.map(KeyRole::opposite));
        }
    }

    #[test]
    fn the_same_tie_breaker_decides_nothing() {
        let both = offer(7, C | S, &[9]);
        assert_eq!(agree(&both, &both), Err(Disagreement::TieBreakers));
    }

    #[test]
    fn the_servers_first_method_that_both_know_is_taken() {
        let server = offer(2, C | S, &[5, 9, 7]);
        let client = offer(1, C | S, &[7, 9]);
        let both = [agree(&server, &client), agree(&client, &server)];
        assert_eq!(both.map(|agreement| agreement.unwrap().method), [9, 9]);
        let other = offer(1, C | S, &[8]);
        assert_eq!(agree(&server, &other), Err(Disagreement::Methods));
    }

    #[test]
    fn a_caller_is_the_server() {
        let mut rng = Rng::from_u64(1);
        for _ in 0..100 {
            let caller = KeyOffer::of_caller(9, &mut rng);
            let listener = KeyOffer::of_listener(9, &mut rng);
            assert_eq!(agree(&caller, &listener).unwrap().role, KeyRole::Server);
        }
    }
}
