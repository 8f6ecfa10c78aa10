//! Addresses and priorities, and that the peer knows of them: sections 3.2.1, 3.2.8 to 3.2.10.

use std::net::IpAddr;
use std::time::Duration;

use anabranch_sansio::Time;

use super::group::{Group, PeerAddress};
use super::secrets::Secrets;
use super::{Multipath, MultipathEvent, MultipathId, SubflowId};
use crate::connection::Heard;
use crate::wire::{
    Confirmations, HMAC_LEN, MultipathOption, OptionType, PacketType, SequenceNumber,
};

/// How long a confirmation is waited for at first, and at most.
const CONFIRM_INTERVAL: Duration = Duration::from_millis(500);
const CONFIRM_INTERVAL_MAX: Duration = Duration::from_secs(8);

/// What the peer has yet to confirm; and its addresses that are remembered.
const PENDING_MAX: usize = 32;

/// Something that the peer has yet to confirm.
#[derive(Debug)]
pub(super) struct Pending {
    what: What,
    /// The number that it was last sent with.
    number: Option<SequenceNumber>,
    pub(super) due: Time,
    interval: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Added { id: u8, nonce: u32, ip: IpAddr, port: Option<u16> },
    Removed { id: u8, nonce: u32 },
    Priority { subflow: SubflowId, priority: u8 },
}

impl What {
    const fn option(self) -> MultipathOption<'static> {
        match self {
            Self::Added { id, nonce, ip, port } => {
                MultipathOption::AddAddress { id, nonce, ip, port }
            }
            Self::Removed { id, nonce } => MultipathOption::RemoveAddress { id, nonce },
            Self::Priority { priority, .. } => MultipathOption::Priority(priority),
        }
    }

    /// Section 3.2.1: "In the case of MP_ADDADDR or MP_REMOVEADDR the same dataset is identified
    /// based on AddressID, whereas the same dataset for MP_PRIO is identified by the subflow in
    /// use."
    fn replaces(self, other: Self) -> bool {
        match (self, other) {
            (Self::Priority { subflow, .. }, Self::Priority { subflow: known, .. }) => {
                subflow == known
            }
            (
                Self::Added { id, .. } | Self::Removed { id, .. },
                Self::Added { id: known, .. } | Self::Removed { id: known, .. },
            ) => id == known,
            _ => false,
        }
    }
}

impl Multipath {
    /// Tells the peer of an address at which we can be reached, too, at DCCP's port if that is not
    /// the connection's; returns our name for it. `None`: there is no such connection, or no room.
    pub fn announce(
        &mut self,
        now: Time,
        id: MultipathId,
        ip: IpAddr,
        port: Option<u16>,
    ) -> Option<u8> {
        let nonce = self.rng.next_u32();
        let group = self.groups.get_mut(&id).filter(|group| group.may_tell())?;
        let name = group.name_of(ip)?;
        group.note_pending(now, What::Added { id: name, nonce, ip, port });
        self.turn(now);
        Some(name)
    }

    /// Tells the peer that we can no longer be reached at an address, and closes the paths from
    /// there. False: there is no such connection or address.
    pub fn withdraw(&mut self, now: Time, id: MultipathId, address: u8) -> bool {
        let nonce = self.rng.next_u32();
        let Some(group) = self.groups.get_mut(&id).filter(|group| group.may_tell()) else {
            return false;
        };
        if !group.own_addresses.iter().any(|(known, _)| *known == address) {
            return false;
        }
        group.note_pending(now, What::Removed { id: address, nonce });
        // "The sending and receiving of this message SHOULD trigger the closing procedure [...] on
        // the affected subflow(s), if possible."
        self.close_subflows(now, id, |subflow| subflow.own_address == address);
        self.turn(now);
        true
    }

    /// Asks the peer to use a path so: 0 never; 1 when no other is there; 2 when those before it
    /// are congested; 3 to 15 always, higher ones first. False: there is no such path.
    pub fn set_priority(
        &mut self,
        now: Time,
        id: MultipathId,
        subflow: SubflowId,
        priority: u8,
    ) -> bool {
        let Some(group) = self.groups.get_mut(&id).filter(|group| group.may_tell()) else {
            return false;
        };
        let is_there = priority < 16 && group.subflows.contains_key(&subflow);
        if is_there {
            group.note_pending(now, What::Priority { subflow, priority });
            self.turn(now);
        }
        is_there
    }

