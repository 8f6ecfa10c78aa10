//! Tables that were measured before, and stay so until a defect is mended.

/// Numbers may differ by this share: the logarithms of processors differ in the last digit.
const ROUNDING: f64 = 1e-9;

/// Whether both tables say the same.
pub(crate) fn assert_same(measured: &[u8], before: &str) {
    let measured = std::str::from_utf8(measured).expect("a table is text");
    assert_eq!(measured.lines().count(), before.lines().count());
    for (now, then) in measured.lines().zip(before.lines()) {
        let (fields, expected) = (now.split(','), then.split(','));
        let is_same = fields.clone().count() == expected.clone().count()
            && fields.zip(expected).all(|(field, expected)| is_alike(field, expected));
        assert!(is_same, "\n{now}\nwas\n{then}");
    }
}

fn is_alike(now: &str, then: &str) -> bool {
    match (now.parse::<f64>(), then.parse::<f64>()) {
        (Ok(now), Ok(then)) => (now - then).abs() <= then.abs() * ROUNDING,
        _ => now == then,
    }
}
