//! [`run_name`]: what a result is kept under.

use sha2::{Digest, Sha256};

/// A name for a run that all of these decide, which no other run has; two runs of the same have
/// the same.
#[must_use]
pub fn run_name(parts: &[&[u8]]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        // Else the end of one could be the beginning of the next.
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    digest.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_and_where_it_ends_counts() {
        let name = |parts: &[&str]| {
            let parts: Vec<_> = parts.iter().map(|part| part.as_bytes()).collect();
            run_name(&parts)
        };
        assert_eq!(name(&["build", "seed"]), name(&["build", "seed"]));
        assert_ne!(name(&["build", "seed"]), name(&["builds", "eed"]));
        assert_ne!(name(&["build", "seed"]), name(&["build", "seed", ""]));
    }
}
