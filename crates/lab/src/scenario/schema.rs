//! The JSON schema of scenarios, for editors.

use anabranch_netsim::written::{CELL_KEYS, CellKey, NAT_KEYS, WIFI_KEYS, WIMAX_KEYS};
use serde_json::{Map, Value, json};

use super::TOP_KEYS;
use super::flow::Kind;
use super::key::Key;

/// What a link is told, as `netsim::settings` reads it.
const LINK_KEYS: [Key; 10] = [
    Key::new(
        "preset",
        &["ethernet", "wifi", "mobile", "dsl", "satellite", "wifi-cell", "wimax-cell"],
        "a kind of link, which the other keys change",
    ),
    Key::new(
        "rate",
        &["10M", "unlimited", "trace:FILE"],
        "bits per second of IP packets, or a recorded link in Mahimahi's format",
    ),
    Key::new("delay", &["20ms"], "how long a packet travels, one way"),
    Key::new("jitter", &["5ms"], "up to so much more delay; the order stays"),
    Key::new("loss", &["1%"], "share of packets lost"),
    Key::new("burst", &["4"], "how many are lost in a row on average"),
    Key::new("reorder", &["1%"], "share of packets held back, so that later ones overtake them"),
    Key::new("hold", &["10ms"], "for how long at most"),
    Key::new("queue", &["100ms", "64K", "50p"], "what may wait: at the rate, bytes, or packets"),
    Key::new("mtu", &["1500"], "bytes of the longest IP packet"),
];

/// What can happen, with the link that it happens to.
const EVENTS: [Key; 7] = [
    Key::new("at", &["8s"], "when, from the beginning"),
    Key::new("cut", &["wifi"], "the link that goes down, with all that is in it"),
    Key::new("restore", &["wifi"], "the link that is up again, empty"),
    Key::new("rebind", &["wifi"], "the link whose NAT forgets its mappings"),
    Key::new("address", &["wifi"], "the link whose NAT gets another public address"),
    Key::new("change", &["wifi"], "the link that gets other keys, which stand beside this one"),
    Key::new("check", &["words"], "what a test of the simulator knows; lab run refuses it"),
];

/// A JSON schema of scenario files, as editors of TOML take it.
#[must_use]
pub fn schema() -> String {
    let mut properties: Map<String, Value> = TOP_KEYS.iter().map(of_key).collect();
    let list = |items: &Value| json!({ "type": "array", "items": items });
    properties.insert("links".to_owned(), list(&link()));
    properties.insert("cells".to_owned(), list(&cell()));
    properties.insert("nats".to_owned(), list(&nat()));
    properties.insert("events".to_owned(), list(&event()));
    let flows: Vec<Value> = Kind::ALL_KEYS.iter().map(|(kind, keys)| flow(kind, keys)).collect();
    properties.insert("flows".to_owned(), list(&json!({ "oneOf": flows })));
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A scenario of anabranch lab run",
        "type": "object",
        "required": ["duration", "links", "flows"],
        "additionalProperties": false,
        "properties": properties,
    });
    format!("{schema:#}\n")
}

fn link() -> Value {
    let mut properties = link_properties();
    properties.insert("name".to_owned(), json!({ "type": "string" }));
    let hosts = json!({
        "type": "array", "items": { "type": "string" }, "minItems": 2, "maxItems": 2,
        "description": "the hosts that it joins; client and server",
    });
    properties.insert("between".to_owned(), hosts);
    let cell = json!({ "type": "string", "description": "the cell that it is in; none" });
    properties.insert("cell".to_owned(), cell);
    let about = "what a link has of a WiMAX cell: rtps or nrtps; rtps";
    let service = json!({ "type": "string", "description": about });
    properties.insert("service".to_owned(), service);
    object(properties, &["name"])
}

fn cell() -> Value {
    let key = of_cell_key;
    let kind = |(kind, keys): &(&str, &[CellKey])| {
        let mut properties: Map<String, Value> = CELL_KEYS.iter().chain(*keys).map(key).collect();
        properties.insert("kind".to_owned(), json!({ "const": kind }));
        object(properties, &["name", "kind"])
    };
    let kinds: Vec<Value> = [("wifi", WIFI_KEYS), ("wimax", WIMAX_KEYS)].iter().map(kind).collect();
    json!({ "oneOf": kinds })
}

fn nat() -> Value {
    object(NAT_KEYS.iter().map(of_cell_key).collect(), &["link"])
}

fn event() -> Value {
    let mut properties = link_properties();
    properties.extend(EVENTS.iter().map(of_key));
    object(properties, &["at"])
}

fn flow(kind: &str, keys: &[&[Key]]) -> Value {
    let keys = keys.iter().copied().flatten();
    let mut properties: Map<String, Value> = keys.map(of_key).collect();
    properties.insert("kind".to_owned(), json!({ "const": kind }));
    let paths = json!({
        "type": "array",
        "items": { "type": ["string", "array"], "items": { "type": "string" } },
        "description": "a link, or a list of links, for each path; the shortest way",
    });
    properties.insert("paths".to_owned(), paths);
    object(properties, &["name", "kind"])
}

/// A link's settings, for both directions and for one each.
fn link_properties() -> Map<String, Value> {
    let way: Map<String, Value> = LINK_KEYS.iter().map(of_key).collect();
    let mut properties = way.clone();
    for way_name in ["up", "down"] {
        properties.insert(way_name.to_owned(), object(way.clone(), &[]));
    }
    properties
}

fn object(properties: Map<String, Value>, required: &[&str]) -> Value {
    json!({
        "type": "object", "required": required, "additionalProperties": false,
        "properties": properties,
    })
}

fn of_key(key: &Key) -> (String, Value) {
    let mut value = json!({ "description": key.about });
    if key.is_choice() {
        value["enum"] = key.values.into();
    } else {
        value["type"] = json!(["string", "number", "boolean"]);
        value["examples"] = key.values.into();
    }
    (key.name.to_owned(), value)
}

fn of_cell_key((name, values, about): &CellKey) -> (String, Value) {
    of_key(&Key::new(name, values, about))
}

#[cfg(test)]
mod tests {
    use anabranch_netsim::settings::KEYS;
    use anabranch_netsim::written::EVENT_KEYS;

    use super::*;

    #[test]
    fn links_and_events_have_the_keys_that_are_read() {
        assert_eq!(LINK_KEYS.map(|key| key.name).join(", "), KEYS);
        assert_eq!(EVENTS.map(|key| key.name), EVENT_KEYS);
    }
}
