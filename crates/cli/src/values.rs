//! Values as people write them: those of links, and addresses.

use std::fs;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::Path;

use anabranch_netsim::Trace;
use anabranch_netsim::settings::{self, Speed, ValueError};
use thiserror::Error;

/// A text that is no address.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("\"{0}\" is no address: write 127.0.0.1:7000, [::1]:7000 or name:7000")]
pub(crate) struct AddressError(String);

/// `10M`, `1.5G`, `500k`, in bit/s by thousands; `unlimited`; `trace:FILE`.
pub(crate) fn speed(text: &str) -> Result<Speed, ValueError> {
    settings::speed(text, &read)
}

/// The trace in a file.
pub(crate) fn trace(file: &Path) -> Result<Trace, ValueError> {
    settings::trace(&file.display().to_string(), &read)
}

/// The text of a file.
pub(crate) fn read(file: &str) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| error.to_string())
}

/// Reads the text of files that a scenario names, from the folder that it is in.
pub(crate) fn beside(scenario: &Path) -> impl Fn(&str) -> Result<String, String> + use<> {
    let folder = scenario.parent().map(Path::to_owned).unwrap_or_default();
    move |file| fs::read_to_string(folder.join(file)).map_err(|error| error.to_string())
}

/// An address and a port; a name is looked up.
pub(crate) fn address(text: &str) -> Result<SocketAddr, AddressError> {
    let found = text.to_socket_addrs().ok().and_then(|mut all| all.next());
    found.ok_or_else(|| AddressError(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_port() {
        assert_eq!(address("[::1]:7000"), Ok("[::1]:7000".parse().unwrap()));
        assert_eq!(address("127.0.0.1"), Err(AddressError("127.0.0.1".to_owned())));
    }

    #[test]
    fn a_trace_is_read_from_its_file() {
        let file = std::env::temp_dir().join(format!("anabranch-trace-{}", std::process::id()));
        std::fs::write(&file, "1\n2\n2\n6\n").unwrap();
        let read = trace(&file);
        std::fs::remove_file(&file).unwrap();
        assert_eq!(read, Ok(Trace::new(vec![1, 2, 2, 6]).unwrap()));
        assert!(trace(&file).unwrap_err().to_string().contains("cannot be read"));
    }
}
