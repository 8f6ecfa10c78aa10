//! The cipher alone: what encryption costs at least.

use std::io;

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};

use crate::{Outcome, Workload, cpu};

const KEY: [u8; 16] = [7; 16];

/// Bytes of a packet that are not payload: SCTP's header, the DTLS chunk's and its record's, the
/// tag, and a DATA chunk's header.
const OVERHEAD: usize = 12 + 4 + 3 + 1 + 16 + 16;

/// Additional data of a record: its header.
const HEADER: [u8; 3] = [0x2b, 0, 0];

/// Seals and opens as many packets of the same size as the workload takes.
pub(crate) fn measure(workload: &Workload) -> io::Result<Outcome> {
    let failed = |_| io::Error::other("the cipher fails");
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &KEY).map_err(failed)?);
    let payload = usize::from(workload.config.mtu) - OVERHEAD;
    let packets = (workload.message as u64 * workload.messages).div_ceil(payload as u64);
    let mut packet = vec![0x5a; payload];
    let start = cpu::of_thread();
    for number in 0..packets {
        let nonce = || {
            let mut nonce = [0; 12];
            nonce[4..].copy_from_slice(&number.to_be_bytes());
            Nonce::assume_unique_for_key(nonce)
        };
        key.seal_in_place_append_tag(nonce(), Aad::from(HEADER), &mut packet).map_err(failed)?;
        key.open_in_place(nonce(), Aad::from(HEADER), &mut packet).map_err(failed)?;
        packet.truncate(payload);
    }
    Ok(Outcome { cpu: cpu::of_thread() - start, packets_in_flight: None })
}
