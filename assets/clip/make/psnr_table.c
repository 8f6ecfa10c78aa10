/* Tabulates PSNR-Y for any picture of the clip shown in place of any other.
 *
 *   psnr_table SOURCE.yuv LAYERS.ivf OUT.psnr
 *
 * The format is described in crates/media/src/psnr.rs. Prints the mean of both layers.
 */
#include <math.h>

#include "decode.h"

static const double PSNR_MAX_DB = 100.0; /* of identical pictures */
static const uint8_t BLACK = 16;

static uint8_t* planes(size_t count, size_t bytes) {
  uint8_t* memory = malloc(count * bytes);
  if (!memory) fail("out of memory");
  return memory;
}

static uint8_t* read_source(const char* path, size_t pictures, size_t luma_bytes) {
  FILE* in = fopen(path, "rb");
  if (!in) fail("cannot open the source");
  uint8_t* source = planes(pictures, luma_bytes);
  for (size_t n = 0; n < pictures; n++) {
    read_all(in, source + n * luma_bytes, luma_bytes);
    if (fseek(in, (long)(luma_bytes / 2), SEEK_CUR) != 0) fail("cannot skip chroma");
  }
  fclose(in);
  return source;
}

/* Picture n of layer l is at (l * pictures + n) * luma_bytes. */
static uint8_t* decode_all(const struct clip* clip, size_t luma_bytes) {
  uint8_t* decoded = planes(LAYERS * clip->pictures, luma_bytes);
  vpx_codec_ctx_t codec;
  open_decoder(&codec);
  for (size_t i = 0; i < LAYERS * clip->pictures; i++) {
    size_t place = i % LAYERS * clip->pictures + i / LAYERS;
    decode_luma(&codec, clip->coded[i].bytes, clip->coded[i].size, clip->width, clip->height,
                decoded + place * luma_bytes);
  }
  vpx_codec_destroy(&codec);
  return decoded;
}

static uint64_t squared_error(const uint8_t* a, const uint8_t* b, size_t count) {
  uint64_t sum = 0;
  for (size_t i = 0; i < count; i++) {
    int difference = a[i] - b[i];
    sum += (uint32_t)(difference * difference);
  }
  return sum;
}

static float psnr(const uint8_t* source, const uint8_t* shown, size_t count) {
  uint64_t error = squared_error(source, shown, count);
  if (error == 0) return (float)PSNR_MAX_DB;
  return (float)(10.0 * log10(255.0 * 255.0 * (double)count / (double)error));
}

static void write_be(FILE* out, int bytes, uint32_t value) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    fputc((int)(value >> shift & 0xff), out);
}

static void write_psnr(FILE* out, float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  write_be(out, 4, bits);
}

int main(int argc, char** argv) {
  if (argc != 4) fail("usage: psnr_table SOURCE.yuv LAYERS.ivf OUT.psnr");
  struct clip clip = read_clip(argv[2]);
  size_t count = (size_t)clip.width * (size_t)clip.height, shown_pictures = LAYERS * clip.pictures;
  uint8_t *source = read_source(argv[1], clip.pictures, count), *decoded = decode_all(&clip, count);
  uint8_t* black = planes(1, count);
  memset(black, BLACK, count);
  FILE* out = fopen(argv[3], "wb");
  if (!out) fail("cannot open the output");

  write_all(out, "ANAPSNR\1", 8);
  write_be(out, 2, (uint32_t)clip.pictures);
  write_be(out, 2, LAYERS);
  double sum[LAYERS] = {0};
  for (size_t n = 0; n < clip.pictures; n++) {
    for (size_t shown = 0; shown < shown_pictures; shown++) {
      float value = psnr(source + n * count, decoded + shown * count, count);
      if (shown % clip.pictures == n) sum[shown / clip.pictures] += (double)value;
      write_psnr(out, value);
    }
    write_psnr(out, psnr(source + n * count, black, count));
  }
  if (fclose(out) != 0) fail("cannot write the output");
  printf("mean PSNR-Y: base %.3f dB, base and enhancement %.3f dB\n",
         sum[0] / (double)clip.pictures, sum[1] / (double)clip.pictures);
  return 0;
}
