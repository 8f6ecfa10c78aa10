//! [`shared`]: slots for all who ask.

use crate::Scheduling;

/// Shares slots: nobody gets more than asked for, and none is left while somebody wants it.
pub(super) fn shared(by: Scheduling, slots: u32, demands: &[u32], first: usize) -> Vec<u32> {
    match by {
        Scheduling::MaxMin => max_min(slots, demands, first),
        Scheduling::Proportional => proportional(slots, demands, first),
        Scheduling::InTurn => in_turn(slots, demands, first),
    }
}

/// All of one, then all of the next, from `first` on.
fn in_turn(mut slots: u32, demands: &[u32], first: usize) -> Vec<u32> {
    let mut shares = vec![0; demands.len()];
    for n in (0..demands.len()).map(|n| (first + n) % demands.len()) {
        shares[n] = demands[n].min(slots);
        slots -= shares[n];
    }
    shares
}

/// In proportion to the demands; what rounding leaves goes in turn.
fn proportional(slots: u32, demands: &[u32], first: usize) -> Vec<u32> {
    let all: u64 = demands.iter().map(|demand| u64::from(*demand)).sum();
    let share = |demand: &u32| {
        let part = u64::from(*demand) * u64::from(slots) / all.max(1);
        u32::try_from(part).unwrap_or(u32::MAX).min(*demand)
    };
    let mut shares: Vec<u32> = demands.iter().map(share).collect();
    let rest: Vec<u32> = demands.iter().zip(&shares).map(|(all, share)| all - share).collect();
    let more = in_turn(slots - shares.iter().sum::<u32>(), &rest, first);
    shares.iter_mut().zip(more).for_each(|(share, more)| *share += more);
    shares
}

/// Shares slots: nobody gets more than asked for, and who gets less than asked for gets no less
/// than anybody else, but for the last slots, which go to those from `first` on.
fn max_min(mut slots: u32, demands: &[u32], first: usize) -> Vec<u32> {
    let mut shares = vec![0; demands.len()];
    loop {
        let hungry: Vec<usize> = (0..demands.len()).filter(|n| shares[*n] < demands[*n]).collect();
        let Some(each) = slots.checked_div(hungry.len() as u32) else { return shares };
        if each == 0 {
            let order = (0..demands.len()).map(|n| (first + n) % demands.len());
            for n in order.filter(|n| hungry.contains(n)).take(slots as usize) {
                shares[n] += 1;
            }
            return shares;
        }
        for n in hungry {
            let share = each.min(demands[n] - shares[n]);
            shares[n] += share;
            slots -= share;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_for_little_gets_it_and_the_others_share_the_rest() {
        assert_eq!(max_min(100, &[10, 200, 200], 0), [10, 45, 45]);
        assert_eq!(max_min(100, &[10, 20, 30], 0), [10, 20, 30]);
        assert!(max_min(100, &[], 0).is_empty());
        assert_eq!(max_min(0, &[5], 0), [0]);
    }

    #[test]
    fn each_way_of_sharing_gives_out_all_that_is_wanted() {
        let of = |by, first| shared(by, 100, &[20, 180, 200], first);
        assert_eq!(of(Scheduling::MaxMin, 0), [20, 40, 40]);
        assert_eq!(of(Scheduling::Proportional, 0), [5, 45, 50]);
        assert_eq!(of(Scheduling::InTurn, 0), [20, 80, 0]);
        assert_eq!(of(Scheduling::InTurn, 2), [0, 0, 100]);
        // The slot that rounding leaves goes to the first in turn.
        assert_eq!(shared(Scheduling::Proportional, 10, &[10, 10, 10], 1), [3, 4, 3]);
        for by in [Scheduling::MaxMin, Scheduling::Proportional, Scheduling::InTurn] {
            assert_eq!(shared(by, 100, &[1, 2, 3], 1), [1, 2, 3], "{by:?}: there is enough");
            assert!(shared(by, 100, &[], 0).is_empty(), "{by:?}");
            assert_eq!(shared(by, 0, &[5], 0), [0], "{by:?}");
        }
    }

    #[test]
    fn the_last_slots_go_round() {
        assert_eq!(max_min(5, &[9, 9, 9], 0), [2, 2, 1]);
        assert_eq!(max_min(5, &[9, 9, 9], 2), [2, 1, 2]);
        assert_eq!(max_min(1, &[0, 9, 9], 0), [0, 1, 0]);
    }
}
