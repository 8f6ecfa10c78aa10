/* IVF files with one frame per layer, as encode_layers writes them, for the tools beside it. */
#ifndef ANABRANCH_IVF_H
#define ANABRANCH_IVF_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IVF_HEADER_BYTES = 32, IVF_FRAME_HEADER_BYTES = 12, LAYERS = 2 };

static inline void fail(const char* what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static inline void put_le(uint8_t* to, int bytes, uint64_t value) {
  for (int i = 0; i < bytes; i++) to[i] = (uint8_t)(value >> (8 * i));
}

static inline uint64_t from_le(const uint8_t* from, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; i++) value |= (uint64_t)from[i] << (8 * i);
  return value;
}

static inline void write_all(FILE* out, const void* bytes, size_t count) {
  if (fwrite(bytes, 1, count, out) != count) fail("cannot write the output");
}

static inline void read_all(FILE* in, void* bytes, size_t count) {
  if (fread(bytes, 1, count, in) != count) fail("the input ends in the middle of something");
}

/* A coded layer of a picture. */
struct coded {
  uint8_t* bytes;
  size_t size;
};

/* A whole file in memory: the layers of picture n are at coded[LAYERS * n]. */
struct clip {
  int width, height;
  size_t pictures;
  struct coded* coded;
};

static inline struct clip read_clip(const char* path) {
  FILE* in = fopen(path, "rb");
  uint8_t header[IVF_HEADER_BYTES];
  if (!in) fail("cannot open the IVF file");
  read_all(in, header, sizeof header);
  if (memcmp(header, "DKIF", 4) != 0) fail("not an IVF file");
  size_t layers = (size_t)from_le(header + 24, 4);
  struct clip clip = {(int)from_le(header + 12, 2), (int)from_le(header + 14, 2), layers / LAYERS,
                      NULL};
  if (layers == 0 || layers % LAYERS != 0)
    fail("the IVF file does not hold two layers for each picture");
  clip.coded = calloc(layers, sizeof *clip.coded);
  if (!clip.coded) fail("out of memory");
  for (size_t i = 0; i < layers; i++) {
    read_all(in, header, IVF_FRAME_HEADER_BYTES);
    clip.coded[i].size = (size_t)from_le(header, 4);
    clip.coded[i].bytes = malloc(clip.coded[i].size);
    if (!clip.coded[i].bytes) fail("out of memory");
    read_all(in, clip.coded[i].bytes, clip.coded[i].size);
  }
  fclose(in);
  return clip;
}

#endif
