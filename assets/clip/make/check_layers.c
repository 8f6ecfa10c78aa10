/* Proves that a lost enhancement spoils one picture.
 *
 *   check_layers LAYERS.ivf RUNS
 *
 * Decodes the clip as a receiver does: each picture as its base alone or as a superframe of both
 * layers. In each run enhancements, and now and then a base, are dropped at random, over two
 * rounds, so that the loop's seam is included. Every picture that is decoded must be bit-identical
 * to the same picture decoded without any loss.
 */
#include "decode.h"

enum { LOOPS = 2 };

/* A small generator, so that a run is the same everywhere. */
static uint32_t next_random(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 33);
}

static uint64_t hash(const uint8_t* bytes, size_t count) {
  uint64_t value = 14695981039346656037u;
  for (size_t i = 0; i < count; i++) value = (value ^ bytes[i]) * 1099511628211u;
  return value;
}

/* Decodes picture n with or without its enhancement and hashes its luma. */
static uint64_t decode_picture(vpx_codec_ctx_t* codec, const struct clip* clip, size_t n,
                               int enhanced, uint8_t* chunk, uint8_t* luma) {
  const struct coded *base = &clip->coded[LAYERS * n], *enhancement = base + 1;
  size_t size = base->size;
  if (enhanced)
    size = superframe(base, enhancement, chunk);
  else
    memcpy(chunk, base->bytes, base->size);
  decode_luma(codec, chunk, size, clip->width, clip->height, luma);
  return hash(luma, (size_t)clip->width * (size_t)clip->height);
}

static int is_key(const struct coded* base) {
  /* The header begins with frame_marker (2 bits), the profile (2), show_existing_frame (1) and
   * frame_type (1; 0: key frame). */
  return (base->bytes[0] & 0x04) == 0;
}

/* Decodes everything without any loss; the hash of picture n up to layer l is at LAYERS * n + l. */
static uint64_t* decode_without_loss(const struct clip* clip, uint8_t* chunk, uint8_t* luma) {
  uint64_t* hashes = calloc(LAYERS * clip->pictures, sizeof *hashes);
  if (!hashes) fail("out of memory");
  for (size_t layer = 0; layer < LAYERS; layer++) {
    vpx_codec_ctx_t codec;
    open_decoder(&codec);
    for (size_t n = 0; n < clip->pictures; n++)
      hashes[LAYERS * n + layer] = decode_picture(&codec, clip, n, layer > 0, chunk, luma);
    vpx_codec_destroy(&codec);
  }
  return hashes;
}

struct tally {
  size_t compared, base_alone, skipped;
};

/* One run with its own loss rate. Now and then a base is lost, too: then nothing is decoded before
 * the next key frame. */
static void run(const struct clip* clip, const uint64_t* expected, uint64_t* state, uint8_t* chunk,
                uint8_t* luma, struct tally* tally) {
  uint32_t loss_percent = 5 + next_random(state) % 91;
  int skipping = 0;
  vpx_codec_ctx_t codec;
  open_decoder(&codec);
  for (size_t i = 0; i < LOOPS * clip->pictures; i++) {
    size_t n = i % clip->pictures;
    int base_lost = i > 0 && next_random(state) % 50 == 0;
    skipping = base_lost || (skipping && !is_key(&clip->coded[LAYERS * n]));
    if (skipping) {
      tally->skipped++;
      continue;
    }
    int enhanced = next_random(state) % 100 >= loss_percent;
    tally->base_alone += !enhanced;
    tally->compared++;
    if (decode_picture(&codec, clip, n, enhanced, chunk, luma) !=
        expected[LAYERS * n + (size_t)enhanced]) {
      fprintf(stderr, "picture %zu differs from its decode without loss\n", n);
      exit(1);
    }
  }
  vpx_codec_destroy(&codec);
}

int main(int argc, char** argv) {
  if (argc != 3) fail("usage: check_layers LAYERS.ivf RUNS");
  struct clip clip = read_clip(argv[1]);
  size_t largest = 0;
  for (size_t i = 0; i < LAYERS * clip.pictures; i++)
    if (clip.coded[i].size > largest) largest = clip.coded[i].size;
  uint8_t* chunk = malloc(LAYERS * largest + SUPERFRAME_INDEX_BYTES);
  uint8_t* luma = malloc((size_t)clip.width * (size_t)clip.height);
  if (!chunk || !luma) fail("out of memory");

  uint64_t *expected = decode_without_loss(&clip, chunk, luma), state = 1;
  struct tally tally = {0};
  for (int i = 0; i < atoi(argv[2]); i++) run(&clip, expected, &state, chunk, luma, &tally);
  printf("%zu pictures decoded, %zu without their enhancement, %zu lost or undecodable:\n",
         tally.compared, tally.base_alone, tally.skipped);
  printf("every picture that was decoded is bit-identical to its decode without loss\n");
  return 0;
}
