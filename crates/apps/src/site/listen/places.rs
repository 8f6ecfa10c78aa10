//! [`Places`]: how many connections there may be, in all and from one address.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A number of places, of which each address gets a part.
#[derive(Debug)]
pub(crate) struct Places {
    limit: usize,
    limit_per_address: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by_address: BTreeMap<IpAddr, usize>,
}

/// Why there is no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoPlace {
    /// All are taken.
    Full { limit: usize },
    /// The address has its part.
    FullFor { limit: usize },
}

/// A place, as long as it is held.
#[derive(Debug)]
pub(crate) struct Place {
    places: Arc<Places>,
    address: IpAddr,
}

impl Places {
    pub(crate) fn new(limit: usize, limit_per_address: usize) -> Arc<Self> {
        Arc::new(Self { limit, limit_per_address, taken: Mutex::default() })
    }

    /// A place for an address. `is_many`: there are many behind it, and it may take all.
    pub(crate) fn take(self: &Arc<Self>, address: IpAddr, is_many: bool) -> Result<Place, NoPlace> {
        let mut taken = self.taken();
        if taken.all >= self.limit {
            return Err(NoPlace::Full { limit: self.limit });
        }
        let limit = if is_many { self.limit } else { self.limit_per_address };
        let of_address = taken.by_address.entry(address).or_insert(0);
        if *of_address >= limit {
            return Err(NoPlace::FullFor { limit });
        }
        *of_address += 1;
        taken.all += 1;
        Ok(Place { places: self.clone(), address })
    }

    /// How many are taken.
    pub(crate) fn count(&self) -> usize {
        self.taken().all
    }

    /// What is kept stays sound even if someone panicked while holding it.
    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        taken.all -= 1;
        if let Some(count) = taken.by_address.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                taken.by_address.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_gets_its_part_and_all_together_get_no_more_than_there_is() {
        let places = Places::new(4, 2);
        let [one, other, proxy] = ["192.0.2.1", "192.0.2.2", "192.0.2.3"];
        let take = |address: &str, is_many| places.take(address.parse().unwrap(), is_many);
        let first = take(one, false).unwrap();
        let _second = take(one, false).unwrap();
        assert_eq!(take(one, false).unwrap_err(), NoPlace::FullFor { limit: 2 });
        let _third = take(proxy, true).unwrap();
        let _fourth = take(proxy, true).unwrap();
        assert_eq!(take(other, false).unwrap_err(), NoPlace::Full { limit: 4 });
        assert_eq!(places.count(), 4);
        drop(first);
        let last = take(one, false).unwrap();
        drop((last, _second, _third, _fourth));
        assert_eq!((places.count(), places.taken().by_address.len()), (0, 0));
    }
}
