import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { broadcast } from './transport-stream';
import { Visit } from './visit';

describe('a receiver of a broadcast', () => {
  let visit: Visit;
  beforeAll(async () => {
    visit = await Visit.start({ asReceiver: true, clip: broadcast() });
    await visit.morePictures(10);
  });
  afterAll(() => visit.end());

  it('plays H.264 with B pictures, all of them in their order', async () => {
    await visit.morePictures(50);
    const { decode_errors, decoded, displayed } = await visit.lastReport();
    expect(decode_errors).toBe(0);
    expect(displayed).toBeGreaterThan(0.8 * decoded);
    expect((await visit.brightness()).spread).toBeGreaterThan(10);
    await visit.untilText('layers-shown', 'whole picture');
  });

  it('plays its AAC sound', async () => {
    await visit.get('sound').click();
    await visit.request('page_stats', (it) => it.audio_decoded > 20);
    expect((await visit.lastReport()).decode_errors).toBe(0);
  });

  it('cannot know everything: it leaves that out, and has no controls', async () => {
    await visit.get('rtt', visit.path(1)).waitFor();
    expect(await visit.get('cwnd', visit.path(1)).count()).toBe(0);
    for (const testId of ['cut', 'preset', 'latency']) {
      expect(await visit.get(testId).count(), testId).toBe(0);
    }
    expect(await visit.get('abandoned').textContent()).toBe('–');
  });
});
