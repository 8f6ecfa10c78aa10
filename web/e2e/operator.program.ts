/** The operator's page of `anabranch serve`, and a viewer's page beside it. */

import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openBrowser, type TestBrowser } from './browser';
import { violations, watchForShifts } from './looks';
import { reachable } from './network';
import { PageView } from './page-view';
import { Program } from './program';
import { TelevisionView } from './television/view';
import { LAPTOP, PHONE } from './visit';

describe("the operator's page", () => {
  let server: Program;
  let browser: TestBrowser;
  let desk: PageView;

  beforeAll(() => {
    expect(reachable(), 'Chromium needs an address beside loopback: add a veth pair').toBe(true);
  });
  beforeEach(async () => {
    server = new Program('serve', '--http', '127.0.0.1:0', '--udp', '0.0.0.0:0');
    browser = await openBrowser({ viewport: LAPTOP });
    desk = new PageView(await browser.context.newPage());
    await desk.page.goto(await printed(server));
    await desk.untilText('status', 'Live');
  });
  afterEach(async () => {
    await browser.close();
    await server.interrupt();
  });

  it('opens with the address that is printed, and keeps its token for this tab only', async () => {
    const { pathname, hash } = new URL(desk.page.url());
    expect([pathname, hash]).toEqual(['/operator', '']);
    await desk.page.reload();
    await desk.untilText('status', 'Live');
    const other = new PageView(await browser.context.newPage());
    await other.page.goto(`${await server.url()}operator`);
    await other.get('token').waitFor();
    await desk.get('leave').click();
    await desk.page.reload();
    await desk.get('token').waitFor();
    expect(desk.complaints).toEqual([]);
  });

  it('says in words that a token is wrong, and takes the right one', async () => {
    const [, token] = (await printed(server)).split('#');
    await desk.get('leave').click();
    await desk.get('token').fill('0123456789abcdef');
    await desk.page.keyboard.press('Enter');
    await desk.untilText('why', 'The server does not take this token.');
    await desk.get('token').fill(token ?? '');
    await desk.page.keyboard.press('Enter');
    await desk.untilText('status', 'Live');
  });

  it('says that the server does not answer, and goes on when it does', async () => {
    const { host } = new URL(desk.page.url());
    await server.interrupt();
    await desk.untilText('status', 'The server does not answer');
    server = new Program('serve', '--http', host, '--udp', '0.0.0.0:0');
    await desk.untilText('why', 'The server does not take this token.');
    await desk.page.goto(await printed(server));
    await desk.untilText('status', 'Live');
  });

  it('shows who watches, what, by which path and how well', async () => {
    const watcher = await watch(browser, server);
    await desk.untilText('viewer', 'Viewer 1');
    const line = desk.get('viewer');
    await watcher.zap('2', 2);
    await desk.until(async () => /2\s*Clock/.test((await line.textContent()) ?? ''));
    await desk.until(async () => /\d (kbit|Mbit)\/s/.test((await line.textContent()) ?? ''));
    expect(await line.textContent()).toMatch(/in a browser.*\d ms.*last \d+ ms.*:\d+/);
    await desk.get('search').fill('native');
    await line.waitFor({ state: 'detached' });
    await desk.get('search').fill('browser');
    await line.waitFor();
    await watcher.page.close();
    await line.waitFor({ state: 'detached' });
    expect(desk.complaints).toEqual([]);
  });

  it('sends an urgent message, tells how many screens show it, and ends it', async () => {
    const watcher = await watch(browser, server);
    await desk.get('urgent-text').fill('Leave the house.');
    await desk.get('urgent-level').selectOption('alarm');
    await desk.get('urgent-send').click();
    await watcher.untilText('urgent-1', 'Leave the house.');
    await watcher.page.bringToFront();
    await watcher.until(async () => watcher.page.evaluate(() => !document.hidden));
    await desk.page.bringToFront();
    await desk.untilText('message-1', 'To all: on 1 of 1 screen');
    await desk.get('urgent-text').fill('A pause.');
    await desk.get('urgent-to').selectOption('3');
    await desk.get('urgent-send').click();
    await desk.untilText('message-2', 'To channel 3: on 0 of 0 screens');
    expect(await watcher.get('urgent-2').count()).toBe(0);
    await desk.get('end', desk.get('message-1')).click();
    await watcher.get('urgent-1').waitFor({ state: 'detached' });
    await desk.get('message-1').waitFor({ state: 'detached' });
  });

  it('adds, restarts and removes a channel while another one plays on', async () => {
    const watcher = await watch(browser, server);
    await watcher.page.keyboard.press('i');
    const lost = await watcher.figure('lost');
    await desk.get('add').click();
    await desk.get('add-name').fill('More');
    await desk.get('add-source').fill('srt://elsewhere:1');
    await desk.get('add-submit').click();
    await desk.untilText('add-wrong', 'is not read: give udp://, rtp://, anabranch:// or a file');
    await desk.get('add-source').fill('demo:clock');
    await desk.get('add-access').selectOption('token');
    await desk.get('add-submit').click();
    await desk.untilText('add-wrong', 'access: this server has no key for tokens: start it with');
    await desk.get('add-access').selectOption('open');
    await desk.get('add-submit').click();
    await desk.untilText('channel-4', 'On air');
    await watcher.get('channel-4').waitFor();
    const added = desk.get('channel-4');
    await desk.get('restart', added).click();
    await desk.untilText('notices', '4 More is read anew.');
    await desk.untilText('channel-4', 'On air');
    await desk.get('remove', added).click();
    await desk.get('confirm', added).click();
    await added.waitFor({ state: 'detached' });
    await watcher.get('channel-4').waitFor({ state: 'detached' });
    await watcher.page.bringToFront();
    await watcher.morePictures(25);
    expect(await watcher.figure('lost')).toBe(lost);
    expect(await watcher.get('banner').count()).toBe(0);
  });

  it('is calm, whole at every width, and readable for everyone', async () => {
    await watch(browser, server);
    await desk.page.bringToFront();
    await desk.get('viewer').waitFor();
    await desk.get('urgent-text').fill('Leave the house.');
    await desk.get('urgent-send').click();
    await desk.untilText('message-1', 'of 1 screen');
    await desk.page.waitForTimeout(500);
    await desk.page.evaluate(watchForShifts);
    await desk.page.waitForTimeout(3_000);
    expect(await desk.page.evaluate(() => Object(window).moved)).toEqual([]);
    for (const width of [320, PHONE.width, 600, 768, 1024, LAPTOP.width, 2560]) {
      await desk.page.setViewportSize({ width, height: 844 });
      await desk.page.waitForTimeout(100);
      const inner = await desk.page.evaluate(() => document.documentElement.scrollWidth);
      expect(inner, `at ${width}`).toBeLessThanOrEqual(width);
      expect(await violations(desk.page), `at ${width}`).toEqual([]);
    }
    await desk.get('add').click();
    expect(await violations(desk.page)).toEqual([]);
  });
});

/** The address of the operator's page, token included. */
async function printed(server: Program): Promise<string> {
  const line = await server.line(/operator's page: http:\S+#\S+$/m);
  return line.replace("operator's page: ", '');
}

async function watch(browser: TestBrowser, server: Program): Promise<TelevisionView> {
  const watcher = new TelevisionView(await browser.context.newPage());
  await watcher.page.goto(await server.url());
  await watcher.untilPlays(1);
  return watcher;
}