    /// Says again what is not confirmed, and asks silent paths for a sign of life.
    pub(super) fn repeat_due(&mut self, now: Time, id: MultipathId) {
        let Some(group) = self.groups.get_mut(&id).filter(|group| group.repeats()) else { return };
        let due = |(n, pending): (usize, &Pending)| (pending.due <= now).then_some(n);
        for n in group.pending.iter().enumerate().filter_map(due).collect::<Vec<_>>() {
            self.say_pending(now, id, n);
        }
        let Self { groups, endpoint, .. } = self;
        let Some(group) = groups.get_mut(&id) else { return };
        for subflow in group.subflows.values_mut() {
            let is_silent = subflow.silent_at(endpoint).is_some_and(|at| at <= now);
            let Some(connection) = endpoint.connection_mut(subflow.id).filter(|_| is_silent) else {
                continue;
            };
            // What its window has held back goes by another one.
            while let Some(returned) = connection.take_back() {
                group.returned.push_back(returned);
            }
            if subflow.probe_at <= now {
                subflow.probe_at = now + super::sending::PROBE_INTERVAL;
                connection.probe();
            }
        }
    }

    fn say_pending(&mut self, now: Time, id: MultipathId, n: usize) {
        let Self { groups, endpoint, .. } = self;
        let Some(group) = groups.get_mut(&id) else { return };
        let Some(secrets) = group.secrets else { return };
        let Some(what) = group.pending.get(n).map(|pending| pending.what) else { return };
        let carrier = match what {
            What::Priority { subflow, .. } => group.subflows.get(&subflow).filter(|it| it.is_up()),
            What::Added { .. } | What::Removed { .. } => {
                let up = || group.subflows.values().filter(|it| it.is_up());
                let answers = up().find(|it| it.silent_at(endpoint).is_none_or(|at| at > now));
                answers.or_else(|| up().next())
            }
        };
        let connection = carrier.map(|subflow| subflow.id);
        let number = group.next_number;
        let mut options = vec![MultipathOption::Seq(number), what.option()];
        options.extend(proof_of(&secrets, what).map(MultipathOption::Hmac));
        let subflow = connection.and_then(|id| endpoint.connection_mut(id)?.subflow_mut());
        let is_said = subflow.is_some_and(|subflow| subflow.say(&options));
        if is_said {
            // Section 3.2.1: such options "MUST be sent in a DCCP datagram with MP_SEQ".
            group.next_number();
        }
        if let Some(pending) = group.pending.get_mut(n) {
            pending.number = if is_said { Some(number) } else { pending.number };
            pending.due = now + pending.interval;
            pending.interval = (pending.interval * 2).min(CONFIRM_INTERVAL_MAX);
        }
    }

    /// Takes what a packet says of the connection as a whole.
    pub(super) fn on_control(
        &mut self,
        now: Time,
        (owner, name): (MultipathId, SubflowId),
        heard: &Heard,
    ) {
        let options: Vec<MultipathOption<'_>> = heard.options().collect();
        let mut number = None;
        let mut confirmed = Vec::new();
        for (n, option) in options.iter().enumerate() {
            let proof = match options.get(n + 1) {
                Some(MultipathOption::Hmac(proof)) => Some(proof),
                _ => None,
            };
            let is_taken = match option {
                MultipathOption::Seq(seq) => {
                    number = Some(*seq);
                    self.on_number(now, owner, heard.ty, *seq);
                    false
                }
                MultipathOption::AddAddress { .. } | MultipathOption::RemoveAddress { .. } => {
                    self.on_address(now, owner, number, option, proof)
                }
                MultipathOption::Priority(priority) => {
                    self.on_priority(owner, name, number, *priority)
                }
                MultipathOption::Confirm(list) => {
                    self.on_confirm(owner, *list);
                    false
                }
                MultipathOption::Close(key) => {
                    self.on_close(now, owner, key);
                    false
                }
                MultipathOption::FastClose(key) => {
                    self.on_fast_close(now, owner, key);
                    false
                }
                MultipathOption::Rtt { kind, rtt, age } => {
                    self.on_rtt(now, (owner, name), (*kind, *rtt, *age));
                    false
                }
                MultipathOption::Key { .. }
                | MultipathOption::Join { .. }
                | MultipathOption::Hmac(_)
                | MultipathOption::Experimental(_) => false,
            };
            if is_taken && let Some(number) = number {
                // Section 3.2.1: "with the most recent suboption received listed first."
                confirmed.insert(0, (number, *option));
            }
        }
        self.confirm(owner, name, &confirmed);
    }

