/** Serves the built television page, and a studio in a page of the same browser. */

import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BrowserContext, Page } from 'playwright-core';
import { type Clip, type ClipUnit, readClip } from '../../mock/clip';
import { defaultClip } from '../../mock/default-clip';
import { broadcast } from '../transport-stream';
import { installStudio, type StudioChannel, type StudioClip, type StudioUnit } from './studio';

const DIST = fileURLToPath(new URL('../../dist', import.meta.url));

const HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "worker-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
};

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
};

const FLAG_LAST_LAYER = 0x20;
const CLASS = { keyFrame: 1, audio: 2, reference: 3, disposable: 5 };

export class Broadcaster {
  readonly #clips = [readClip(defaultClip()), broadcast()];
  readonly #http: Server;
  readonly #context: BrowserContext;
  #studio: Page | null = null;
  #next = 0;
  /** Answers offers with this status and text. */
  refuse: { readonly status: number; readonly text: string } | null = null;

  static async start(context: BrowserContext): Promise<Broadcaster> {
    const server = new Broadcaster(context);
    await new Promise<void>((done) => server.#http.listen(0, '127.0.0.1', () => done()));
    await server.open();
    return server;
  }

  private constructor(context: BrowserContext) {
    this.#context = context;
    this.#http = createServer((request, response) => void this.#serve(request, response));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}/`;
  }

  get studio(): Page {
    if (this.#studio === null) {
      throw new Error('the studio is closed');
    }
    return this.#studio;
  }

  /** The urgent messages that pages acknowledged. */
  async seen(): Promise<readonly number[]> {
    const heard = await this.studio.evaluate(() => window.studio.heard());
    return heard.flatMap(({ type, id }) => (type === 'seen' && id !== undefined ? [id] : []));
  }

  /** The studio begins to send. */
  async open(): Promise<void> {
    const page = await this.#context.newPage();
    await page.goto(`${this.url}studio`);
    await page.evaluate(installStudio, {
      channels: CHANNELS,
      clips: this.#clips.map(studioClip),
      media: this.#clips.map((_, index) => `/media/${index}`),
    });
    this.#studio = page;
  }

  /** The studio dies without a word. */
  async close(): Promise<void> {
    const page = this.#studio;
    this.#studio = null;
    await page?.close();
  }

  async stop(): Promise<void> {
    await this.close();
    this.#http.closeAllConnections();
    await new Promise((done) => this.#http.close(done));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = request.url ?? '/';
    if (url.startsWith('/whep')) {
      await this.#whep(request, response);
      return;
    }
    const clip = this.#clips[Number(/^\/media\/(\d)$/.exec(url)?.[1] ?? -1)];
    if (clip !== undefined) {
      response.writeHead(200).end(Buffer.concat(clip.units.map(({ bytes }) => bytes)));
      return;
    }
    await serveFile(url, response);
  }

  async #whep(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.refuse !== null) {
      response.writeHead(this.refuse.status).end(this.refuse.text);
    } else if (this.#studio === null) {
      request.socket.destroy();
    } else if (request.method === 'DELETE') {
      const id = Number(request.url?.split('/').at(-1));
      await this.#studio.evaluate((id) => window.studio.hangUp(id), id);
      response.writeHead(204).end();
    } else {
      const id = this.#next++;
      const offer = String(Buffer.concat(await request.toArray()));
      const answer = await this.#studio.evaluate(([id, offer]) => window.studio.accept(id, offer), [
        id,
        offer,
      ] as const);
      response.writeHead(201, { location: `/whep/${id}`, 'content-type': 'application/sdp' });
      response.end(answer);
    }
  }
}

async function serveFile(url: string, response: ServerResponse): Promise<void> {
  const path = normalize(url.split('?')[0] ?? '/');
  if (path === '/studio') {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>x</title>');
    return;
  }
  const file = path === '/' || path.startsWith('/embed/') ? 'tv.html' : path;
  try {
    const contents = await readFile(join(DIST, file));
    response.writeHead(200, { ...HEADERS, 'content-type': TYPES[extname(file)] ?? '' });
    response.end(contents);
  } catch {
    response.writeHead(404, HEADERS).end();
  }
}

function studioClip(clip: Clip): StudioClip {
  let at = 0;
  const units = clip.units.map((unit, index): StudioUnit => {
    at += unit.bytes.length;
    return {
      track: unit.track === 'video' ? 0 : 1,
      layer: unit.layer,
      flags: flagsOf(unit, clip.units[index + 1]),
      frame: unit.frame,
      ptsUs: unit.ptsUs,
      dtsUs: unit.dtsUs,
      start: at - unit.bytes.length,
      end: at,
    };
  });
  const { width, height, fps, channels } = clip;
  return {
    durationUs: clip.durationUs,
    video: { codec: clip.videoCodec, format: clip.videoFormat, width, height, fps },
    audio: {
      codec: clip.audioCodec,
      format: clip.audioFormat,
      sample_rate: clip.sampleRate,
      channels,
    },
    units,
  };
}

function flagsOf(unit: ClipUnit, next: ClipUnit | undefined): number {
  const isRefined = next?.track === unit.track && next.layer === unit.layer + 1;
  const picture = unit.reference ? CLASS.reference : CLASS.disposable;
  const keyOr = unit.key ? CLASS.keyFrame : picture;
  return (unit.track === 'audio' ? CLASS.audio : keyOr) | (isRefined ? 0 : FLAG_LAST_LAYER);
}

const YES = { is: 'yes' };

export const CHANNELS: readonly StudioChannel[] = [
  channel(1, 'Big Buck Bunny', 'Films', 0, ['Big Buck Bunny', 'Sintel']),
  channel(2, 'Test card', 'Service', 1, ['Colours and clock', null]),
  channel(3, 'Bunny +1', 'Films', 0, ['The same, a little later', 'Big Buck Bunny']),
  channel(4, 'City camera', 'Service', null, [null, null], YES, false),
  channel(5, 'Old encoder', 'Service', null, [null, null], {
    is: 'no',
    text: 'its picture is MPEG-2, which browsers do not decode',
  }),
  channel(12, 'Parliament', 'News', 1, ['Debate on rivers', 'Question time']),
];

function channel(
  number: number,
  name: string,
  group: string,
  clip: number | null,
  [now, next]: readonly [string | null, string | null],
  playable: object = YES,
  on_air = true,
): StudioChannel {
  const entry = {
    ...{ id: 100 + number, number, name, group, on_air, playable, programme: { now, next } },
  };
  return { entry, clip, shiftUs: number * 700_000 };
}
