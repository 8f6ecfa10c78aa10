/** The page as a person sees it: what a test reads from it, whoever serves it. */

import type { Locator, Page } from 'playwright-core';

const PATIENCE_MS = 30_000;

export class PageView {
  readonly page: Page;
  /** What the browser complained about. */
  readonly complaints: string[] = [];

  constructor(page: Page) {
    this.page = page;
    page.on('pageerror', (error) => this.complaints.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') {
        this.complaints.push(message.text());
      }
    });
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

  /** Mean brightness of a picture and how much it varies, 0 to 255. */
  brightness(testId = 'video'): Promise<{ readonly mean: number; readonly spread: number }> {
    return this.get(testId).evaluate((video) => {
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
