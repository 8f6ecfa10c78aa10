/* Encodes raw I420 pictures as VP9 with two quality layers of the same size.
 *
 *   encode_layers IN.yuv WIDTH HEIGHT FPS KEY_INTERVAL Q_KEY Q_BASE Q_ENHANCEMENT OUT.ivf
 *
 * One encoder codes every picture twice: the base layer, predicted from base pictures alone, then
 * the enhancement, predicted from its own base picture and stored in no reference slot. The output
 * is an IVF file with one frame per layer; its time stamp counts layers: 2 n is the base of picture
 * n, 2 n + 1 its enhancement. Quantizers are libvpx's 0 (best) to 63, fixed per kind of frame.
 */
#include <vpx/vp8cx.h>
#include <vpx/vpx_encoder.h>

#include "ivf.h"

/* Key frames fill every slot. A base picture may look at the last base picture and at the last key
 * frame (golden) and replaces the former. */
enum {
  BASE_FLAGS = VP8_EFLAG_NO_REF_ARF | VP8_EFLAG_NO_UPD_GF | VP8_EFLAG_NO_UPD_ARF,
  ENHANCEMENT_FLAGS = VP8_EFLAG_NO_REF_GF | VP8_EFLAG_NO_REF_ARF | VP8_EFLAG_NO_UPD_LAST |
      VP8_EFLAG_NO_UPD_GF | VP8_EFLAG_NO_UPD_ARF | VP8_EFLAG_NO_UPD_ENTROPY,
};

static void check(vpx_codec_ctx_t* codec, vpx_codec_err_t result, const char* what) {
  if (result == VPX_CODEC_OK) return;
  fprintf(stderr, "encode_layers: %s: %s\n", what, vpx_codec_error(codec));
  exit(1);
}

static void write_ivf_header(FILE* out, int width, int height, int layers_per_second,
                             uint32_t count) {
  uint8_t header[IVF_HEADER_BYTES] = "DKIF";
  put_le(header + 6, 2, IVF_HEADER_BYTES);
  memcpy(header + 8, "VP90", 4);
  put_le(header + 12, 2, (uint64_t)width);
  put_le(header + 14, 2, (uint64_t)height);
  put_le(header + 16, 4, (uint64_t)layers_per_second);
  put_le(header + 20, 4, 1);
  put_le(header + 24, 4, count);
  write_all(out, header, sizeof header);
}

static void set_quantizer(vpx_codec_ctx_t* codec, vpx_codec_enc_cfg_t* config, unsigned quantizer) {
  config->rc_min_quantizer = config->rc_max_quantizer = quantizer;
  check(codec, vpx_codec_enc_config_set(codec, config), "quantizer");
}

/* Encodes one layer of one picture and appends it; returns its size in bytes. */
static size_t encode_layer(vpx_codec_ctx_t* codec, const vpx_image_t* image, int64_t pts,
                           vpx_enc_frame_flags_t flags, FILE* out) {
  check(codec, vpx_codec_encode(codec, image, pts, 1, flags, VPX_DL_GOOD_QUALITY), "encode");
  vpx_codec_iter_t iter = NULL;
  const vpx_codec_cx_pkt_t* packet;
  size_t total = 0;
  while ((packet = vpx_codec_get_cx_data(codec, &iter))) {
    if (packet->kind != VPX_CODEC_CX_FRAME_PKT) continue;
    if (total != 0) fail("the encoder gave two frames for one layer");
    total = packet->data.frame.sz;
    uint8_t header[IVF_FRAME_HEADER_BYTES];
    put_le(header, 4, total);
    put_le(header + 4, 8, (uint64_t)pts);
    write_all(out, header, sizeof header);
    write_all(out, packet->data.frame.buf, total);
  }
  if (total == 0) fail("the encoder dropped a layer");
  return total;
}

static void configure(vpx_codec_enc_cfg_t* config, int width, int height, int fps) {
  vpx_codec_enc_config_default(vpx_codec_vp9_cx(), config, 0);
  config->g_w = (unsigned)width;
  config->g_h = (unsigned)height;
  config->g_timebase.num = 1;
  config->g_timebase.den = 2 * fps;
  config->g_threads = 1;
  config->g_lag_in_frames = 0;
  config->g_pass = VPX_RC_ONE_PASS;
  /* Probabilities, motion vectors and filter levels of the frame before are not used: that frame
   * may be an enhancement which the receiver never got. */
  config->g_error_resilient = VPX_ERROR_RESILIENT_DEFAULT;
  config->rc_end_usage = VPX_VBR;
  config->rc_target_bitrate = 20000;
  config->rc_dropframe_thresh = 0;
  config->rc_resize_allowed = 0;
  config->kf_mode = VPX_KF_DISABLED;
}

int main(int argc, char** argv) {
  if (argc != 10)
    fail("usage: IN.yuv WIDTH HEIGHT FPS KEY_INTERVAL Q_KEY Q_BASE Q_ENHANCEMENT OUT.ivf");
  FILE *in = fopen(argv[1], "rb"), *out = fopen(argv[9], "wb");
  if (!in || !out) fail("cannot open the input or the output");
  int width = atoi(argv[2]), height = atoi(argv[3]), fps = atoi(argv[4]),
      key_interval = atoi(argv[5]);
  unsigned q_key = (unsigned)atoi(argv[6]), q_base = (unsigned)atoi(argv[7]),
           q_enh = (unsigned)atoi(argv[8]);

  vpx_codec_ctx_t codec;
  vpx_codec_enc_cfg_t config;
  configure(&config, width, height, fps);
  check(&codec, vpx_codec_enc_init(&codec, vpx_codec_vp9_cx(), &config, 0), "init");
  check(&codec, vpx_codec_control(&codec, VP8E_SET_CPUUSED, 1), "speed");
  check(&codec, vpx_codec_control(&codec, VP9E_SET_TILE_COLUMNS, 2), "tile columns");
  check(&codec, vpx_codec_control(&codec, VP9E_SET_AQ_MODE, 0), "adaptive quantization");

  vpx_image_t image;
  if (!vpx_img_alloc(&image, VPX_IMG_FMT_I420, (unsigned)width, (unsigned)height, 1))
    fail("out of memory");
  size_t picture_bytes = (size_t)width * (size_t)height * 3 / 2, base_bytes = 0,
         enhancement_bytes = 0;
  write_ivf_header(out, width, height, 2 * fps, 0);
  uint32_t n = 0;
  for (; fread(image.img_data, 1, picture_bytes, in) == picture_bytes; n++) {
    int key = n % (uint32_t)key_interval == 0;
    set_quantizer(&codec, &config, key ? q_key : q_base);
    base_bytes += encode_layer(&codec, &image, 2 * n, key ? VPX_EFLAG_FORCE_KF : BASE_FLAGS, out);
    set_quantizer(&codec, &config, q_enh);
    enhancement_bytes += encode_layer(&codec, &image, 2 * n + 1, ENHANCEMENT_FLAGS, out);
  }
  if (n == 0 || fseek(out, 0, SEEK_SET) != 0) fail("no whole picture in the input");
  write_ivf_header(out, width, height, 2 * fps, 2 * n);
  if (fclose(out) != 0) fail("cannot write the output");
  printf("%u pictures, base %.0f kbit/s, enhancement %.0f kbit/s, %zu bytes\n", n,
         (double)base_bytes * 8 * fps / n / 1000, (double)enhancement_bytes * 8 * fps / n / 1000,
         base_bytes + enhancement_bytes);
  return 0;
}
