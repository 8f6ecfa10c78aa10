//! PSNR of decoded pictures.
