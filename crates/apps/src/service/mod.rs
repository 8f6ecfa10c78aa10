//! What the services have in common: how they are stopped, what they tell, how they try again.

mod error;
mod line;
mod retry;
mod sanitize;
mod secured;
mod sentences;
mod snapshot;
mod stop;
mod uplinks;
mod watching;

pub use error::ServiceError;
pub(crate) use error::TOKEN_OF_VIEWER;
pub use line::{Observer, RateLine, Severity, Update};
pub use retry::{RETRY_DELAY_MAX, Retries, Retry, Wait};
pub use sanitize::{printable, sanitized, without_secrets};
pub use secured::SecurityError;
pub(crate) use secured::{Secured, keys_of, url_of};
pub(crate) use sentences::{left_out, sentence_of, whole_again};
pub(crate) use snapshot::Before;
pub use snapshot::{
    ArrivedSnapshot, AssociationSnapshot, ClassSnapshot, LevelSnapshot, PathSnapshot,
    PlayoutSnapshot, SentSnapshot, Snapshot, State, StrangersSnapshot,
};
pub use stop::{Stop, StopHandle};
pub(crate) use uplinks::{Multihomed, Uplinks};
pub use watching::Watching;
pub(crate) use watching::{BeforeWatching, Seen};
