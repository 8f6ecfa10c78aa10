/** One visit to the page, served by the mock server, with what a test asks of it. */

import type { BrowserContextOptions, Locator, Page } from 'playwright-core';
import { readClip } from '../mock/clip';
import { defaultClip } from '../mock/default-clip';
import { MockServer, type Options } from '../mock/server';
import type { PageRequest } from '../src/protocol/requests';
import { openBrowser, type TestBrowser } from './browser';

export const LAPTOP = { width: 1366, height: 768 };
export const PHONE = { width: 390, height: 844 };

const PATIENCE_MS = 15_000;

type RequestOf<T extends PageRequest['type']> = Extract<PageRequest, { type: T }>;

export class Visit {
  readonly server: MockServer;
  readonly page: Page;
  /** What the browser complained about. */
  readonly complaints: string[] = [];
  readonly #browser: TestBrowser;

  static async start(options: Options = {}, look: BrowserContextOptions = {}): Promise<Visit> {
    const server = await MockServer.start(readClip(defaultClip()), options);
    const browser = await openBrowser({ viewport: LAPTOP, ...look });
    const page = await browser.context.newPage();
    const visit = new Visit(server, browser, page);
    await page.goto(server.url);
    return visit;
  }

  private constructor(server: MockServer, browser: TestBrowser, page: Page) {
    this.server = server;
    this.page = page;
    this.#browser = browser;
    page.on('pageerror', (error) => this.complaints.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') {
        this.complaints.push(message.text());
      }
    });
  }

  async end(): Promise<void> {
    await this.#browser.close();
    await this.server.stop();
  }

  get(testId: string, within: Page | Locator = this.page): Locator {
    return within.getByTestId(testId);
  }

  path(id: number): Locator {
    return this.get(`path-${id}`);
  }

  /** The number that an element shows; a dash is NaN. */
  async figure(testId: string): Promise<number> {
    const text = (await this.get(testId).textContent()) ?? '';
    return Number.parseFloat(text.replaceAll('\u2009', '').replace('−', '-'));
  }

  /** Waits until that many more pictures are shown. */
  async morePictures(count: number): Promise<void> {
    const before = await this.figure('page-frames');
    await this.until(async () => (await this.figure('page-frames')) >= before + count);
  }

  async until(reached: () => Promise<boolean> | boolean): Promise<void> {
    const giveUpMs = performance.now() + PATIENCE_MS;
    while (!(await reached())) {
      if (performance.now() > giveUpMs) {
        throw new Error(`not reached within ${PATIENCE_MS} ms: ${reached}`);
      }
      await this.page.waitForTimeout(50);
    }
  }

  async untilText(testId: string, words: string | RegExp): Promise<void> {
    await this.page
      .getByTestId(testId)
      .filter({ hasText: words })
      .first()
      .waitFor({ state: 'attached', timeout: PATIENCE_MS });
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

  /** Mean brightness of the picture and how much it varies, 0 to 255. */
  brightness(): Promise<{ readonly mean: number; readonly spread: number }> {
    return this.get('video').evaluate((video) => {
      const copy = document.createElement('canvas');
      copy.width = 64;
      copy.height = 36;
      const context = copy.getContext('2d', { willReadFrequently: true });
      context?.drawImage(video as HTMLCanvasElement, 0, 0, 64, 36);
      const pixels = context?.getImageData(0, 0, 64, 36).data ?? [];
      const greens = Array.from(pixels).filter((_, index) => index % 4 === 1);
      const mean = greens.reduce((sum, green) => sum + green, 0) / greens.length;
      const variance = greens.reduce((sum, green) => sum + (green - mean) ** 2, 0) / greens.length;
      return { mean, spread: Math.sqrt(variance) };
    });
  }
}
