//! [`Encapsulation`]: what carries DCCP packets.

use anabranch_sansio::FourTuple;

use crate::wire::Protection;

/// What carries DCCP packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Encapsulation {
    /// UDP: RFC 6773. The four-tuples of datagrams are UDP's; DCCP's own ports are inside.
    #[default]
    Udp,
    /// Nothing: they are the payload of IP. The ports of four-tuples are DCCP's.
    Ip,
}

impl Encapsulation {
    /// The protection of packets that go from `path.local` to `path.remote`.
    pub(crate) const fn protection(self, path: FourTuple) -> Protection {
        match self {
            Self::Udp => Protection::Udp,
            Self::Ip => Protection::header(path),
        }
    }
}
