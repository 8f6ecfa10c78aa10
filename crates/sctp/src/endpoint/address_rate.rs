//! [`AddressRate`]: how often who has one address may make us do something.

use std::net::IpAddr;

use anabranch_sansio::{Rng, Time};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Buckets that addresses share. At ten a second for each they hold 2,560, and an endpoint answers
/// 1,000: who makes up addresses meets that limit before all buckets are empty.
const BUCKETS: usize = 256;

/// Token buckets, which are chosen by a secret function of the address: nobody knows with whom he
/// shares one.
#[derive(Debug)]
pub(super) struct AddressRate {
    burst: f32,
    per_second: f32,
    /// Nothing before somebody asks.
    table: Option<Box<Table>>,
}

#[derive(Debug)]
struct Table {
    key: [u8; 32],
    buckets: [Bucket; BUCKETS],
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    tokens: f32,
    filled_at: Time,
}

impl AddressRate {
    /// So many at once, and so many each second.
    pub(super) const fn new(burst: f32, per_second: f32) -> Self {
        Self { burst, per_second, table: None }
    }

    /// Whether this address may once more.
    pub(super) fn take(&mut self, now: Time, from: IpAddr, rng: &mut Rng) -> bool {
        let (limit, per_second) = (self.burst, self.per_second);
        let table = self.table.get_or_insert_with(|| {
            let mut key = [0; 32];
            rng.fill(&mut key);
            let full = Bucket { tokens: limit, filled_at: now };
            Box::new(Table { key, buckets: [full; BUCKETS] })
        });
        let Some(bucket) = table.bucket(from) else { return false };
        let elapsed = now.saturating_since(bucket.filled_at);
        bucket.filled_at = bucket.filled_at.max(now);
        bucket.tokens = (bucket.tokens + per_second * elapsed.as_secs_f32()).min(limit);
        if bucket.tokens < 1.0 {
            return false;
        }
        bucket.tokens -= 1.0;
        true
    }
}

impl Table {
    fn bucket(&mut self, from: IpAddr) -> Option<&mut Bucket> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).ok()?;
        match from.to_canonical() {
            IpAddr::V4(address) => mac.update(&address.octets()),
            // Who has one address has the 2^64 of its network.
            IpAddr::V6(address) => mac.update(address.octets().split_at(8).0),
        }
        let place = mac.finalize().into_bytes()[0];
        self.buckets.get_mut(usize::from(place))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_address_gets_its_share_and_made_up_ones_no_more_than_the_table_has() {
        let (mut inits, mut rng) = (AddressRate::new(10.0, 10.0), Rng::from_u64(1));
        let mut taken = |now, from: &str| {
            let from = from.parse().unwrap();
            (0..100).filter(|_| inits.take(now, from, &mut rng)).count()
        };
        assert_eq!(taken(Time::ZERO, "192.0.2.1"), 10);
        assert_eq!(taken(Time::ZERO, "192.0.2.2"), 10);
        assert_eq!(taken(Time::ZERO, "::ffff:192.0.2.1"), 0, "the same one");
        assert_eq!(taken(Time::ZERO, "2001:db8::1") + taken(Time::ZERO, "2001:db8::2"), 10);
        let later = Time::ZERO + Duration::from_millis(500);
        assert_eq!(taken(later, "192.0.2.1"), 5);
        let much_later = Time::ZERO + Duration::from_secs(100);
        assert_eq!(taken(much_later, "192.0.2.1"), 10, "no more than a second's");

        let (mut inits, mut rng) = (AddressRate::new(10.0, 10.0), Rng::from_u64(1));
        let made_up = (0..100_000_u32).map(|nth| IpAddr::V4(nth.into()));
        let taken = made_up.filter(|from| inits.take(Time::ZERO, *from, &mut rng)).count();
        assert_eq!(taken, 10 * BUCKETS);
    }
}
