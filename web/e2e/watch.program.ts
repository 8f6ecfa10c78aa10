/** The page of `anabranch watch`, before `anabranch serve`: everything real. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openBrowser, type TestBrowser } from './browser';
import { PageView } from './page-view';
import { Program } from './program';

describe('anabranch watch', () => {
  let server: Program;
  let viewer: Program;
  let browser: TestBrowser;
  let view: PageView;

  beforeEach(async () => {
    server = new Program('serve', '--http', '127.0.0.1:0', '--udp', '127.0.0.1:0');
    viewer = new Program('watch', await server.line(/anabranch:\/\/127\.0\.0\.1:\d+/));
    browser = await openBrowser();
    view = new PageView(await browser.context.newPage());
    await view.page.goto(await viewer.url());
    await watches(1);
  });
  afterEach(async () => {
    await browser.close();
    await viewer.interrupt();
    await server.interrupt();
  });

  async function watches(number: number): Promise<void> {
    const card = view.get(`channel-${number}`);
    await view.until(async () => (await card.getAttribute('aria-current')) === 'true');
    await view.untilText('status', 'Playing');
    await view.morePictures(10);
  }

  it('changes the channel at the press of a key, and shows its pictures', async () => {
    const names = await view.get('guide').getByRole('button').allTextContents();
    expect(names.length).toBeGreaterThanOrEqual(3);
    await view.page.keyboard.press('2');
    await viewer.line(/watching 2 /);
    await watches(2);
    const { mean, spread } = await view.brightness();
    expect(mean).toBeGreaterThan(10);
    expect(spread).toBeGreaterThan(5);
    await view.page.keyboard.press('ArrowDown');
    await viewer.line(/watching 3 /);
    await watches(3);
    await view.get('channel-1').click();
    await watches(1);
    expect(view.complaints).toEqual([]);
  });

  it('says that there is no such channel', async () => {
    await view.page.keyboard.press('9');
    await view.untilText('notices', /^9 is not a channel of this server; there are 1 /);
    await view.morePictures(5);
  });
});