    /// A packet without data has a number all the same: nobody is to wait for its data.
    fn on_number(&mut self, now: Time, id: MultipathId, ty: PacketType, number: SequenceNumber) {
        if let Some(group) = self.groups.get_mut(&id).filter(|_| !ty.is_data()) {
            group.order.push(now, number, None);
        }
    }

    /// MP_ADDADDR or MP_REMOVEADDR. Whether it is to be confirmed.
    fn on_address(
        &mut self,
        now: Time,
        id: MultipathId,
        number: Option<SequenceNumber>,
        option: &MultipathOption<'_>,
        proof: Option<&[u8; HMAC_LEN]>,
    ) -> bool {
        let Some(group) = self.groups.get_mut(&id) else { return false };
        let (Some(secrets), Some(number)) = (group.secrets, number) else { return false };
        let Some(what) = told(option) else { return false };
        // Section 3.2.8: "If a host receives an MP_ADDADDR option for which it cannot validate the
        // HMAC, it MUST silently ignore the option."
        let message = message(what);
        let parts: Vec<&[u8]> = message.iter().map(Vec::as_slice).collect();
        if !proof.is_some_and(|proof| secrets.is_proved(&parts, proof)) {
            group.stats.unproved += 1;
            return false;
        }
        match what {
            What::Added { id: address, ip, port, .. } => {
                group.on_added(address, ip, port, number);
            }
            What::Removed { id: address, .. } => {
                if group.on_removed(address, number) {
                    self.close_subflows(now, id, |subflow| subflow.peer_address == address);
                }
            }
            What::Priority { .. } => {}
        }
        true
    }

    fn on_priority(
        &mut self,
        id: MultipathId,
        name: SubflowId,
        number: Option<SequenceNumber>,
        priority: u8,
    ) -> bool {
        let Some(group) = self.groups.get_mut(&id) else { return false };
        let (Some(subflow), Some(number)) = (group.subflows.get_mut(&name), number) else {
            return false;
        };
        if is_newer(number, subflow.priority_number) {
            (subflow.priority, subflow.priority_number) = (priority, Some(number));
            group.tell(MultipathEvent::Prioritized(name, priority));
        }
        true
    }

    fn on_confirm(&mut self, id: MultipathId, list: Confirmations<'_>) {
        let Some(group) = self.groups.get_mut(&id) else { return };
        let mut number = None;
        for option in list.iter() {
            if let MultipathOption::Seq(seq) = option {
                number = Some(seq);
                continue;
            }
            let is_it = |it: &Pending| {
                it.number == number && number.is_some() && it.what.option() == option
            };
            let Some(at) = group.pending.iter().position(is_it) else { continue };
            let pending = group.pending.remove(at);
            // Section 3.2.9: "the sender releases the address ID only after MP_REMOVEADDR has been
            // confirmed."
            if let What::Removed { id, .. } = pending.what {
                group.own_addresses.retain(|(known, _)| *known != id);
            }
        }
    }

