//! [`ReceiveBuffers`]: one batch of received buffers, and the datagrams in them.

use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, SocketAddrV6};

use anabranch_sansio::{Datagram, Ecn, FourTuple};
use quinn_udp::{EcnCodepoint, RecvMeta, UdpSockRef, UdpSocketState};

use crate::address::{canonical, is_link_local};
use crate::stats::Traffic;

/// Buffers filled by one system call.
const BATCH: usize = 16;

/// The largest buffer that receive offload (GRO) fills; also the largest datagram.
const BUFFER_LEN: usize = u16::MAX as usize;

/// Shared by all sockets of a driver: one is read at a time.
#[derive(Debug)]
pub(crate) struct ReceiveBuffers {
    bytes: Box<[u8]>,
    meta: [RecvMeta; BATCH],
    filled: usize,
}

impl ReceiveBuffers {
    pub(crate) fn new() -> Self {
        Self {
            bytes: vec![0; BATCH * BUFFER_LEN].into_boxed_slice(),
            meta: [RecvMeta::default(); BATCH],
            filled: 0,
        }
    }

    /// Replaces the batch by what waits in the socket.
    pub(crate) fn fill(
        &mut self,
        socket: UdpSockRef<'_>,
        state: &UdpSocketState,
    ) -> io::Result<()> {
        self.filled = 0;
        let mut chunks = self.bytes.chunks_exact_mut(BUFFER_LEN);
        let mut slices: [_; BATCH] =
            std::array::from_fn(|_| IoSliceMut::new(chunks.next().unwrap_or_default()));
        self.filled = state.recv(socket, &mut slices, &mut self.meta)?;
        Ok(())
    }

    /// What the batch holds.
    pub(crate) fn traffic(&self) -> Traffic {
        let mut traffic = Traffic { calls: 1, ..Traffic::default() };
        for meta in self.meta.iter().take(self.filled) {
            traffic.datagrams += meta.len.div_ceil(meta.stride.max(1)).max(1) as u64;
            traffic.bytes += meta.len as u64;
        }
        traffic
    }

    /// Whether the batch took all that waited in the socket: it has room left. Where a system reads
    /// one buffer in a call, that tells nothing.
    pub(crate) fn took_all(&self) -> bool {
        self.filled < BATCH.min(quinn_udp::BATCH_SIZE)
    }

    /// The payloads of the batch in order of arrival.
    pub(crate) fn payloads(&self) -> impl Iterator<Item = &[u8]> {
        let buffers = self.meta.iter().zip(self.bytes.chunks_exact(BUFFER_LEN)).take(self.filled);
        buffers
            .flat_map(|(meta, buffer)| split(buffer.get(..meta.len).unwrap_or(buffer), meta.stride))
    }

    /// What the batch holds in order of arrival, on a socket bound to `bound`.
    pub(crate) fn coalesced(&self, bound: SocketAddr) -> impl Iterator<Item = Coalesced<'_>> {
        let buffers = self.meta.iter().zip(self.bytes.chunks_exact(BUFFER_LEN)).take(self.filled);
        buffers.map(move |(meta, buffer)| Coalesced {
            path: FourTuple::new(local_address(bound, meta), canonical(meta.addr)),
            ecn: meta.ecn.map(from_codepoint),
            bytes: buffer.get(..meta.len).unwrap_or(buffer),
            stride: meta.stride,
        })
    }

    /// The datagrams of the batch in order of arrival, on a socket bound to `bound`.
    pub(crate) fn datagrams(&self, bound: SocketAddr) -> impl Iterator<Item = Datagram<'_>> {
        self.coalesced(bound).flat_map(Coalesced::datagrams)
    }
}

/// Datagrams that the kernel handed over as one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Coalesced<'a> {
    path: FourTuple,
    ecn: Option<Ecn>,
    bytes: &'a [u8],
    /// The length of each but the last.
    stride: usize,
}

impl<'a> Coalesced<'a> {
    pub(crate) fn datagrams(self) -> impl Iterator<Item = Datagram<'a>> {
        let Self { path, ecn, bytes, stride } = self;
        split(bytes, stride).map(move |bytes| Datagram { path, ecn, bytes })
    }
}

/// Cuts a buffer into its datagrams of `stride` bytes. An empty buffer is one empty datagram.
pub(super) fn split(filled: &[u8], stride: usize) -> impl Iterator<Item = &[u8]> {
    let empty = filled.is_empty().then_some(filled);
    filled.chunks(stride.max(1)).chain(empty)
}

/// Where a datagram arrived: on a wildcard socket, the packet says it.
fn local_address(bound: SocketAddr, meta: &RecvMeta) -> SocketAddr {
    let Some(ip) = meta.dst_ip.filter(|_| bound.ip().is_unspecified()) else { return bound };
    let local = SocketAddr::new(ip, bound.port());
    match (local, meta.interface_index) {
        (SocketAddr::V6(v6), Some(index)) if is_link_local(ip) => {
            SocketAddrV6::new(*v6.ip(), v6.port(), 0, index).into()
        }
        (local, _) => canonical(local),
    }
}

pub(super) fn from_codepoint(ecn: EcnCodepoint) -> Ecn {
    match ecn {
        EcnCodepoint::Ect0 => Ecn::Ect0,
        EcnCodepoint::Ect1 => Ecn::Ect1,
        EcnCodepoint::Ce => Ecn::Ce,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrived(dst: &str, interface: u32) -> RecvMeta {
        let mut meta = RecvMeta::default();
        meta.dst_ip = Some(dst.parse().unwrap());
        meta.interface_index = Some(interface);
        meta
    }

    #[test]
    fn a_coalesced_buffer_is_cut_at_its_stride() {
        let lens = |len, stride| split(&[7; 2_500][..len], stride).map(<[u8]>::len).collect();
        let expect: [(usize, usize, Vec<usize>); 3] =
            [(2_500, 1_000, vec![1_000, 1_000, 500]), (1_000, 1_000, vec![1_000]), (0, 0, vec![0])];
        for (len, stride, cut) in expect {
            let found: Vec<usize> = lens(len, stride);
            assert_eq!(found, cut, "{len} bytes by {stride}");
        }
    }

    #[test]
    fn a_link_local_destination_carries_its_interface() {
        let bound = "[::]:9".parse().unwrap();
        let local = local_address(bound, &arrived("fe80::5", 3));
        assert_eq!(local, "[fe80::5%3]:9".parse().unwrap());
        let local = local_address(bound, &arrived("2001:db8::5", 3));
        assert_eq!(local, "[2001:db8::5]:9".parse().unwrap());
    }

    #[test]
    fn a_socket_with_an_address_is_where_its_packets_arrive() {
        let bound = "127.0.0.2:9".parse().unwrap();
        assert_eq!(local_address(bound, &arrived("127.0.0.7", 1)), bound);
    }
}
