//! CCID 2 beside user-mode Linux, which has no other.

use std::net::Ipv4Addr;

use anabranch_dccp::{Ccid, Config};
use libtest_mimic::Trial;

use crate::dccp::Kernel;
use crate::{trial, uml};

const KERNEL: Kernel = Kernel {
    ours: Ipv4Addr::new(10, 77, 1, 1),
    address: Ipv4Addr::new(10, 77, 1, 2),
    control: uml::CONTROL_ADDRESS,
    ccid: None,
};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial(dccp_carries_2_mb_to_the_kernel),
        trial(dccp_carries_2_mb_from_the_kernel),
        trial(dccp_carries_on_where_1_percent_is_lost),
        trial(dccp_carries_on_where_5_percent_is_lost),
        trial(we_agree_with_the_kernel_on_the_dccp_congestion_control_that_it_has),
        trial(the_kernels_server_has_our_dccp_client_wait),
        trial(our_dccp_server_has_the_kernels_client_wait),
        trial(the_kernel_refuses_another_dccp_service),
        trial(we_refuse_another_dccp_service),
        trial(a_dccp_port_where_the_kernel_does_not_listen_refuses_us),
    ]
}

fn config() -> Config {
    Config::with_ccid(Ccid::TcpLike)
}

/// We would rather have CCID 3, and the kernel confirms what it has, with the Ack Vectors that go
/// with it.
fn preferring_ccid_3() -> Config {
    let ccids = vec![Ccid::Tfrc, Ccid::TcpLike];
    Config { send_ccids: ccids.clone(), receive_ccids: ccids, ..Config::default() }
}

async fn dccp_carries_2_mb_to_the_kernel() {
    KERNEL.takes_2_mb_of_ours(&config()).await;
}

async fn dccp_carries_2_mb_from_the_kernel() {
    KERNEL.carries_2_mb_to_us(&config()).await;
}

async fn dccp_carries_on_where_1_percent_is_lost() {
    KERNEL.carries_on(0.01, &config()).await;
}

async fn dccp_carries_on_where_5_percent_is_lost() {
    KERNEL.carries_on(0.05, &config()).await;
}

async fn we_agree_with_the_kernel_on_the_dccp_congestion_control_that_it_has() {
    KERNEL.agrees_on(Ccid::TcpLike, &preferring_ccid_3()).await;
}

async fn the_kernels_server_has_our_dccp_client_wait() {
    KERNEL.as_a_server_has_our_client_wait(&config()).await;
}

async fn our_dccp_server_has_the_kernels_client_wait() {
    KERNEL.as_a_client_waits_for_our_server(&config()).await;
}

async fn the_kernel_refuses_another_dccp_service() {
    KERNEL.refuses_another_service(&config()).await;
}

async fn we_refuse_another_dccp_service() {
    KERNEL.is_refused_another_service(&config()).await;
}

async fn a_dccp_port_where_the_kernel_does_not_listen_refuses_us() {
    KERNEL.refuses_us_where_it_does_not_listen(&config()).await;
}
