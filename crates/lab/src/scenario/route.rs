//! Routes: which links a flow passes.

use std::collections::{BTreeMap, VecDeque};

use anabranch_netsim::written::{Entry, Fault, Value, WrittenLink};

/// A link on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hop {
    /// Its number in the file.
    pub(super) link: usize,
    /// Whether it is passed from its first end to its second.
    pub(super) forward: bool,
}

/// The way with the fewest links; of several, the one whose links come first in the file.
pub(super) fn shortest(links: &[WrittenLink], from: &str, to: &str) -> Option<Vec<Hop>> {
    let mut came_by: BTreeMap<&str, Option<(Hop, &str)>> = BTreeMap::from([(from, None)]);
    let mut to_visit = VecDeque::from([from]);
    while let Some(here) = to_visit.pop_front() {
        for (link, written) in links.iter().enumerate() {
            let Some((forward, there)) = step(written, here) else { continue };
            if !came_by.contains_key(there) {
                came_by.insert(there, Some((Hop { link, forward }, here)));
                to_visit.push_back(there);
            }
        }
    }
    let mut hops = Vec::new();
    let mut here = to;
    while let Some((hop, before)) = *came_by.get(here)? {
        hops.push(hop);
        here = before;
    }
    hops.reverse();
    Some(hops)
}

/// The ways that `paths` lists: `["wifi", "mobile"]`, or `[["wifi", "core"], ["mobile", "core"]]`.
pub(super) fn told(
    entry: &Entry,
    links: &[WrittenLink],
    (from, to): (&str, &str),
) -> Result<Vec<Vec<Hop>>, Fault> {
    let wrong = |reason: String| Fault::new(entry.place, format!("paths: {reason}"));
    let example = "give a list with a link, or a list of links, for each path";
    let Value::Many(paths) = &entry.value else { return Err(wrong(example.to_owned())) };
    let names = |path: &Value| match path {
        Value::One(name) => Some(vec![name.clone()]),
        Value::Many(names) => names
            .iter()
            .map(|name| match name {
                Value::One(name) => Some(name.clone()),
                Value::Many(_) => None,
            })
            .collect(),
    };
    let one = |path: &Value| {
        let names = names(path).ok_or_else(|| wrong(example.to_owned()))?;
        along(links, &names, from, to).map_err(wrong)
    };
    let paths: Vec<_> = paths.iter().map(one).collect::<Result<_, _>>()?;
    if paths.is_empty() { Err(wrong(example.to_owned())) } else { Ok(paths) }
}

fn along(
    links: &[WrittenLink],
    names: &[String],
    from: &str,
    to: &str,
) -> Result<Vec<Hop>, String> {
    let mut here = from;
    let mut hops: Vec<Hop> = Vec::new();
    for name in names {
        let link = links.iter().position(|link| link.name == *name).ok_or_else(|| {
            let known: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
            format!("there is no link {name}; there is {}", known.join(", "))
        })?;
        let Some((forward, there)) = step(&links[link], here) else {
            let (first, second) = &links[link].between;
            return Err(format!("{name} joins {first} and {second}, and does not begin at {here}"));
        };
        if hops.iter().any(|hop| hop.link == link) {
            return Err(format!("a path passes {name} twice: each link may come once"));
        }
        hops.push(Hop { link, forward });
        here = there;
    }
    if here == to {
        Ok(hops)
    } else {
        Err(format!("{} ends at {here}, not at {to}", names.join(" ")))
    }
}

/// Where a link leads to from `here`, if it begins or ends there.
fn step<'a>(link: &'a WrittenLink, here: &str) -> Option<(bool, &'a str)> {
    let (first, second) = &link.between;
    if first == here {
        return Some((true, second));
    }
    (second == here).then_some((false, first))
}
