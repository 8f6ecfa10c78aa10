//! CCID 3 beside a stock kernel, whose sockets and ours insist on it.

use std::net::Ipv4Addr;

use anabranch_dccp::{Ccid, Config};
use libtest_mimic::Trial;

use crate::dccp::Kernel;
use crate::{stock, trial};

const KERNEL: Kernel = Kernel {
    ours: Ipv4Addr::new(10, 77, 3, 1),
    address: stock::ADDRESS,
    control: stock::ADDRESS,
    ccid: Some(Ccid::Tfrc),
};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial(ccid_3_carries_2_mb_to_the_kernel),
        trial(ccid_3_carries_2_mb_from_the_kernel),
        trial(ccid_3_carries_on_where_1_percent_is_lost),
        trial(ccid_3_carries_on_where_5_percent_is_lost),
        trial(we_agree_with_the_kernel_on_ccid_3),
        trial(the_kernels_server_has_our_ccid_3_client_wait),
        trial(our_ccid_3_server_has_the_kernels_client_wait),
        trial(the_kernel_refuses_another_service_under_ccid_3),
        trial(we_refuse_another_service_under_ccid_3),
    ]
}

fn config() -> Config {
    Config::with_ccid(Ccid::Tfrc)
}

async fn ccid_3_carries_2_mb_to_the_kernel() {
    KERNEL.takes_2_mb_of_ours(&config()).await;
}

async fn ccid_3_carries_2_mb_from_the_kernel() {
    KERNEL.carries_2_mb_to_us(&config()).await;
}

async fn ccid_3_carries_on_where_1_percent_is_lost() {
    KERNEL.carries_on(0.01, &config()).await;
}

async fn ccid_3_carries_on_where_5_percent_is_lost() {
    KERNEL.carries_on(0.05, &config()).await;
}

async fn we_agree_with_the_kernel_on_ccid_3() {
    KERNEL.agrees_on(Ccid::Tfrc, &config()).await;
}

async fn the_kernels_server_has_our_ccid_3_client_wait() {
    KERNEL.as_a_server_has_our_client_wait(&config()).await;
}

async fn our_ccid_3_server_has_the_kernels_client_wait() {
    KERNEL.as_a_client_waits_for_our_server(&config()).await;
}

async fn the_kernel_refuses_another_service_under_ccid_3() {
    KERNEL.refuses_another_service(&config()).await;
}

async fn we_refuse_another_service_under_ccid_3() {
    KERNEL.is_refused_another_service(&config()).await;
}
