/** The page of `anabranch demo`: everything real, from the sender to the screen. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openBrowser, type TestBrowser } from './browser';
import { PageView } from './page-view';
import { Program } from './program';

describe('anabranch demo that has ended', () => {
  it('starts again on its page, and ends when nobody looks any more', async () => {
    const demo = new Program('demo', '--seconds', '3', '--cut', 'wifi@1s..2s');
    const browser = await openBrowser();
    try {
      const view = new PageView(await browser.context.newPage());
      await view.page.goto(await demo.url());
      await view.untilText('banner', 'The demo has ended.');
      await demo.line(/The page can start the demo again/);
      await view.page.reload();
      await view.untilText('banner', 'The demo has ended.');
      await view.get('start-again').click();
      await view.get('banner').waitFor({ state: 'detached' });
      await view.morePictures(25);
      await view.untilText('events', 'The link of wifi was cut.');
      await view.untilText('banner', 'The demo has ended.');
      expect(await view.get('events').getByText('wifi was cut').count()).toBe(1);
      expect(view.complaints).toEqual([]);
    } finally {
      await browser.close();
    }
    expect(await demo.ended()).toBe(0);
    expect(demo.printed.match(/pictures +\d+ shown/g)).toHaveLength(2);
  });
});

describe('anabranch demo', () => {
  let demo: Program;
  let browser: TestBrowser;
  let view: PageView;

  beforeAll(async () => {
    demo = new Program('demo');
    browser = await openBrowser();
    view = new PageView(await browser.context.newPage());
    await view.page.goto(await demo.url());
    await view.morePictures(10);
  });
  afterAll(async () => {
    await browser.close();
    await demo.interrupt();
  });

  it('plays its clip: pictures advance, and are not black', async () => {
    await view.morePictures(25);
    const { mean, spread } = await view.brightness();
    expect(mean).toBeGreaterThan(20);
    expect(spread).toBeGreaterThan(10);
    await view.untilText('attribution', 'Blender Foundation');
    await view.untilText('layers-shown', 'base + enhancement');
  });

  it('goes on when the primary path is cut, and says what happened', async () => {
    await view.get('cut', view.path(1)).click();
    await view.untilText('events', 'The link of wifi was cut.');
    await view.untilText('events', 'Data now goes over mobile.');
    await view.untilText('events', 'wifi failed.');
    const wifi = view.path(1);
    await view.until(async () => (await wifi.getAttribute('data-state')) === 'inactive');
    expect(await view.get('path-primary', view.path(2)).textContent()).toBe('Primary');
    await view.morePictures(25);
  });

  it('returns when the path is mended', async () => {
    await view.get('cut', view.path(1)).click();
    await view.untilText('events', 'wifi is back.');
    await view.untilText('events', 'Data goes over wifi again.');
    await view.until(async () => (await view.path(1).getAttribute('data-state')) === 'active');
    await view.morePictures(25);
  });

  it('tells a page that comes later when everything happened', async () => {
    const times = () => view.get('events').locator('time').allTextContents();
    const before = await times();
    await view.page.reload();
    await view.untilText('events', 'The link of wifi was cut.');
    expect((await times()).slice(-before.length)).toEqual(before);
    expect(before[0]).not.toBe('0:00');
    await view.morePictures(10);
  });

  it('treats media as one asks it to', async () => {
    await view.get('preset-live').click();
    await view.untilText('events', 'Treatments: from now on live');
    const live = view.get('preset-live');
    await view.until(async () => (await live.getAttribute('aria-pressed')) === 'true');
    await view.morePictures(10);
  });

  it('changes a link by its sliders', async () => {
    const delay = view.get('link-delay', view.path(2));
    await delay.focus();
    await view.page.keyboard.press('ArrowRight');
    await view.untilText('events', /The link of mobile now has 12 Mbit\/s, a delay of \d+ ms/);
  });

  it('ends in order, with a table, and the page says so', async () => {
    expect(await demo.interrupt()).toBe(0);
    expect(demo.printed).toMatch(/pictures +\d+ shown/);
    await view.untilText('banner', 'The demo has ended.');
    expect(view.complaints).toEqual([]);
  });
});
