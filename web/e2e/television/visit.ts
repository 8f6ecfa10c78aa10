/** One visit to the television page, served by a studio in the same browser. */

import type { BrowserContextOptions, Page } from 'playwright-core';
import { openBrowser, type TestBrowser } from '../browser';
import { PageView } from '../page-view';
import { LAPTOP } from '../visit';
import { Broadcaster } from './broadcaster';

/** Both ends are in one browser that knows no names of the local network. */
const FLAGS = ['--disable-features=WebRtcHideLocalIpsWithMdns'];

export class TelevisionView extends PageView {
  /** Presses a key, and waits until the channel plays. */
  async zap(key: string, number: number): Promise<void> {
    await this.page.keyboard.press(key);
    await this.untilPlays(number);
  }

  async untilPlays(number: number): Promise<void> {
    const card = this.get(`channel-${number}`);
    await this.until(async () => (await card.getAttribute('aria-current')) === 'true');
    await this.until(async () => (await this.state()) === 'playing');
  }

  /** What became of the channel that was asked for last. */
  state(): Promise<string | null> {
    return this.get('video').getAttribute('data-state');
  }

  /** From the last key to the first picture, as the page measured it. */
  async zapMs(): Promise<number> {
    return Number(await this.get('video').getAttribute('data-zap-ms'));
  }

  /** Pictures shown so far. */
  async shown(): Promise<number> {
    return Number(await this.get('video').getAttribute('data-shown'));
  }

  override async morePictures(count: number): Promise<void> {
    const before = await this.shown();
    await this.until(async () => (await this.shown()) >= before + count);
  }
}

export class TelevisionVisit extends TelevisionView {
  readonly server: Broadcaster;
  readonly #browser: TestBrowser;

  static async start(
    path = '',
    look: BrowserContextOptions = {},
    refuse: Broadcaster['refuse'] = null,
  ): Promise<TelevisionVisit> {
    const browser = await openBrowser({ viewport: LAPTOP, ...look }, FLAGS);
    const server = await Broadcaster.start(browser.context);
    server.refuse = refuse;
    const visit = new TelevisionVisit(server, browser, await browser.context.newPage());
    await visit.page.goto(server.url + path);
    return visit;
  }

  private constructor(server: Broadcaster, browser: TestBrowser, page: Page) {
    super(page);
    this.server = server;
    this.#browser = browser;
  }

  async end(): Promise<void> {
    await this.server.stop();
    await this.#browser.close();
  }
}
