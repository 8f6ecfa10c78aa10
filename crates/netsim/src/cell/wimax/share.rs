//! [`max_min`]: slots for all who ask.

/// Shares slots: nobody gets more than asked for, and who gets less than asked for gets no less
/// than anybody else, but for the last slots, which go to those from `first` on.
pub(super) fn max_min(mut slots: u32, demands: &[u32], first: usize) -> Vec<u32> {
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
    fn the_last_slots_go_round() {
        assert_eq!(max_min(5, &[9, 9, 9], 0), [2, 2, 1]);
        assert_eq!(max_min(5, &[9, 9, 9], 2), [2, 1, 2]);
        assert_eq!(max_min(1, &[0, 9, 9], 0), [0, 1, 0]);
    }
}
