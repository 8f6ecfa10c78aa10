/** One visit to the page, served by the mock server. */

import type { BrowserContextOptions, Page } from 'playwright-core';
import { type Clip, readClip } from '../mock/clip';
import { defaultClip } from '../mock/default-clip';
import { MockServer, type Options } from '../mock/server';
import type { PageRequest } from '../src/protocol/requests';
import { openBrowser, type TestBrowser } from './browser';
import { PageView } from './page-view';

export const LAPTOP = { width: 1366, height: 768 };
export const PHONE = { width: 390, height: 844 };

type RequestOf<T extends PageRequest['type']> = Extract<PageRequest, { type: T }>;

export class Visit extends PageView {
  readonly server: MockServer;
  readonly #browser: TestBrowser;

  static async start(
    { clip, ...options }: Options & { readonly clip?: Clip } = {},
    look: BrowserContextOptions = {},
  ): Promise<Visit> {
    const server = await MockServer.start(clip ?? readClip(defaultClip()), options);
    const browser = await openBrowser({ viewport: LAPTOP, ...look });
    const visit = new Visit(server, browser, await browser.context.newPage());
    await visit.page.goto(server.url);
    return visit;
  }

  private constructor(server: MockServer, browser: TestBrowser, page: Page) {
    super(page);
    this.server = server;
    this.#browser = browser;
  }

  async end(): Promise<void> {
    await this.#browser.close();
    await this.server.stop();
  }

  /** What the page told the program last about itself. */
  async lastReport(): Promise<RequestOf<'page_stats'>> {
    const before = this.server.requests.length;
    await this.until(() =>
      this.server.requests.slice(before).some(({ type }) => type === 'page_stats'),
    );
    const reports = this.server.requests.filter(({ type }) => type === 'page_stats');
    return reports.at(-1) as RequestOf<'page_stats'>;
  }

  /** Waits for a request that matches, and returns it. */
  async request<T extends PageRequest['type']>(
    type: T,
    matches: (request: RequestOf<T>) => boolean = () => true,
  ): Promise<RequestOf<T>> {
    const found = () =>
      this.server.requests.find(
        (request): request is RequestOf<T> =>
          request.type === type && matches(request as RequestOf<T>),
      );
    await this.until(() => found() !== undefined);
    return found() as RequestOf<T>;
  }
}
