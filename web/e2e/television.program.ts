/** The television of `anabranch serve`: everything real, from the sources to the screen. */

import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openBrowser, type TestBrowser } from './browser';
import { reachable } from './network';
import { Program } from './program';
import { TelevisionView } from './television/view';

const ZAPS = 12;

describe('anabranch serve', () => {
  let server: Program;
  let browser: TestBrowser;
  let view: TelevisionView;

  beforeAll(() => {
    expect(reachable(), 'Chromium needs an address beside loopback: add a veth pair').toBe(true);
  });
  beforeEach(async () => {
    server = serve('127.0.0.1:0');
    browser = await openBrowser();
    view = new TelevisionView(await browser.context.newPage());
    await view.page.goto(await server.url());
    await view.untilPlays(1);
  });
  afterEach(async () => {
    await browser.close();
    await server.interrupt();
  });

  it('plays: pictures advance, are not black, and sound is in step', async () => {
    await view.morePictures(25);
    const { mean, spread } = await view.brightness();
    expect(mean).toBeGreaterThan(10);
    expect(spread).toBeGreaterThan(5);
    await view.page.keyboard.press('i');
    await view.until(async () => Math.abs(await view.figure('skew')) < 80);
    expect(view.complaints).toEqual([]);
  });

  it('zaps through all channels', async () => {
    const cards = await view.get('guide').getByRole('button').count();
    expect(cards).toBeGreaterThanOrEqual(3);
    for (let zap = 0; zap < ZAPS; zap++) {
      await view.zap('ArrowDown', (zap % cards) + 2 > cards ? 1 : (zap % cards) + 2);
      await view.morePictures(5);
    }
    expect(view.complaints).toEqual([]);
  });

  it('shows in its guide what is on channels that nobody watched', async () => {
    for (const number of [2, 3]) {
      const thumbnail = `thumbnail-${number}`;
      await view.get(thumbnail).waitFor();
      const { mean, spread } = await view.brightness(thumbnail);
      expect(mean, thumbnail).toBeGreaterThan(10);
      expect(spread, thumbnail).toBeGreaterThan(5);
    }
    expect(await view.state()).toBe('playing');
    await view.zap('2', 2);
    await view.get('thumbnail-1').waitFor();
    expect(view.complaints).toEqual([]);
  });

  it('comes back by itself after the server was started again', async () => {
    const { host } = new URL(await server.url());
    await view.zap('2', 2);
    await server.interrupt();
    await view.untilText('status', 'No connection');
    server = serve(host);
    await view.untilText('status', 'Live');
    await view.untilPlays(2);
    await view.morePictures(10);
  });
});

function serve(http: string): Program {
  return new Program('serve', '--http', http, '--udp', '0.0.0.0:0');
}
