//! CCID 2, TCP-like congestion control: RFC 4341.

mod ack_ratio;
mod receiver;
mod sender;
mod timeout;

pub(crate) use receiver::Ccid2Receiver;
pub(crate) use sender::Ccid2Sender;

/// RFC 4341 section 5: "The NUMDUPACK parameter is set to three, as is currently the case in TCP."
const NUMDUPACK: usize = 3;