    /// Section 3.2.1: "received MP_SEQ, which are both copied verbatim and appended as a list of
    /// confirmations."
    fn confirm(
        &mut self,
        id: MultipathId,
        name: SubflowId,
        confirmed: &[(SequenceNumber, MultipathOption<'_>)],
    ) {
        if confirmed.is_empty() {
            return;
        }
        let mut list = Vec::new();
        for (number, option) in confirmed {
            for option in [&MultipathOption::Seq(*number), option] {
                let data = option.to_data();
                list.extend([OptionType::MULTIPATH.0, (data.len() + 2) as u8]);
                list.extend(data);
            }
        }
        let Self { groups, endpoint, .. } = self;
        let Some(group) = groups.get(&id) else { return };
        // "Any available".
        let same = group.subflows.get(&name);
        let any = || group.subflows.values().find(|subflow| subflow.is_up());
        let Some(subflow) = same.filter(|subflow| subflow.is_up()).or_else(any) else { return };
        let connection = endpoint.connection_mut(subflow.id);
        if let Some(subflow) = connection.and_then(|it| it.subflow_mut()) {
            subflow.say(&[MultipathOption::Confirm(Confirmations::new(&list))]);
        }
    }
}

impl Group {
    fn may_tell(&self) -> bool {
        self.secrets.is_some() && !self.is_ending() && self.state != super::group::State::Beginning
    }

    fn note_pending(&mut self, now: Time, what: What) {
        // Section 3.2.1: "or the confirmation of options is considered irrelevant because the data
        // contained in the options has already been replaced by newer information."
        self.pending.retain(|pending| !what.replaces(pending.what));
        if self.pending.len() < PENDING_MAX {
            let interval = CONFIRM_INTERVAL;
            self.pending.push(Pending { what, number: None, due: now, interval });
        }
    }

    fn on_added(&mut self, id: u8, ip: IpAddr, port: Option<u16>, number: SequenceNumber) {
        // Section 3.2.8: "The advertisement of broadcast or multicast IP addresses MUST be ignored
        // by the recipient".
        let is_unicast = match ip {
            IpAddr::V4(ip) => !ip.is_multicast() && !ip.is_broadcast() && !ip.is_unspecified(),
            IpAddr::V6(ip) => !ip.is_multicast() && !ip.is_unspecified(),
        };
        let known = self.peer_addresses.get(&id);
        // "The receiver MUST silently ignore the MP_ADDADDR if the IP Address is not the same as
        // that previously assigned to this Address ID."
        let is_other = known.is_some_and(|known| !known.is_removed && known.ip != ip);
        let is_newer = is_newer(number, known.and_then(|known| known.number));
        if !is_unicast || is_other || !is_newer {
            return;
        }
        let address = PeerAddress { ip, number: Some(number), is_removed: false };
        self.peer_addresses.insert(id, address);
        self.tell(MultipathEvent::AddressAdded { id, ip, port });
    }

    /// Whether there was such an address.
    fn on_removed(&mut self, id: u8, number: SequenceNumber) -> bool {
        // Section 3.2.9: "If there is no address at the requested Address ID, the receiver will
        // silently ignore the request."
        let Some(known) = self.peer_addresses.get_mut(&id) else { return false };
        if known.is_removed || !is_newer(number, known.number) {
            return false;
        }
        (known.is_removed, known.number) = (true, Some(number));
        self.tell(MultipathEvent::AddressRemoved(id));
        true
    }
}

/// Section 3.2.1: "An outdated multipath option is detected at the receiver if a previous multipath
/// option referring to the same dataset contained a higher sequence number in the MP_SEQ."
fn is_newer(number: SequenceNumber, known: Option<SequenceNumber>) -> bool {
    known.is_none_or(|known| number.distance_from(known) > 0)
}

fn told(option: &MultipathOption<'_>) -> Option<What> {
    match *option {
        MultipathOption::AddAddress { id, nonce, ip, port } => {
            Some(What::Added { id, nonce, ip, port })
        }
        MultipathOption::RemoveAddress { id, nonce } => Some(What::Removed { id, nonce }),
        MultipathOption::Confirm(_)
        | MultipathOption::Join { .. }
        | MultipathOption::FastClose(_)
        | MultipathOption::Key { .. }
        | MultipathOption::Seq(_)
        | MultipathOption::Hmac(_)
        | MultipathOption::Rtt { .. }
        | MultipathOption::Priority(_)
        | MultipathOption::Close(_)
        | MultipathOption::Experimental(_) => None,
    }
}

/// What the HMAC of an announcement covers: section 3.2.6. The text says of MP_REMOVEADDR "Solely
/// the Address ID", its formula "Address ID+Nonce": without the nonce, each proof would do for all.
fn message(what: What) -> Vec<Vec<u8>> {
    match what {
        What::Added { id, nonce, ip, port } => {
            let ip = match ip {
                IpAddr::V4(ip) => ip.octets().to_vec(),
                IpAddr::V6(ip) => ip.octets().to_vec(),
            };
            let port = port.unwrap_or(0).to_be_bytes().to_vec();
            vec![vec![id], nonce.to_be_bytes().to_vec(), ip, port]
        }
        What::Removed { id, nonce } => vec![vec![id], nonce.to_be_bytes().to_vec()],
        What::Priority { .. } => Vec::new(),
    }
}

fn proof_of(secrets: &Secrets, what: What) -> Option<[u8; HMAC_LEN]> {
    let message = message(what);
    let parts: Vec<&[u8]> = message.iter().map(Vec::as_slice).collect();
    (!parts.is_empty()).then(|| secrets.prove(&parts))
}
