//! Media: bytes in, units out.

pub mod clip;
pub mod psnr;
