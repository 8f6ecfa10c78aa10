/** The television page as a person sees it: what a test reads from it, whoever serves it. */

import { PageView } from '../page-view';

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

  /** From opening the page to its first picture, as the page measured it. */
  async openedMs(): Promise<number> {
    return Number(await this.get('video').getAttribute('data-opened-ms'));
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
