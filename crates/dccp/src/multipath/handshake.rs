//! How connections begin and subflows join: section 3.3.

use anabranch_sansio::{FourTuple, Time};

use super::group::{Group, PeerAddress, Phase, State, Subflow};
use super::secrets::{Key, Secrets};
use super::{Multipath, MultipathEvent, MultipathId, SubflowId, first_number};
use crate::connection::Heard;
use crate::endpoint::ConnectionId;
use crate::error::ConnectError;
use crate::wire::{HMAC_LEN, Keys, MultipathOption, PacketType, ResetCode, ServiceCode};

impl Multipath {
    /// Begins a connection with its first subflow.
    pub(super) fn begin(
        &mut self,
        now: Time,
        path: FourTuple,
        ports: (u16, u16),
        service_code: ServiceCode,
    ) -> Result<MultipathId, ConnectError> {
        let config = self.config.connection.clone();
        let connection = self.endpoint.connect(now, path, ports, service_code, config)?;
        let mut group = self.new_group(service_code, ports, true);
        // Section 3.2.2: "The Address IDs of the subflow used in the initial DCCP Request/Response
        // exchange of the first subflow in the connection are implicit, and have the value zero."
        let own_address = group.name_of(path.local.ip()).unwrap_or(0);
        self.greet_with_key(connection, &group);
        group.add(Subflow::new(now, connection, Phase::First, own_address));
        Ok(self.insert(connection, group))
    }

    fn new_group(&mut self, service: ServiceCode, ports: (u16, u16), is_caller: bool) -> Group {
        // Section 3.2.4: "The CI is a unique number in the host for each multipath connection".
        let mut name = self.rng.next_u32();
        while self.groups.values().any(|group| group.own_name == name) {
            name = self.rng.next_u32();
        }
        let mut key = Key::default();
        self.rng.fill(&mut key);
        let first = first_number(&mut self.rng);
        Group::new(&self.config, service, ports, (name, key), first, is_caller)
    }

    fn insert(&mut self, connection: ConnectionId, group: Group) -> MultipathId {
        let id = MultipathId(self.next_id);
        self.next_id += 1;
        self.owners.insert(connection, id);
        self.groups.insert(id, group);
        id
    }

    fn greet_with_key(&mut self, connection: ConnectionId, group: &Group) {
        let keys = [&[0], group.own_key.as_slice()].concat();
        let (name, keys) = (group.own_name, Keys::new(&keys));
        self.greet(connection, &[MultipathOption::Key { connection: name, keys }]);
    }

