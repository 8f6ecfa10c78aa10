import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Visit } from './visit';

describe('the page plays', () => {
  let visit: Visit;
  beforeAll(async () => {
    visit = await Visit.start();
    await visit.morePictures(10);
  });
  afterAll(() => visit.end());

  it('pictures that are not black, with both layers', async () => {
    await visit.morePictures(10);
    const { mean, spread } = await visit.brightness();
    expect(mean).toBeGreaterThan(20);
    expect(spread).toBeGreaterThan(10);
    await visit.untilText('layers-shown', 'base + enhancement');
    await visit.untilText('status', 'Playing');
  });

  it('and names what it plays and whose it is', async () => {
    expect(await visit.page.title()).toBe('Big Buck Bunny · anabranch');
    await visit.untilText('attribution', '2008 Blender Foundation');
    await visit.untilText('attribution', 'CC BY 3.0');
  });

  it('and reports to the program what it really displayed', async () => {
    const { displayed, decoded } = await visit.request('page_stats', (it) => it.displayed > 0);
    expect(decoded).toBeGreaterThanOrEqual(displayed);
  });

  it('the base alone when no enhancement comes', async () => {
    visit.server.withhold = ({ layer }) => layer > 0;
    await visit.untilText('layers-shown', 'base picture');
    await visit.morePictures(10);
    visit.server.withhold = () => false;
    await visit.untilText('layers-shown', 'base + enhancement');
  });

  it('the last good picture from a lost base to the next key frame, and then on', async () => {
    let afterKey = false;
    let lost = 0;
    visit.server.withhold = ({ track, layer, key }) => {
      if (track !== 'video' || layer > 0) {
        return false;
      }
      const first = afterKey && lost === 0;
      afterKey = key;
      lost += first ? 1 : 0;
      return first;
    };
    await visit.until(async () => (await visit.figure('longest-gap')) > 400);
    visit.server.withhold = () => false;
    await visit.morePictures(10);
    expect((await visit.lastReport()).decode_errors).toBe(0);
  });

  it('on after the decoder met garbage, from the next key frame', async () => {
    visit.server.spoil = true;
    await visit.request('page_stats', (it) => it.decode_errors > 0);
    visit.server.spoil = false;
    await visit.morePictures(10);
  });

  it('and tells by level what waits to be read, while something does', async () => {
    expect(await visit.get('levels-waiting').count()).toBe(0);
    const { world } = visit.server;
    const calm = world.levels;
    world.levels = [0, 0, 12, 40].map((waiting) => ({
      waiting,
      dropped: waiting / 4,
      wait_p50_ms: waiting * 3,
      wait_p99_ms: waiting * 10,
    }));
    await visit.untilText('levels-waiting', '0 · 0 · 12 · 40');
    await visit.untilText('levels-wait', '0 · 0 · 120 · 400');
    await visit.untilText('levels-dropped', '0 · 0 · 3 · 10');
    world.levels = calm;
    await visit.until(async () => (await visit.get('levels-waiting').count()) === 0);
  });

  it('sound in step with the picture when asked to', async () => {
    await visit.get('sound').click();
    await visit.request('page_stats', (it) => it.audio_decoded > 20);
    const { av_skew_ms } = await visit.request('page_stats', (it) => it.av_skew_ms !== null);
    expect(Math.abs(av_skew_ms ?? 99)).toBeLessThan(80);
    await visit.get('sound').click();
    expect(await visit.get('sound').getAttribute('aria-pressed')).toBe('false');
  });

  it('under the strict content policy, without a complaint of the browser', () => {
    expect(visit.complaints).toEqual([]);
  });
});
