//! Viewers that stop reading, and that die.

use std::io::Read as _;
use std::net::SocketAddr;
use std::time::Instant;

use socket2::{Domain, Socket, Type};

use super::visitors::Browser;
use super::watching::Watching;
use super::{House, held, native_url, until, viewers};

#[test]
fn viewers_that_stop_or_die_disturb_nobody_and_leave_nothing() {
    let mut house = House::new(&[]);
    let url = native_url(&mut house.server);
    let udp = udp_of(&url);
    let [mut stopped, mut killed] = [(); 2].map(|()| Watching::start(&url, &["--channel", "1"]));
    let [vanishing, leaving] = [(); 2].map(|()| Browser::watches(&house.server, udp));
    stopped.goes_on();
    killed.goes_on();
    let all = held(&house.server);
    assert_eq!((all.native, all.browsers, viewers(&house.server).len()), (3, 2, 5));

    stopped.signal("STOP");
    killed.signal("KILL");
    drop(vanishing);
    leaving.leave();
    house.watching.goes_on();
    house.settle(Instant::now(), "viewers that stopped and died");

    // Who was only held up comes back by itself.
    stopped.signal("CONT");
    stopped.goes_on();
    until("both are there", || viewers(&house.server), |viewers| viewers.len() == 2);
    drop(stopped);
    house.settle(Instant::now(), "a viewer that was killed");
    house.end();
}

#[test]
fn a_player_that_stops_reading_is_let_go() {
    let house = House::new(&[]);
    let started = Instant::now();
    let mut player = stingy(house.server.host.parse().unwrap());
    let head = format!("GET /ch/2.ts HTTP/1.1\r\nHost: {}\r\n\r\n", house.server.host);
    std::io::Write::write_all(&mut player, head.as_bytes()).unwrap();
    player.read_exact(&mut [0; 12]).unwrap();
    until("the player is there", || held(&house.server).players, |count| *count == 1);
    house.settle(started, "a player that reads nothing");
    drop(player);
    house.end();
}

/// A connection that has little room for what nobody reads.
fn stingy(server: SocketAddr) -> std::net::TcpStream {
    let socket = Socket::new(Domain::for_address(server), Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    socket.connect(&server.into()).unwrap();
    socket.into()
}

pub(super) fn udp_of(url: &str) -> SocketAddr {
    let (address, _key) = url.strip_prefix("anabranch://").unwrap().split_once('?').unwrap();
    address.parse().unwrap()
}
