//! CCID 3, TCP-friendly rate control: RFC 4342.

mod counter;
mod receiver;
mod sender;

pub(crate) use receiver::Ccid3Receiver;
pub(crate) use sender::Ccid3Sender;
