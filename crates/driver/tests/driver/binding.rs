//! Binding: each mistake gets an error that says what would be right.

use crate::probe::addr;
use anabranch_driver::{BindConfig, BindError, SOCKETS_MAX, SocketSet};

fn refused(config: impl Into<BindConfig>) -> (BindError, String) {
    let error = SocketSet::new().bind(config).expect_err("a refusal");
    let text = error.to_string();
    (error, text)
}

fn on_interface(local: &str, interface: &str) -> BindConfig {
    BindConfig { interface: Some(interface.to_owned()), ..BindConfig::from(addr(local)) }
}

#[test]
fn a_port_in_use_is_named() {
    let holder = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let taken = holder.local_addr().unwrap();
    let (error, text) = refused(taken);
    assert_eq!(error, BindError::PortInUse { addr: taken });
    assert!(text.starts_with(&format!("port {} is in use at 127.0.0.1:", taken.port())), "{text}");
}

#[test]
fn an_address_of_another_machine_is_answered_with_our_own() {
    let (error, text) = refused(addr("192.0.2.77:0"));
    assert!(matches!(error, BindError::NotOurs { .. }));
    assert!(text.starts_with("192.0.2.77 is not an address of this machine; it has "), "{text}");
    assert!(text.contains("127.0.0.1"), "{text}");
    assert!(!text.contains("::1"), "only addresses of the family that was asked for: {text}");
}

#[test]
fn an_unknown_interface_is_answered_with_those_that_are() {
    let (error, text) = refused(on_interface("0.0.0.0:0", "nowhere9"));
    assert!(matches!(error, BindError::UnknownInterface { .. }));
    assert!(text.contains("nowhere9") && text.contains("lo"), "{text}");
}

#[test]
fn an_address_that_is_not_on_the_interface_is_refused() {
    let (error, text) = refused(on_interface("192.0.2.77:0", "lo"));
    assert!(matches!(error, BindError::NotOnInterface { .. }));
    assert!(text.starts_with("interface lo does not have 192.0.2.77; it has 127.0.0.1"), "{text}");
}

#[test]
fn the_interface_alone_is_bound_at_its_own_address() {
    let mut sockets = SocketSet::new();
    let bound = sockets.bind(on_interface("0.0.0.0:0", "lo")).unwrap();
    assert_eq!(bound.ip(), addr("127.0.0.1:0").ip());
    let info = sockets.iter().next().unwrap();
    assert_eq!(info.interface.as_deref(), Some("lo"));
    assert!(info.receive_buffer > 0 && info.send_buffer > 0);
}

#[test]
fn one_address_is_bound_once() {
    let mut sockets = SocketSet::new();
    let bound = sockets.bind(addr("127.0.0.1:0")).unwrap();
    assert_eq!(sockets.bind(bound), Err(BindError::PortInUse { addr: bound }));
    assert_eq!(sockets.iter().count(), 1);
}

#[test]
fn the_number_of_sockets_is_bounded() {
    let mut sockets = SocketSet::new();
    for _ in 0..SOCKETS_MAX {
        sockets.bind(addr("127.0.0.1:0")).unwrap();
    }
    let refused = sockets.bind(addr("127.0.0.1:0"));
    assert_eq!(refused, Err(BindError::TooMany { limit: SOCKETS_MAX }));
}
