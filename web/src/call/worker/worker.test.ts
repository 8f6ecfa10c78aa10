import { describe, expect, it } from 'vitest';
import { CaptureClock } from './capture-clock';
import { VoiceLine, WAITING_MAX } from './voice-line';

describe('the capture clock', () => {
  const FRAME_US = 20_000;

  it('gives even times to what comes unevenly', () => {
    const clock = new CaptureClock();
    clock.captured(0, 5_000_000);
    for (let frame = 1; frame < 200; frame++) {
      const waitedUs = frame % 5 === 0 ? 0 : (frame % 7) * 1_500;
      const at = clock.captured(frame * FRAME_US, 5_000_000 + frame * FRAME_US + waitedUs);
      expect(Math.abs(at - (5_000_000 + frame * FRAME_US))).toBeLessThan(1_000);
    }
  });

  it('never reports a time that is still to come', () => {
    const clock = new CaptureClock();
    clock.captured(0, 1_000_000);
    expect(clock.captured(FRAME_US, 1_010_000)).toBe(1_010_000);
  });

  it('follows a sound card that was starved within a second', () => {
    const clock = new CaptureClock();
    let last = 0;
    for (let frame = 0; frame < 200; frame++) {
      const stoodUs = frame < 100 ? 0 : 3_000_000;
      const nowUs = 1_000_000 + frame * FRAME_US + stoodUs;
      last = nowUs - clock.captured(frame * FRAME_US, nowUs);
    }
    expect(last).toBeLessThan(1_000);
  });

  it('follows a clock that goes wrong', () => {
    const clock = new CaptureClock();
    for (let frame = 0; frame < 5_000; frame++) {
      const nowUs = 1_000_000 + frame * FRAME_US * 1.000_5;
      expect(nowUs - clock.captured(frame * FRAME_US, nowUs)).toBeLessThan(2_000);
    }
  });
});

describe('the line of voice', () => {
  const line = () => {
    const played: [number, Float32Array | null][] = [];
    const line = new VoiceLine<number>((frame, samples) => played.push([frame, samples]));
    return { line, played };
  };
  const SAMPLES = Float32Array.of(0.5);

  it('keeps a frame that is to be concealed behind those that are being decoded', () => {
    const { line: voice, played } = line();
    voice.decoding(1);
    voice.missing(2);
    voice.decoding(3);
    expect(played).toEqual([]);
    voice.decoded(SAMPLES);
    expect(played).toEqual([
      [1, SAMPLES],
      [2, null],
    ]);
    voice.decoded(SAMPLES);
    expect(played.at(-1)).toEqual([3, SAMPLES]);
  });

  it('conceals what a decoder that failed had', () => {
    const { line: voice, played } = line();
    voice.decoding(1);
    voice.decoding(2);
    voice.failed();
    expect(played).toEqual([
      [1, null],
      [2, null],
    ]);
    voice.decoding(3);
    voice.decoded(SAMPLES);
    expect(played.at(-1)).toEqual([3, SAMPLES]);
  });

  it('does not wait for ever for a decoder that returns nothing', () => {
    const { line: voice, played } = line();
    for (let frame = 0; frame <= WAITING_MAX; frame++) {
      voice.decoding(frame);
    }
    expect(played.length).toBe(WAITING_MAX + 1);
  });
});
