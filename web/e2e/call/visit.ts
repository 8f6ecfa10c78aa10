/** Two people in one Chromium with invented devices, each with a mock agent. */

import type { BrowserContextOptions, Page } from 'playwright-core';
import { MockAgent } from '../../mock/call';
import type { CallRequest } from '../../src/call/protocol/requests';
import { openBrowser, type TestBrowser } from '../browser';
import { PageView } from '../page-view';
import { LAPTOP } from '../visit';
import { listenAtLoudspeaker } from './ear';

const LINK = 'anabranch://192.0.2.5:9000?key=Kx3JwqkM0b1kL8u0q2dT4zv6nE7cYh9sRfWgPiUoQyA';

/** A camera with a clock and a microphone that beeps; the browser asks nobody. */
export const FAKE = ['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream'];

/** What is heard during half a second: how loud, from 0 to 1, and its strongest tone. */
export interface Heard {
  readonly peak: number;
  readonly hz: number;
}

/** The page of a call, whoever its agent is. */
export class CallPage extends PageView {
  /** Pictures of the other end shown so far. */
  async shown(): Promise<number> {
    return Number(await this.get('video').getAttribute('data-shown'));
  }

  override async morePictures(count: number): Promise<void> {
    const before = await this.shown();
    await this.until(async () => (await this.shown()) >= before + count);
  }

  /**
   * Waits until the digits change on the clock in the other end's picture, which the browser's
   * invented camera draws at its top.
   */
  async clockRuns(): Promise<void> {
    const before = await this.#digits();
    await this.until(async () => (await this.#digits()) !== before);
  }

  /** The place of the digits, a letter for each bright or dark part of it. */
  #digits(): Promise<string> {
    return this.get('video').evaluate((video) => {
      const { width, height } = video as HTMLCanvasElement;
      const copy = document.createElement('canvas');
      copy.width = 160;
      copy.height = 16;
      const context = copy.getContext('2d', { willReadFrequently: true });
      const place = [0.08 * width, 0.03 * height, 0.3 * width, 0.08 * height] as const;
      context?.drawImage(video as HTMLCanvasElement, ...place, 0, 0, 160, 16);
      const pixels = context?.getImageData(0, 0, 160, 16).data ?? [];
      const greens = Array.from(pixels).filter((_, index) => index % 4 === 1);
      return greens.map((green) => (green > 160 ? '#' : '.')).join('');
    });
  }

  async write(text: string): Promise<void> {
    await this.get('write').fill(text);
    await this.get('send').click();
  }

  /** The loudest that comes out of the loudspeaker within a second. */
  heard(): Promise<Heard> {
    return this.page.evaluate(() => window.heard(1_000));
  }
}

export class CallView extends CallPage {
  readonly agent: MockAgent;

  constructor(page: Page, agent: MockAgent) {
    super(page);
    this.agent = agent;
  }

  /** Units of a track that the page sent. */
  sent(track: 'video' | 'audio') {
    return this.agent.units.filter((unit) => unit.track === track);
  }

  /** Waits until the page has sent so many more of these than before this was done. */
  async sends(
    track: 'video' | 'audio',
    role: string,
    count = 1,
    act: () => Promise<unknown> = async () => {},
  ): Promise<void> {
    const sent = () => this.sent(track).filter((unit) => unit.role === role).length;
    const before = sent();
    await act();
    await this.until(() => sent() >= before + count);
  }

  /** Waits for a request that matches, and returns it. */
  async request<T extends CallRequest['type']>(
    type: T,
    matches: (request: Extract<CallRequest, { type: T }>) => boolean = () => true,
  ): Promise<Extract<CallRequest, { type: T }>> {
    const found = () =>
      this.agent.requests.findLast(
        (request): request is Extract<CallRequest, { type: T }> =>
          request.type === type && matches(request as Extract<CallRequest, { type: T }>),
      );
    await this.until(() => found() !== undefined);
    return found() as Extract<CallRequest, { type: T }>;
  }

  /** Waits until the page has said this of its devices. */
  async devices(microphone: string, camera: string): Promise<void> {
    await this.until(() => {
      const said = this.agent.requests.findLast(({ type }) => type === 'devices');
      return said?.type === 'devices' && said.microphone === microphone && said.camera === camera;
    });
  }
}

export class CallVisit {
  alice: CallView;
  readonly bob: CallView;
  readonly #browser: TestBrowser;

  static async start(
    look: BrowserContextOptions = {},
    flags: readonly string[] = FAKE,
  ): Promise<CallVisit> {
    const agents = [await MockAgent.start('Alice', LINK), await MockAgent.start('Bob', null)];
    const browser = await openBrowser({ viewport: LAPTOP, ...look }, flags);
    await browser.context.addInitScript(listenAtLoudspeaker);
    const views: CallView[] = [];
    for (const agent of agents) {
      const view = new CallView(await browser.context.newPage(), agent);
      await view.page.goto(agent.url);
      views.push(view);
    }
    return new CallVisit(browser, views as [CallView, CallView]);
  }

  private constructor(browser: TestBrowser, [alice, bob]: [CallView, CallView]) {
    this.#browser = browser;
    this.alice = alice;
    this.bob = bob;
  }

  /** Both have their devices, and are in a call. */
  async call(): Promise<void> {
    for (const view of [this.alice, this.bob]) {
      await view.devices('on', 'on');
    }
    this.bob.agent.call(this.alice.agent);
    await this.alice.untilText('status', 'In a call');
  }

  /** A page in the foreground: one behind another draws nothing. */
  async look(view: CallView): Promise<void> {
    await view.page.bringToFront();
  }

  async open(agent: MockAgent): Promise<CallView> {
    const view = new CallView(await this.#browser.context.newPage(), agent);
    await view.page.goto(agent.url);
    return view;
  }

  async end(): Promise<void> {
    await this.#browser.close();
    await this.alice.agent.stop();
    await this.bob.agent.stop();
  }
}
