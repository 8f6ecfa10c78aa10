//! What the services have in common: how they are stopped, what they tell, how they try again.

mod error;
mod line;
mod retry;
mod snapshot;
mod stop;
mod told;
mod uplinks;
mod watching;
mod words;

pub use error::ServiceError;
pub(crate) use error::TOKEN_OF_VIEWER;
pub use line::{Observer, RateLine, Severity, Update};
pub use retry::{RETRY_DELAY_MAX, Retries, Retry, Wait};
pub(crate) use snapshot::Before;
pub use snapshot::{
    ArrivedSnapshot, AssociationSnapshot, ClassSnapshot, PathSnapshot, PlayoutSnapshot,
    SentSnapshot, Snapshot, State, StrangersSnapshot,
};
pub use stop::{Stop, StopHandle};
pub use told::{printable, told, without_secrets};
pub(crate) use uplinks::{Multihomed, Uplinks};
pub use watching::Watching;
pub(crate) use watching::{BeforeWatching, Seen};
pub(crate) use words::{left_out, whole_again, words_of};
