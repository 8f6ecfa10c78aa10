/* Compares two I420 videos in CIF picture by picture: the luma sum of squared errors of each.
 *
 *   luma_errors SOURCE.yuv DECODED.yuv
 */
#include <stdint.h>
#include <stdio.h>

enum { LUMA = 352 * 288, PICTURE = LUMA * 3 / 2 };

int main(int argc, char **argv) {
  static uint8_t source[PICTURE], decoded[PICTURE];
  FILE *a = argc == 3 ? fopen(argv[1], "rb") : NULL, *b = a ? fopen(argv[2], "rb") : NULL;
  if (!b) return fprintf(stderr, "usage: luma_errors SOURCE.yuv DECODED.yuv\n"), 1;
  puts("luma_squared_errors");
  while (fread(source, 1, PICTURE, a) == PICTURE && fread(decoded, 1, PICTURE, b) == PICTURE) {
    uint64_t sum = 0;
    for (int i = 0; i < LUMA; i++) {
      int error = source[i] - decoded[i];
      sum += (uint64_t)(error * error);
    }
    printf("%llu\n", (unsigned long long)sum);
  }
  return 0;
}
