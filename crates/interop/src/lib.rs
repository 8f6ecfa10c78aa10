//! Referees of SCTP, TCP and DCCP that are programs, not crates.
//!
//! [`examine`] asks tshark about a capture. usrsctp as a peer is this crate's test `usrsctp`; the
//! Linux kernel is its test `kernel`, which `./test.sh kernel` runs.

mod tshark;

pub use tshark::{
    Examination, Fault, TsharkError, examine, examine_at_port, examine_dccp, examine_dccp_of_udp,
    examine_sctp_and_dccp, examine_tcp,
};
