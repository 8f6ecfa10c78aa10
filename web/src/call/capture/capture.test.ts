import { describe, expect, it } from 'vitest';
import { CANDIDATES, chooseCodec, encoderConfig, roleOf } from './codecs';
import { Ladder, sizeAt } from './ladder';

const SIZE = { width: 1280, height: 720 };

describe('the codec', () => {
  const choose = (accept: (config: VideoEncoderConfig) => boolean) =>
    chooseCodec(SIZE, 1e6, 25, async (config) => accept(config));

  it('is VP9 in three temporal layers where there is one', async () => {
    const codec = await choose(() => true);
    expect(codec).toEqual({ codec: 'vp09.00.31.08', format: 'vp9', temporalLayers: 3 });
  });

  it('is one with layers rather than one without', async () => {
    const codec = await choose(
      ({ codec, scalabilityMode }) => codec === 'vp8' || scalabilityMode === undefined,
    );
    expect(codec).toMatchObject({ format: 'vp8', temporalLayers: 3 });
  });

  it('is H.264 in Annex B form where there is nothing else, or none at all', async () => {
    const codec = await choose(({ codec }) => codec.startsWith('avc1'));
    expect(codec).toMatchObject({ format: 'annexb', temporalLayers: 3 });
    expect(encoderConfig(codec ?? (CANDIDATES[0] as never), SIZE, 1e6, 25).avc).toEqual({
      format: 'annexb',
    });
    expect(await choose(() => false)).toBeNull();
  });

  it('makes pictures that nobody needs in the uppermost layer only', () => {
    const [layered] = CANDIDATES;
    const plain = CANDIDATES.at(-1);
    if (layered === undefined || plain === undefined) {
      throw new Error('no candidates');
    }
    expect([0, 1, 2].map((layer) => roleOf(false, layer, layered))).toEqual([
      'reference',
      'reference',
      'disposable',
    ]);
    expect(roleOf(true, 0, layered)).toBe('key');
    expect(roleOf(false, 0, plain)).toBe('reference');
  });
});

describe('the size of pictures', () => {
  it('goes down at once and up only when the rate is well enough', () => {
    const ladder = new Ladder();
    const heights = [2_500_000, 1_000_000, 1_200_000, 1_400_000, 100_000, 340_000, 420_000].map(
      (bps) => ladder.at(bps, 0).height,
    );
    expect(heights).toEqual([720, 360, 360, 720, 180, 270, 360]);
  });

  it('is that of the first rate at the beginning', () => {
    expect(new Ladder().at(330_000, 0).height).toBe(360);
  });

  it('goes down for an encoder that is too slow, for a while', () => {
    const ladder = new Ladder();
    expect(ladder.at(2_500_000, 0).height).toBe(720);
    ladder.observe(true, 0);
    ladder.observe(false, 1_000);
    ladder.observe(true, 1_100);
    ladder.observe(true, 2_500);
    expect(ladder.at(2_500_000, 2_500).height).toBe(720);
    ladder.observe(true, 2_700);
    expect(ladder.at(2_500_000, 2_700).height).toBe(360);
    expect(ladder.at(2_500_000, 30_000).height).toBe(360);
    expect(ladder.at(2_500_000, 33_000).height).toBe(720);
  });

  it('keeps the shape of the camera and is never larger', () => {
    const [small] = [{ height: 270, fps: 25, from_bps: 0 }];
    expect(sizeAt(small as never, { width: 1280, height: 720 })).toEqual({
      width: 480,
      height: 270,
    });
    expect(sizeAt(small as never, { width: 720, height: 1280 })).toEqual({
      width: 270,
      height: 480,
    });
    expect(sizeAt(small as never, { width: 320, height: 240 })).toEqual({
      width: 320,
      height: 240,
    });
  });
});
