//! [`Network`]: the two networks between us and the kernel, and what can befall them.

use crate::control::Control;

/// The second kernel's interfaces that tests may disturb.
const INTERFACES: [&str; 2] = ["vec1", "vec2"];

/// Disturbs the networks from the kernel's side, where both ends see no more than packets that do
/// not come. Path 0 is from 10.77.1.1 to 10.77.1.2, path 1 from 10.77.2.1 to 10.77.2.2; the IPv6
/// addresses fd77:1::1 and so on are on the same wires.
#[derive(Debug)]
pub(crate) struct Network(Control);

impl Network {
    /// Both networks as they are when nothing befalls them.
    pub(crate) async fn undisturbed() -> Self {
        let mut network = Self(Control::open().await);
        for path in 0..INTERFACES.len() {
            network.restore(path).await;
        }
        network
    }

    /// Loses every packet, both ways.
    pub(crate) async fn cut(&mut self, path: usize) {
        self.disturb(path, "loss 100%", "drop").await;
    }

    /// Loses one packet of `every`, both ways.
    pub(crate) async fn lose_one_in(&mut self, path: usize, every: u32) {
        let lost = format!("loss {}%", 100.0 / f64::from(every));
        self.disturb(path, &lost, &format!("pass random netrand drop {every}")).await;
    }

    /// Delays what the kernel sends.
    pub(crate) async fn delay(&mut self, path: usize, ms: u32) {
        self.disturb(path, &format!("delay {ms}ms"), "pass").await;
    }

    /// Takes the kernel's interface down, of which it knows.
    pub(crate) async fn unplug(&mut self, path: usize) {
        self.run(&format!("ip link set {} down", INTERFACES[path])).await;
    }

    /// Waits until the kernel has sent an INIT from a port.
    pub(crate) async fn until_called_from(&mut self, port: u16) {
        self.run(&format!("until grep -q ' {port} ' /proc/net/sctp/assocs; do sleep 0.02; done"))
            .await;
    }

    pub(crate) async fn restore(&mut self, path: usize) {
        let nic = INTERFACES[path];
        // Deleting what is not there fails; taking an interface down removes its IPv6 addresses.
        self.run(&format!(
            "tc qdisc delete dev {nic} root; tc qdisc delete dev {nic} clsact
            ip link set {nic} up"
        ))
        .await;
    }

    /// `netem` is for what leaves the kernel, `action` for what reaches it.
    async fn disturb(&mut self, path: usize, netem: &str, action: &str) {
        self.restore(path).await;
        let nic = INTERFACES[path];
        self.run(&format!(
            "set -e
            tc qdisc add dev {nic} root netem limit 10000 {netem}
            tc qdisc add dev {nic} clsact
            tc filter add dev {nic} ingress matchall action {action}"
        ))
        .await;
    }

    async fn run(&mut self, script: &str) {
        let (words, said) = self.0.call("shell", script.as_bytes()).await;
        assert_eq!(words, ["done", "0"], "{}", String::from_utf8_lossy(&said));
    }
}
