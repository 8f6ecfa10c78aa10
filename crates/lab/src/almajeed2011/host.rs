//! [`Host`]: the ends of all flows.

use anabranch_dccp::{Bundle, BundleEvent, Multipath, MultipathEvent, MultipathId};
use anabranch_netsim::{Carrier as Protocol, machine_of_several};
use anabranch_sctp as sctp;
use anabranch_tcp as tcp;

use super::cbr::Cbr;

/// One end of a flow.
pub(super) enum Host {
    Bundle(Box<Bundle>),
    Multipath(Box<Multipath>),
    Sctp(Box<sctp::Endpoint>),
    Tcp(Box<tcp::Connection>),
    Cbr(Cbr),
}

/// What happened at one.
#[derive(Debug)]
pub(super) enum Happening {
    Bundle(BundleEvent),
    Multipath(MultipathId, MultipathEvent),
    Sctp(sctp::AssociationId),
    Tcp,
}

machine_of_several!(Host: Happening {
    Bundle(end) => end.poll_event().map(Happening::Bundle),
    Multipath(end) => end.poll_event().map(|(id, event)| Happening::Multipath(id, event)),
    Sctp(end) => end.poll_event().map(|(id, _)| Happening::Sctp(id)),
    Tcp(end) => end.poll_event().map(|_| Happening::Tcp),
    Cbr(_) => None,
});

impl Host {
    /// What carries its packets.
    pub(super) const fn protocol(&self) -> Protocol {
        match self {
            Self::Bundle(_) | Self::Multipath(_) => Protocol::Dccp,
            Self::Sctp(_) => Protocol::Sctp,
            Self::Tcp(_) => Protocol::Tcp,
            Self::Cbr(_) => Protocol::Udp,
        }
    }
}
