import { describe, expect, it } from 'vitest';
import type { MediaMessage } from '../protocol/media';
import { StillGatherer } from './gatherer';
import { EVERY_MS, Rota } from './rota';

const VIDEO = { codec: 'vp09.00.10.08', format: 'vp9', width: null, height: null, fps: null };
const ANSWER = { channel: 3, session: 1, frame: 50, video: VIDEO };

function part(index: number, changes: Partial<MediaMessage['header']> = {}): MediaMessage {
  const header: MediaMessage['header'] = {
    ...{ track: 'video' as const, layer: 0, key: true, reference: true, lastLayer: true },
    ...{ discontinuity: false, session: 1, frame: 50, index, last: index === 1 },
    ...{ references: 0, ptsUs: 0, atUs: 0 },
    ...changes,
  };
  return { header, payload: new Uint8Array([index]) };
}

describe('a still', () => {
  it('is whole when its last part came', () => {
    const still = new StillGatherer();
    still.begin(ANSWER);
    expect(still.push(part(0))).toBeNull();
    expect(still.push(part(1))).toEqual({
      channel: 3,
      video: VIDEO,
      payload: new Uint8Array([0, 1]),
    });
    expect(still.push(part(1))).toBeNull();
  });

  it.each([
    ['a part before it is missing', [part(1)]],
    ['it is of another session', [part(0, { session: 2 }), part(1, { session: 2 })]],
    ['another picture is meant', [part(0, { frame: 51 }), part(1, { frame: 51 })]],
  ])('is never whole where %s', (_, parts) => {
    const still = new StillGatherer();
    still.begin(ANSWER);
    expect([...parts, part(1)].map((it) => still.push(it))).not.toContainEqual(
      expect.objectContaining({ video: VIDEO }),
    );
  });

  it('is of no use where no answer tells how to decode it', () => {
    const still = new StillGatherer();
    still.begin({ ...ANSWER, video: null });
    expect([still.push(part(0)), still.push(part(1))]).toEqual([null, null]);
  });
});

describe('the rota', () => {
  it('asks for those in view, one after another', () => {
    const rota = new Rota();
    for (const channel of [1, 3]) {
      rota.setVisible(channel, true);
    }
    expect(rota.next([1, 2, 3], 0)).toBe(1);
    expect(rota.next([1, 2, 3], 100)).toBeNull();
    rota.answered(1);
    expect(rota.next([1, 2, 3], 200)).toBe(3);
    rota.answered(3);
    expect(rota.next([1, 2, 3], 300)).toBeNull();
  });

  it('asks again for the oldest when it is old enough', () => {
    const rota = new Rota();
    for (const [index, channel] of [1, 2].entries()) {
      rota.setVisible(channel, true);
      expect(rota.next([1, 2], 1_000 * index)).toBe(channel);
      rota.answered(channel);
    }
    expect(rota.next([1, 2], EVERY_MS - 1)).toBeNull();
    expect(rota.next([1, 2], EVERY_MS + 1_000)).toBe(1);
  });

  it('does not ask for what went out of view', () => {
    const rota = new Rota();
    rota.setVisible(1, true);
    rota.setVisible(1, false);
    expect(rota.next([1], 0)).toBeNull();
  });

  it('goes on where an answer never comes', () => {
    const rota = new Rota();
    rota.setVisible(1, true);
    rota.setVisible(2, true);
    expect(rota.next([1, 2], 0)).toBe(1);
    expect(rota.next([1, 2], 14_999)).toBeNull();
    expect(rota.next([1, 2], 15_000)).toBe(2);
    rota.restart();
    expect(rota.next([1, 2], 15_001)).toBe(1);
  });
});
