/**
 * Chromium's data channels against our SCTP: the example `echo` of `crates/rtc`.
 *
 * Chromium sends no checks from loopback addresses, so the machine needs another one. That it hides
 * those behind names of mDNS does not matter: a lite agent learns where it is from its checks.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openBrowser, type TestBrowser } from './browser';
import { reachable } from './network';

const MESSAGE = 16_384;

/** What Chromium offers of RFC 8260 is behind a field trial. */
const BROWSERS = [
  { name: 'Chromium', format: 'DATA', flags: [] },
  {
    name: 'Chromium whose messages interleave',
    format: 'I-DATA',
    flags: ['--force-fieldtrials=WebRTC-DataChannelMessageInterleaving/Enabled/'],
  },
];

describe.each(BROWSERS)('data channels of $name', ({ format, flags }) => {
  let browser: TestBrowser;
  let server: Echo;
  let page: Page;

  beforeAll(async () => {
    expect(reachable(), 'Chromium needs an address beside loopback: add a veth pair').toBe(true);
    browser = await openBrowser({}, flags);
  });
  beforeEach(async () => {
    server = new Echo();
    page = await browser.context.newPage();
    await page.goto(await server.url());
    await page.evaluate(installClient);
  });
  afterEach(async () => {
    await page.close();
    await server.stop();
  });
  afterAll(async () => {
    await browser.close();
  });

  it('carries ordered messages of 16 KiB both ways, and empty ones', async () => {
    const echoed = await page.evaluate(async (size) => {
      const client = await window.connect();
      const channel = await client.open('ordered');
      const sent = Array.from({ length: 50 }, (_, n) => new Uint8Array(size).fill(n));
      for (const bytes of sent) {
        channel.send(bytes);
      }
      channel.send('');
      channel.send('text');
      const received = await client.messages(channel, 52);
      const numbers = received.slice(0, 50).map((bytes) => new Uint8Array(bytes as ArrayBuffer));
      client.close();
      return {
        inOrder: numbers.every((bytes, n) => bytes.length === size && bytes.every((b) => b === n)),
        rest: received.slice(50),
      };
    }, MESSAGE);
    expect(echoed).toEqual({ inOrder: true, rest: ['', 'text'] });
  });

  it('agrees on how messages are carried', async () => {
    const told = await page.evaluate(async () => {
      const client = await window.connect();
      const channel = await client.open('format');
      channel.send('format');
      const received = await client.messages(channel, 1);
      client.close();
      return received;
    });
    expect(told).toEqual([format]);
  });

  it('does not notice the marks of importance that it is offered', async () => {
    const levels = await page.evaluate(async () => {
      const client = await window.connect();
      const channel = await client.open('levels');
      channel.send('levels 40');
      const received = await client.messages(channel, 41);
      const pieces = received.slice(0, 40).map((bytes) => new Uint8Array(bytes as ArrayBuffer));
      for (const bytes of pieces) {
        channel.send(bytes);
      }
      const echoed = (await client.messages(channel, 40)) as ArrayBuffer[];
      client.close();
      const numbers = (all: readonly Uint8Array[]) =>
        all.map((bytes) => (bytes.every((byte) => byte === bytes[0]) ? bytes[0] : undefined));
      return {
        marks: received[40],
        received: numbers(pieces),
        sizes: [...new Set(pieces.map((bytes) => bytes.length))],
        echoed: numbers(echoed.map((bytes) => new Uint8Array(bytes))),
      };
    });
    const all = Array.from({ length: 40 }, (_, n) => n);
    expect(levels).toEqual({
      marks: 'offered: true, agreed: false',
      received: all,
      sizes: [MESSAGE],
      echoed: all,
    });
  });

  it('carries unordered and partially reliable messages', async () => {
    const numbers = await page.evaluate(async (size) => {
      const client = await window.connect();
      const channel = await client.open('partial', { ordered: false, maxRetransmits: 3 });
      channel.send('burst 60');
      const received = await client.messages(channel, 60);
      client.close();
      return received
        .map((bytes) => new Uint8Array(bytes as ArrayBuffer))
        .map((bytes) => (bytes.length === size ? bytes[0] : -1))
        .sort((one, other) => (one ?? 0) - (other ?? 0));
    }, MESSAGE);
    expect(numbers).toEqual(Array.from({ length: 60 }, (_, n) => n));
  });

  it('opens and closes channels on either side', async () => {
    const told = await page.evaluate(async () => {
      const client = await window.connect();
      const first = await client.open('first');
      const theirs = client.next<RTCDataChannelEvent>('datachannel');
      first.send('open from the server');
      const { channel } = await theirs;
      const [hello] = await client.messages(channel, 1);
      const closedByServer = new Promise((done) => first.addEventListener('close', done));
      first.send('close');
      await closedByServer;
      const closedByUs = new Promise((done) => channel.addEventListener('close', done));
      channel.close();
      await closedByUs;
      // The streams of both serve new channels.
      const again = await client.open('again');
      again.send('still there');
      const [answer] = await client.messages(again, 1);
      client.close();
      const { label, ordered, maxRetransmits } = channel;
      return { label, ordered, maxRetransmits, hello, answer, sameStream: again.id === first.id };
    });
    expect(told).toEqual({
      label: 'from the server',
      ordered: false,
      maxRetransmits: 0,
      hello: 'hello',
      answer: 'still there',
      sameStream: true,
    });
  });

  it('hangs up on DELETE, and notices a page that leaves', async () => {
    const state = await page.evaluate(async () => {
      const client = await window.connect();
      const channel = await client.open('chat');
      const closed = new Promise((done) => channel.addEventListener('close', done));
      const answered = await fetch(client.location, { method: 'DELETE' });
      await closed;
      return answered.status;
    });
    expect(state).toBe(204);
    await server.line(/the server closed the connection/);
    await page.evaluate(async () => {
      const client = await window.connect();
      await client.open('chat');
    });
    await page.goto('about:blank');
    await server.line(/connection 1: (the browser|the peer)/);
  });

  it('connects anew after the server was started again', async () => {
    await page.evaluate(async () => {
      window.before = await window.connect();
      await window.before.open('chat');
    });
    const port = new URL(await server.url()).port;
    await server.stop();
    server = new Echo(port);
    await server.url();
    const answer = await page.evaluate(async () => {
      window.before.close();
      const client = await window.connect();
      const channel = await client.open('chat');
      channel.send('back');
      const [answer] = await client.messages(channel, 1);
      client.close();
      return answer;
    });
    expect(answer).toBe('back');
  });

  it('is told in words why an offer is refused', async () => {
    const refused = await page.evaluate(async () => {
      const answered = await fetch('/channels', { method: 'POST', body: 'v=0' });
      return `${answered.status} ${await answered.text()}`;
    });
    expect(refused).toMatch(/^400 the offer has no line `m=application/);
  });
});

/** What a page does with our server. */
interface Client {
  readonly location: string;
  open(label: string, options?: RTCDataChannelInit): Promise<RTCDataChannel>;
  /** The next messages of a channel. */
  messages(channel: RTCDataChannel, count: number): Promise<(string | ArrayBuffer)[]>;
  next<T>(event: string): Promise<T>;
  close(): void;
}

declare global {
  interface Window {
    connect(): Promise<Client>;
    before: Client;
  }
}

/** Runs in the page. */
function installClient(): void {
  const queues = new Map<RTCDataChannel, (string | ArrayBuffer)[]>();
  const listen = (channel: RTCDataChannel) => {
    channel.binaryType = 'arraybuffer';
    queues.set(channel, []);
    channel.addEventListener('message', ({ data }) => queues.get(channel)?.push(data));
  };
  window.connect = async () => {
    const connection = new RTCPeerConnection();
    connection.addEventListener('datachannel', ({ channel }) => listen(channel));
    // Without a channel there is no section for them in the offer.
    connection.createDataChannel('first', { negotiated: true, id: 200 });
    await connection.setLocalDescription();
    const body = connection.localDescription?.sdp ?? '';
    const answered = await fetch('/channels', { method: 'POST', body });
    if (answered.status !== 201) {
      throw new Error(await answered.text());
    }
    await connection.setRemoteDescription({ type: 'answer', sdp: await answered.text() });
    return {
      location: answered.headers.get('location') ?? '',
      open: async (label, options = {}) => {
        const channel = connection.createDataChannel(label, options);
        listen(channel);
        await new Promise((done) => channel.addEventListener('open', done));
        return channel;
      },
      messages: async (channel, count) => {
        const queue = queues.get(channel) ?? [];
        while (queue.length < count) {
          await new Promise((done) => setTimeout(done, 5));
        }
        return queue.splice(0, count);
      },
      next: (event) =>
        new Promise((done) => connection.addEventListener(event, (told) => done(told as never))),
      close: () => connection.close(),
    };
  };
}

/** The running example. */
class Echo {
  readonly #process: ChildProcess;
  #printed = '';

  constructor(port = '0') {
    this.#process = spawn(executable(), [port], { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#process.stdout?.on('data', (data) => {
      this.#printed += String(data);
    });
  }

  url(): Promise<string> {
    return this.line(/^http:\/\/127\.0\.0\.1:\d+\/$/m);
  }

  async line(pattern: RegExp): Promise<string> {
    for (;;) {
      const found = pattern.exec(this.#printed);
      if (found !== null) {
        return found[0];
      }
      if (this.#process.exitCode !== null) {
        throw new Error(`${pattern} was not printed:\n${this.#printed}`);
      }
      await new Promise((done) => setTimeout(done, 20));
    }
  }

  async stop(): Promise<void> {
    const ended = new Promise((done) => this.#process.once('exit', done));
    this.#process.kill('SIGKILL');
    await ended;
  }
}

/** `ANABRANCH_ECHO`, or else the newest build. */
function executable(): string {
  if (process.env.ANABRANCH_ECHO !== undefined) {
    return process.env.ANABRANCH_ECHO;
  }
  const builds = ['release', 'debug'].map((profile) =>
    fileURLToPath(new URL(`../../target/${profile}/examples/echo`, import.meta.url)),
  );
  const age = (path: string) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const [newest = ''] = builds.sort((one, other) => age(other) - age(one));
  if (age(newest) === 0) {
    throw new Error('there is no echo: cargo build -p anabranch-rtc --example echo');
  }
  return newest;
}