    fn greet(&mut self, connection: ConnectionId, options: &[MultipathOption<'_>]) {
        let connection = self.endpoint.connection_mut(connection);
        if let Some(subflow) = connection.and_then(|it| it.subflow_mut()) {
            subflow.greet(options);
        }
    }

    /// Takes what the last packet of a connection has brought.
    pub(super) fn listen_to(&mut self, now: Time, id: ConnectionId) {
        while let Some(heard) = self.next_heard(id) {
            match self.subflow_of(id) {
                Some((owner, name)) => self.on_heard(now, (owner, name), id, &heard),
                None if heard.ty == PacketType::Request => self.on_request(now, id, &heard),
                None => {}
            }
        }
        let Some((owner, name)) = self.subflow_of(id) else { return };
        if let Some(group) = self.groups.get_mut(&owner)
            && let Some(subflow) = group.subflows.get_mut(&name)
        {
            subflow.on_heard(now);
        }
        self.take_arrived(now, id, owner);
    }

    fn next_heard(&mut self, id: ConnectionId) -> Option<Heard> {
        self.endpoint.connection_mut(id)?.subflow_mut()?.next_heard()
    }

    pub(super) fn take_arrived(&mut self, now: Time, id: ConnectionId, owner: MultipathId) {
        let Some(group) = self.groups.get_mut(&owner) else { return };
        // While the application does not read, the subflows keep what comes, and drop the rest.
        while group.has_room()
            && let Some((number, data)) = self
                .endpoint
                .connection_mut(id)
                .and_then(|connection| connection.subflow_mut()?.next_arrived())
        {
            if !group.order.push(now, number, Some(data)) {
                group.stats.late += 1;
                group.late_at = Some(now);
            }
        }
    }

    fn on_heard(
        &mut self,
        now: Time,
        subflow: (MultipathId, SubflowId),
        id: ConnectionId,
        heard: &Heard,
    ) {
        let phase = self.groups.get(&subflow.0).and_then(|it| it.subflows.get(&subflow.1));
        match (heard.ty, phase.map(|subflow| subflow.phase)) {
            (PacketType::Response, Some(Phase::First)) => self.on_key(now, subflow.0, id, heard),
            (PacketType::Response, Some(Phase::Joining(nonce))) => {
                self.on_join_answer(now, subflow, id, (heard, nonce));
            }
            (PacketType::Ack | PacketType::DataAck, Some(Phase::Asked { theirs, ours })) => {
                self.on_join_proof(now, subflow, id, (heard, theirs, ours));
            }
            // A repeated one, that is answered alike.
            (PacketType::Request | PacketType::Response, _) => {}
            _ => self.on_control(now, subflow, heard),
        }
    }

    /// A subflow, the first one of a connection or a further one, asks to begin.
    fn on_request(&mut self, now: Time, id: ConnectionId, heard: &Heard) {
        let mut options = heard.options();
        let asked = options.find(|option| {
            matches!(option, MultipathOption::Key { .. } | MultipathOption::Join { .. })
        });
        let is_full = self.groups.len() >= self.config.connections_max;
        match asked {
            Some(MultipathOption::Join { address_id, connection, nonce }) => {
                self.on_join(now, id, heard.is_capable, (address_id, connection, nonce));
            }
            _ if is_full => self.reset(now, id, ResetCode::TOO_BUSY),
            Some(MultipathOption::Key { connection, keys }) if heard.is_capable => {
                self.take_connection(now, id, Some((connection, keys.plain())));
            }
            _ => self.take_connection(now, id, None),
        }
    }

    /// The first subflow of a connection, or a connection that has no more than that.
    fn take_connection(&mut self, now: Time, id: ConnectionId, asked: Option<(u32, Option<Key>)>) {
        let Some(connection) = self.endpoint.connection_mut(id) else { return };
        let flow = connection.flow();
        let service_code = connection.service_code();
        let ports = (flow.local_port, flow.remote_port);
        let mut group = self.new_group(service_code, ports, false);
        let own_address = group.name_of(flow.path.local.ip()).unwrap_or(0);
        group.add(Subflow::new(now, id, Phase::First, own_address));
        group.note_address(0, flow.path.remote.ip());
        match asked {
            Some((name, Some(peer))) => {
                group.peer_name = name;
                group.secrets = Some(Secrets { own: group.own_key, peer });
                self.greet_with_key(id, &group);
            }
            // Section 3.6: "The fall back procedure to regular DCCP MUST be also applied if the
            // MP_KEY Key Type cannot be negotiated."
            Some((_, None)) | None => {
                group.plain = Some(id);
                if let Some(connection) = self.endpoint.connection_mut(id) {
                    connection.fall_back(asked.is_some());
                }
            }
        }
        self.insert(id, group);
    }

    /// The answer to our first Request.
    fn on_key(&mut self, now: Time, owner: MultipathId, id: ConnectionId, heard: &Heard) {
        let key = heard.options().find_map(|option| {
            let MultipathOption::Key { connection, keys } = option else { return None };
            Some((connection, keys.plain()?))
        });
        let remote = self.endpoint.connection(id).map(|it| it.path().remote.ip());
        let Some(group) = self.groups.get_mut(&owner) else { return };
        if let Some((name, peer)) = key.filter(|_| heard.is_capable) {
            group.peer_name = name;
            group.secrets = Some(Secrets { own: group.own_key, peer });
            if let Some(ip) = remote {
                group.note_address(0, ip);
            }
            return self.greet(id, &[]);
        }
        // Section 3.6: "If during the handshake procedure it appears that DCCP-Request or
        // DCCP-Response messages do not carry the MP_CAPABLE feature, the MP-DCCP connection will
        // not be established and the handshake SHOULD fall back to regular DCCP."
        group.plain = Some(id);
        group.to_join.clear();
        if let Some(connection) = self.endpoint.connection_mut(id) {
            connection.fall_back(false);
        }
        self.now = now;
    }

    /// Has paths join that wait for it.
    pub(super) fn join_due(&mut self, now: Time, id: MultipathId) {
        while let Some(group) = self.groups.get_mut(&id)
            && group.state == State::Open
            && let Some(path) = group.to_join.pop_front()
        {
            let (ports, service, name) = (group.ports, group.service_code, group.peer_name);
            let Some(address_id) = group.name_of(path.local.ip()) else { continue };
            let config = self.config.connection.clone();
            let Ok(connection) = self.endpoint.connect(now, path, ports, service, config) else {
                continue;
            };
            let nonce = self.rng.next_u32();
            let join = MultipathOption::Join { address_id, connection: name, nonce };
            self.greet(connection, &[join]);
            self.owners.insert(connection, id);
            if let Some(group) = self.groups.get_mut(&id) {
                group.add(Subflow::new(now, connection, Phase::Joining(nonce), address_id));
            }
        }
    }

    /// A subflow asks to join a connection of ours.
    fn on_join(
        &mut self,
        now: Time,
        id: ConnectionId,
        is_capable: bool,
        (address_id, name, theirs): (u8, u32, u32),
    ) {
        let found = self.groups.iter().find(|(_, group)| group.own_name == name);
        let found = found.map(|(owner, group)| (*owner, group));
        // Section 3.2.8: "If the CI is unknown, the host MUST send a DCCP-Reset." Section 3.2.11:
        // "When the MP-DCCP connection socket is in CLOSEREQ or CLOSE state, new subflow requests
        // using MP_JOIN MUST be ignored."
        let Some((owner, secrets)) = found.and_then(|(owner, group)| {
            let is_open = group.state == State::Open && is_capable;
            Some((owner, group.secrets.filter(|_| is_open)?))
        }) else {
            return self.reset(now, id, ResetCode::OPTION_ERROR);
        };
        let Some(path) = self.endpoint.connection(id).map(|it| it.path()) else { return };
        let Some(group) = self.groups.get_mut(&owner) else { return };
        // Section 3.10: "reject incoming subflow requests with a DCCP-Reset using the Reset Code
        // "too busy" if the resource limit is exceeded".
        if group.subflows.len() >= self.config.subflows_max {
            return self.reset(now, id, ResetCode::TOO_BUSY);
        }
        let Some(own_address) = group.name_of(path.local.ip()) else {
            return self.reset(now, id, ResetCode::TOO_BUSY);
        };
        let ours = self.rng.next_u32();
        let mut subflow = Subflow::new(now, id, Phase::Asked { theirs, ours }, own_address);
        subflow.peer_address = address_id;
        group.add(subflow);
        group.note_address(address_id, path.remote.ip());
        let connection = group.peer_name;
        self.owners.insert(id, owner);
        // Section 3.3: "MP_HMAC(B) = HMAC-SHA256(Key=d-keyB, Msg=RB+RA)".
        let proof = secrets.prove(&[&ours.to_be_bytes(), &theirs.to_be_bytes()]);
        let join = MultipathOption::Join { address_id: own_address, connection, nonce: ours };
        self.greet(id, &[join, MultipathOption::Hmac(proof)]);
    }

    /// The answer to our wish to join.
    fn on_join_answer(
        &mut self,
        now: Time,
        (owner, name): (MultipathId, SubflowId),
        id: ConnectionId,
        (heard, ours): (&Heard, u32),
    ) {
        let remote = self.endpoint.connection(id).map(|it| it.path().remote.ip());
        let Some(group) = self.groups.get_mut(&owner) else { return };
        let Some(secrets) = group.secrets else { return };
        let mut options = heard.options();
        let join = options.find_map(|option| {
            let MultipathOption::Join { address_id, connection, nonce } = option else {
                return None;
            };
            (connection == group.own_name).then_some((address_id, nonce))
        });
        // Section 3.2.6: "an MP_HMAC MUST directly follow its associated multipath option."
        let proof = options.next();
        let (own, proved) = match (join, proof) {
            (Some((address, theirs)), Some(MultipathOption::Hmac(proof))) => {
                let (own, peer) = (ours.to_be_bytes(), theirs.to_be_bytes());
                let is_proved = heard.is_capable && secrets.is_proved(&[&peer, &own], &proof);
                (secrets.prove(&[&own, &peer]), is_proved.then_some(address))
            }
            _ => ([0; HMAC_LEN], None),
        };
        let Some(address) = proved else {
            // Section 3.6: "Reception of a non-verifiable MP_HMAC or an invalid CI used in MP_JOIN
            // during flow establishment MUST cause the subflow to be closed."
            group.stats.unproved += 1;
            return self.reset(now, id, ResetCode::OPTION_ERROR);
        };
        if let Some(ip) = remote {
            group.note_address(address, ip);
        }
        if let Some(subflow) = group.subflows.get_mut(&name) {
            (subflow.phase, subflow.peer_address) = (Phase::Proved, address);
        }
        self.greet(id, &[MultipathOption::Hmac(own)]);
    }

    /// Whoever asked to join proves who it is.
    fn on_join_proof(
        &mut self,
        now: Time,
        (owner, name): (MultipathId, SubflowId),
        id: ConnectionId,
        (heard, theirs, ours): (&Heard, u32, u32),
    ) {
        let Some(group) = self.groups.get_mut(&owner) else { return };
        let Some(secrets) = group.secrets else { return };
        let message: [&[u8]; 2] = [&theirs.to_be_bytes(), &ours.to_be_bytes()];
        let is_proved = heard.options().any(|option| {
            matches!(option, MultipathOption::Hmac(proof) if secrets.is_proved(&message, &proof))
        });
        if !is_proved {
            group.stats.unproved += 1;
            return self.reset(now, id, ResetCode::OPTION_ERROR);
        }
        if let Some(subflow) = group.subflows.get_mut(&name) {
            subflow.phase = Phase::Proved;
        }
    }

    /// Notes which subflows are there.
    pub(super) fn settle(&mut self, now: Time, id: MultipathId) {
        let Self { groups, endpoint, .. } = self;
        let Some(group) = groups.get_mut(&id) else { return };
        let mut joined = Vec::new();
        for (name, subflow) in &mut group.subflows {
            let is_open = endpoint.connection(subflow.id).is_some_and(|it| it.is_open());
            let is_ready = matches!(subflow.phase, Phase::First | Phase::Proved);
            // Section 3.3: "Host A waits for the final DCCP-Ack from Host B before starting any
            // establishment of additional subflow connections."
            if is_open && is_ready {
                (subflow.phase, subflow.probe_at) = (Phase::Up, now);
                joined.push(*name);
            }
        }
        if group.state == State::Beginning && !joined.is_empty() {
            group.state = State::Open;
            let is_multipath = !group.is_plain();
            group.tell(MultipathEvent::Connected { is_multipath });
        }
        joined.into_iter().for_each(|name| group.tell(MultipathEvent::Joined(name)));
    }

    pub(super) fn reset(&mut self, now: Time, id: ConnectionId, code: ResetCode) {
        if let Some(connection) = self.endpoint.connection_mut(id) {
            connection.reset_as(now, code);
        }
    }
}

impl Group {
    /// Section 3.2.2: "A host MUST store the mappings between Address IDs and addresses both for
    /// itself and the remote host."
    fn note_address(&mut self, id: u8, ip: std::net::IpAddr) {
        let address = PeerAddress { ip, number: None, is_removed: false };
        self.peer_addresses.entry(id).or_insert(address);
    }
}
