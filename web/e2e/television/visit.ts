/** One visit to the television page, served by a studio in the same browser. */

import type { BrowserContextOptions, Page } from 'playwright-core';
import { openBrowser, type TestBrowser } from '../browser';
import { LAPTOP } from '../visit';
import { Broadcaster } from './broadcaster';
import { TelevisionView } from './view';

/** Both ends are in one browser that knows no names of the local network. */
const FLAGS = ['--disable-features=WebRtcHideLocalIpsWithMdns'];

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
