//! [`Lacking`]: whose pictures a guest cannot decode, since some were left out for it.

use std::collections::BTreeSet;
use std::time::Duration;

use anabranch_sansio::Time;
use anabranch_session::dropping::Verdict;
use anabranch_session::treatment::MediaClass;

use crate::protocol::MemberNumber;

/// Key pictures are asked for again after so long at first. They cost all who get them.
const PATIENCE: Duration = Duration::from_millis(500);

/// And after so long where the network has no room for what follows them either.
const PATIENCE_MAX: Duration = Duration::from_secs(2);

/// What waits for so long is in the way of a key picture.
const WAIT_MAX: Duration = Duration::from_millis(100);

/// Members of whom a key picture is needed: nothing else of them goes before, so that the page of
/// the guest gets nothing that would tell it to ask for one.
#[derive(Debug)]
pub(crate) struct Lacking {
    members: BTreeSet<MemberNumber>,
    asked: Option<Time>,
    patience: Duration,
}

impl Lacking {
    pub(crate) const fn new() -> Self {
        Self { members: BTreeSet::new(), asked: None, patience: PATIENCE }
    }

    /// A piece of a member's picture was sent, or left out.
    pub(crate) fn note(
        &mut self,
        now: Time,
        member: MemberNumber,
        class: MediaClass,
        verdict: Verdict,
    ) {
        match (verdict, class) {
            (Verdict::Goes, MediaClass::KeyFrame) => _ = self.members.remove(&member),
            (Verdict::LacksRoom { .. }, MediaClass::Reference) => {
                self.members.insert(member);
                let is_again = self.asked.is_some_and(|asked| now - asked < PATIENCE_MAX);
                self.patience =
                    if is_again { (self.patience * 2).min(PATIENCE_MAX) } else { PATIENCE };
            }
            (Verdict::LacksReference, _) => _ = self.members.insert(member),
            (Verdict::Goes | Verdict::LacksRoom { .. }, _) => {}
        }
    }

    /// Of whom key pictures are to be asked for, where what is before them would wait for so long.
    pub(crate) fn take(&mut self, now: Time, wait: Option<Duration>) -> Vec<MemberNumber> {
        let is_due = self.asked.is_none_or(|asked| now - asked >= self.patience);
        if self.members.is_empty() || !is_due || wait.is_some_and(|wait| wait > WAIT_MAX) {
            return Vec::new();
        }
        self.asked = Some(now);
        self.members.iter().copied().collect()
    }

    /// A member left.
    pub(crate) fn forget(&mut self, member: MemberNumber) {
        self.members.remove(&member);
    }
}
