//! [`Agenda`]: who is due next.

use anabranch_sansio::Time;

/// The next due time of each of a fixed set of members, with the earliest of all at hand.
///
/// A tournament: each inner node of a binary tree names the earlier of its two children, the
/// member that was added first on a tie. A member has one due time at most, so this queue holds
/// no outdated entries, and a change costs the tree's height.
#[derive(Debug)]
pub(crate) struct Agenda {
    /// Per member; `None` is never. Padded to a power of two.
    due: Vec<Option<Time>>,
    /// The root is `winners[1]`, the children of `i` are `2 i` and `2 i + 1`; the leaves are the
    /// members.
    winners: Vec<usize>,
    len: usize,
}

impl Default for Agenda {
    fn default() -> Self {
        Self { due: vec![None], winners: vec![0, 0], len: 0 }
    }
}

impl Agenda {
    /// Adds a member that is never due and returns its number, counted from zero.
    pub(crate) fn add(&mut self) -> usize {
        let member = self.len;
        self.len += 1;
        if self.len > self.due.len() {
            self.due.resize(2 * self.due.len(), None);
            self.rebuild();
        }
        member
    }

    /// Says when `member` is due next.
    pub(crate) fn set(&mut self, member: usize, at: Option<Time>) {
        if self.due[member] == at {
            return;
        }
        self.due[member] = at;
        let mut node = (self.due.len() + member) / 2;
        while node > 0 {
            let winner = self.play(node);
            if winner == self.winners[node] && winner != member {
                return;
            }
            self.winners[node] = winner;
            node /= 2;
        }
    }

    /// The member that is due first, and when.
    pub(crate) fn first(&self) -> Option<(Time, usize)> {
        let member = self.winners[1];
        self.due[member].map(|at| (at, member))
    }

    fn rebuild(&mut self) {
        let leaves = self.due.len();
        self.winners = (0..2 * leaves).map(|node| node.saturating_sub(leaves)).collect();
        for node in (1..leaves).rev() {
            self.winners[node] = self.play(node);
        }
    }

    fn play(&self, node: usize) -> usize {
        let (left, right) = (self.winners[2 * node], self.winners[2 * node + 1]);
        let rank = |member: usize| self.due[member].unwrap_or(Time::MAX);
        // A member due at Time::MAX still comes before one that is never due.
        let is_right_first =
            rank(right) < rank(left) || (self.due[left].is_none() && self.due[right].is_some());
        if is_right_first { right } else { left }
    }
}

#[cfg(test)]
mod tests {
    use anabranch_sansio::Rng;

    use super::*;

    #[test]
    fn an_empty_agenda_has_no_first() {
        let mut agenda = Agenda::default();
        assert_eq!(agenda.first(), None);
        agenda.add();
        assert_eq!(agenda.first(), None);
    }

    #[test]
    fn the_first_added_wins_a_tie() {
        let mut agenda = Agenda::default();
        let members = [agenda.add(), agenda.add(), agenda.add()];
        for member in members.into_iter().rev() {
            agenda.set(member, Some(Time::from_secs(1)));
            assert_eq!(agenda.first(), Some((Time::from_secs(1), member)));
        }
        agenda.set(members[0], None);
        assert_eq!(agenda.first(), Some((Time::from_secs(1), members[1])));
    }

    #[test]
    fn the_end_of_time_is_before_never() {
        let mut agenda = Agenda::default();
        let (_never, last) = (agenda.add(), agenda.add());
        agenda.set(last, Some(Time::MAX));
        assert_eq!(agenda.first(), Some((Time::MAX, last)));
    }

    #[test]
    fn it_agrees_with_a_search_through_all_members() {
        let mut rng = Rng::from_u64(1);
        let mut agenda = Agenda::default();
        let mut due = Vec::new();
        for _ in 0..5_000 {
            if due.is_empty() || (due.len() < 40 && rng.chance(0.05)) {
                due.push(None);
                agenda.add();
            }
            let member = rng.range(0..due.len() as u64) as usize;
            due[member] = rng.chance(0.8).then(|| Time::from_nanos(rng.range(0..20)));
            agenda.set(member, due[member]);
            let first = (0..due.len()).filter_map(|m| due[m].map(|at| (at, m))).min();
            assert_eq!(agenda.first(), first);
        }
    }
}
