//! Addresses as people write them.
//!
//! A [`SessionUrl`] says with whom to speak and how, in the manner of SRT's:
//!
//! ```text
//! anabranch://HOST:PORT?mode=caller|listener&latency=MS&path=ADDRESS,...&key=KEY
//! ```
//!
//! | part | meaning |
//! |---|---|
//! | `HOST` | caller: whom to call, a name or an address (IPv6 in brackets). Listener: the address
//! to listen at; empty for all |
//! | `PORT` | UDP port, 1 to 65535 |
//! | `mode` | `caller` or `listener`; left out: caller if there is a host, otherwise listener |
//! | `latency` | milliseconds from the sender's hand to the receiver's, 20 to 60000; 200 if left
//! out. The larger one of both ends holds |
//! | `path` | local addresses or interfaces, each a path of its own, divided by commas |
//! | `peer` | caller: further addresses of the one called, `ADDRESS` or `ADDRESS:PORT`, divided by
//! commas |
//! | `bond` | how this end sends over several paths: `balance` over all at once, which holds if
//! left out, `backup` over one while the others stand by, `dup` everything over two |
//! | `streamid` | names the stream, at most 512 bytes. A listener with one refuses callers with
//! another |
//! | `passphrase` | 10 to 79 bytes that both ends must know: who does not is refused |
//! | `key` | the public key that the other end must have, as it prints it |
//! | `allow` | listener: public keys of which a caller must have one, divided by commas |
//! | `ca` | a file with certificates of CAs in PEM: one of them must have issued the other end's,
//! for the host of the URL where that is called, for any caller beside those of `allow` otherwise |
//! | `certificate`, `certificate_key` | files with our own certificate and its key, in PEM, for
//! those who ask for one |
//! | `encryption` | `on`, which holds if left out, or `off` |
//! | `program` | sender: the one program of the transport stream to send |
//! | `token` | viewer of a television server: what entitles to channels that are not open to all |
//!
//! `anabranch+dccp://…` is the same over DCCP: see [`Carrier`]. There `encryption=off` must be said
//! but on this machine itself, and `connections` is how many DCCP connections there are over each
//! path, 1 to 32, or `auto`: as many as bring rate; 4 if left out. A listener that does not encrypt
//! takes callers over both.
//!
//! Values may hold `%XX`. An option that does not exist, or not yet, is refused and never ignored.
//!
//! A [`ChannelUrl`] names a channel of a television server:
//! `anabranch://HOST:PORT?channel=NUMBER_OR_NAME&token=TOKEN`, with `latency`, `path` and `peer`.
//!
//! A [`RoomUrl`] names a room of a meeting place:
//! `anabranch://HOST:PORT?key=KEY&room=NAME&token=TOKEN`, with `path` and `peer`.
//!
//! A [`UdpUrl`] is where plain transport stream packets come from or go to, as ffmpeg and OBS
//! write it: `udp://HOST:PORT`.

mod channel;
mod choice;
mod error;
mod query;
mod room;
mod session;
mod udp;

pub use channel::ChannelUrl;
pub use choice::{Choice, NoSuchChannel};
pub use error::{Place, UrlError};
pub use room::{CallUrl, RoomUrl};
pub(crate) use session::is_loopback;
pub use session::{
    Carrier, CertificateFiles, Credentials, EncryptionSwitch, HostPort, LATENCY_DEFAULT,
    LATENCY_MS_MIN, LocalPath, Mode, STREAM_ID_MAX, Security, SessionUrl,
};
pub use udp::{PKT_SIZE_DEFAULT, UdpUrl};
