/* Decodes layers with libvpx, the decoder inside Chromium, and keeps their luma planes. */
#ifndef ANABRANCH_DECODE_H
#define ANABRANCH_DECODE_H

#include <vpx/vp8dx.h>
#include <vpx/vpx_decoder.h>

#include "ivf.h"

static inline void open_decoder(vpx_codec_ctx_t* codec) {
  vpx_codec_dec_cfg_t config = {1, 0, 0};
  if (vpx_codec_dec_init(codec, vpx_codec_vp9_dx(), &config, 0)) fail("the decoder does not start");
}

static inline void copy_plane(const vpx_image_t* image, int plane, int width, int height,
                              uint8_t* to) {
  for (int row = 0; row < height; row++)
    memcpy(to + (size_t)row * (size_t)width, image->planes[plane] + row * image->stride[plane],
           (size_t)width);
}

/* Decodes one chunk, which must give exactly one picture, into `luma`. */
static inline void decode_luma(vpx_codec_ctx_t* codec, const uint8_t* bytes, size_t size, int width,
                               int height, uint8_t* luma) {
  if (vpx_codec_decode(codec, bytes, (unsigned)size, NULL, 0)) fail(vpx_codec_error(codec));
  vpx_codec_iter_t iter = NULL;
  const vpx_image_t* image = vpx_codec_get_frame(codec, &iter);
  if (!image || (int)image->d_w != width || (int)image->d_h != height)
    fail("no picture of the right size");
  copy_plane(image, VPX_PLANE_Y, width, height, luma);
  if (vpx_codec_get_frame(codec, &iter)) fail("two pictures out of one chunk");
}

enum { SUPERFRAME_INDEX_BYTES = 2 + 4 * LAYERS };

/* Joins two layers of a picture into a superframe (VP9 bitstream specification, annex B); returns
 * its size. */
static inline size_t superframe(const struct coded* base, const struct coded* enhancement,
                                uint8_t* to) {
  const uint8_t marker = 0xc0 | (4 - 1) << 3 | (LAYERS - 1);
  uint8_t* at = to;
  memcpy(at, base->bytes, base->size);
  memcpy(at += base->size, enhancement->bytes, enhancement->size);
  at += enhancement->size;
  *at++ = marker;
  put_le(at, 4, base->size);
  put_le(at + 4, 4, enhancement->size);
  at[8] = marker;
  return base->size + enhancement->size + SUPERFRAME_INDEX_BYTES;
}

#endif
