//! Packets that come as they like: from a network, or a pipe.

use anabranch_driver::Clock;

use super::player::Player;
use super::{Listener, SourceEvent};
use crate::input::Feed;
use crate::input::{Input, InputOptions};
use crate::service::{Retries, Retry, Wait};

/// Receives for as long as anything can come.
pub(super) async fn receive<L: Listener>(
    input: &Input,
    program: Option<u16>,
    clock: Clock,
    listener: &mut L,
) {
    let options = InputOptions { program, ..InputOptions::default() };
    let mut retry = Retry::new(Retries::Unlimited);
    loop {
        let reason = match Feed::open(input, options, clock).await {
            Ok(feed) => {
                let ending = Player::new(clock, listener).play(feed).await;
                if ending.has_come {
                    retry.on_success();
                }
                ending.error.map_or_else(|| "it has ended".to_owned(), |error| error.to_string())
            }
            Err(error) => error.to_string(),
        };
        listener.tell(SourceEvent::Lost(reason.clone()));
        if *input == Input::Stdin {
            return;
        }
        retry.on_failure(reason);
        while retry.wait().await != Wait::Over {}
    }
}
