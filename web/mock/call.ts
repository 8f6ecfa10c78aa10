/**
 * Two agents of a call without networks between them: what a page sends is played out at the other
 * one at its time, but for what is lost. Speaks docs/call.md.
 */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import type { CallState, Device, Media } from '../src/call/protocol/agent';
import { decodeSentUnit, encodeCallUnit, type SentUnit } from '../src/call/protocol/media';
import type { CallRequest } from '../src/call/protocol/requests';
import { PlayoutClock } from '../src/media/playout-clock';
import { CallNetworks } from './call-networks';
import { servePage } from './serve';

/** How much later than at once voice is played out. */
const TARGET_US = 60_000;
/** So long before its time voice goes to the page. */
const EARLY_US = 30_000;
const STATS_MS = 200;
const TAKEN = 'The call is open in another tab or window of this machine.';

export class MockAgent {
  readonly networks = new CallNetworks();
  /** Every request of the page, in order. */
  readonly requests: CallRequest[] = [];
  /** Every unit of the page, in order, with the length of its payload instead of it. */
  readonly units: (Omit<SentUnit, 'payload'> & { readonly bytes: number })[] = [];
  /** What of the peer's media does not come. */
  lose: (unit: SentUnit) => boolean = () => false;
  /** What is added to the time at which voice is due, µs. */
  laterUs = 0;
  peer: MockAgent | null = null;
  media: Media = { voice: null, video: null, microphone: 'none', camera: 'none' };
  /** What the page may send. */
  encode = { video_bps: 850_000, voice_bps: 32_000, why: 'The networks carry 1.2 Mbit/s.' };
  readonly #name: string;
  readonly #link: string | null;
  readonly #http: Server;
  readonly #sockets: WebSocketServer;
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #startMs = performance.now();
  #socket: WebSocket | null = null;
  #texts: object[] = [];
  /** What the other end's page is told that ours takes. */
  takes = { text: true, files: true };
  #clock = new PlayoutClock(Number.POSITIVE_INFINITY);
  #state: CallState;
  /** Pictures after a lost one are of no use before a key picture. */
  #waitsForKey = false;

  static async start(name: string, link: string | null, port = 0): Promise<MockAgent> {
    const agent = new MockAgent(name, link);
    await new Promise<void>((done) => agent.#http.listen(port, '127.0.0.1', () => done()));
    return agent;
  }

  private constructor(name: string, link: string | null) {
    this.#name = name;
    this.#link = link;
    this.#state = this.#idle();
    this.#http = createServer(
      (request, response) => void servePage('call.html', request, response),
    );
    this.#sockets = new WebSocketServer({ server: this.#http, path: '/mock/socket' });
    this.#sockets.on('connection', (socket) => this.#greet(socket));
    this.#timers.add(setInterval(() => this.say(this.#stats()), STATS_MS));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}/mock/`;
  }

  get nowUs(): number {
    return Math.round((performance.now() - this.#startMs) * 1_000) + 1_000_000;
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) {
      clearInterval(timer);
    }
    this.dropPage();
    await new Promise((done) => this.#http.close(done));
  }

  /** Cuts the connections to all pages, as a program that dies does. */
  dropPage(): void {
    for (const socket of this.#sockets.clients) {
      socket.terminate();
    }
  }

  /** The program ends in good order. */
  bye(): void {
    this.say({ type: 'bye', text: 'The program has ended.' });
    this.#socket?.close(1000);
  }

  say(message: object): void {
    if (this.#socket !== null) {
      this.#socket.send(JSON.stringify(message));
    }
  }

  /** Connects two agents: both are in a call. */
  call(peer: MockAgent): void {
    for (const [us, them] of [
      [this, peer],
      [peer, this],
    ] as const) {
      us.peer = them;
      us.#clock = new PlayoutClock(Number.POSITIVE_INFINITY);
      us.#waitsForKey = false;
      us.#enter('in_call', `In a call with ${them.#name}.`);
      us.#texts = [];
      us.setEncode(us.encode);
      us.#sayExchange();
      us.event('good', 'call_state', `In a call with ${them.#name}.`);
    }
  }

  setEncode(encode: MockAgent['encode']): void {
    this.encode = encode;
    this.say({ type: 'encode', ...encode });
  }

  /** All networks are gone, or back. */
  setNetwork(stands: boolean): void {
    if (stands) {
      this.#enter('in_call', `In a call with ${this.peer === null ? '' : this.peer.#name}.`);
    } else {
      this.#enter(
        'no_path',
        'Nothing heard for 3 s; the call ends in 27 s unless a network comes back.',
      );
    }
  }

  event(severity: string, kind: string, text: string, path: number | null = null): void {
    this.say(this.networks.event(this.nowUs, severity, kind, text, path));
  }

  #idle(): CallState {
    const text =
      this.#link === null ? 'Calling 192.0.2.5:9000.' : 'Waiting for a call on port 9000.';
    const state = this.#link === null ? 'calling' : 'waiting';
    return { state, text, since_us: 1_000_000, peer: null, listeners: null, why: null };
  }

  #enter(state: CallState['state'], text: string, why: string | null = null): void {
    const isCall = state === 'in_call' || state === 'no_path';
    const { peer } = this;
    const program = 'anabranch 0.1.0';
    const began = isCall && this.#state.peer !== null;
    this.#state = {
      state,
      text,
      since_us: began ? this.#state.since_us : this.nowUs,
      peer:
        peer === null || !isCall
          ? null
          : { name: peer.#name, program, key: 'mB0c9sRfWgPiUoQy', media: peer.media },
      listeners: isCall
        ? { is: 'nobody', text: 'Nobody can listen: the call is encrypted from end to end.' }
        : null,
      why,
    };
    this.say({ type: 'state', ...this.#state });
  }

  #greet(socket: WebSocket): void {
    if (this.#socket !== null) {
      socket.send(JSON.stringify({ type: 'taken', text: TAKEN }));
      socket.close(4000);
      return;
    }
    this.#socket = socket;
    socket.on('close', () => {
      this.#socket = null;
    });
    socket.on('message', (data, isBinary) => {
      if (isBinary) {
        this.#onUnit(decodeSentUnit(new Uint8Array(data as Buffer)));
      } else {
        this.#onRequest(JSON.parse(String(data)));
      }
    });
    this.say({
      type: 'hello',
      protocol: 1,
      program: 'anabranch 0.1.0',
      mode: 'call',
      now_us: this.nowUs,
      name: this.#name,
      link: this.#link,
      page_sends: { voice: true, video: true },
      page_plays: true,
    });
    for (const event of this.networks.events.slice(-50)) {
      this.say(event);
    }
    this.say({ type: 'state', ...this.#state });
    if (this.peer !== null) {
      this.#sayExchange();
    }
    this.say({
      type: 'encode',
      ...(this.peer === null ? { ...this.encode, video_bps: 0 } : this.encode),
    });
  }

  #onRequest(request: CallRequest): void {
    this.requests.push(request);
    switch (request.type) {
      case 'devices':
        this.#tellPeer({ microphone: request.microphone, camera: request.camera });
        return;
      case 'sending':
        this.#tellPeer({ voice: request.voice, video: request.video });
        return;
      case 'want_key':
        this.peer?.say({ type: 'key_wanted' });
        return;
      case 'hang_up':
        this.#hangUp();
        return;
      case 'page_stats':
        return;
      case 'text':
        this.#write(request.text);
        return;
      case 'offer_file':
      case 'withdraw_file':
        // Nothing is carried here but words.
        return;
      default:
        for (const answer of this.networks.obey(request, this.nowUs)) {
          this.say(answer);
        }
    }
  }

  #tellPeer(change: Partial<Media> & { microphone?: Device }): void {
    this.media = { ...this.media, ...change };
    const { peer } = this;
    if (peer !== null && peer.#state.peer !== null) {
      peer.#enter(peer.#state.state, peer.#state.text);
    }
  }

  #sayExchange(): void {
    const you = this.#link === null ? 1 : 2;
    const takes = this.peer?.takes ?? this.takes;
    this.say({ type: 'exchange', you, takes, texts: this.#texts, files: [] });
  }

  #write(text: string): void {
    const member = this.#link === null ? 1 : 2;
    for (const agent of this.peer === null ? [] : [this, this.peer]) {
      const line = { name: this.#name, member, at_us: agent.nowUs, text };
      agent.#texts.push(line);
      agent.say({ type: 'text', ...line });
    }
  }

  #hangUp(): void {
    const { peer } = this;
    this.peer = null;
    this.#enter('ended', 'You hung up.', 'hung_up');
    this.event('info', 'call_state', 'You hung up.');
    if (peer !== null) {
      peer.peer = null;
      peer.#enter('ended', `${this.#name} hung up.`, 'peer_hung_up');
      peer.event('info', 'call_state', `${this.#name} hung up.`);
    }
  }

  #onUnit(unit: SentUnit): void {
    const { payload, ...described } = unit;
    this.units.push({ ...described, bytes: payload.length });
    this.peer?.receive(unit);
  }

  /** What the peer's page sent goes to ours at its time, unless it is lost. */
  receive(unit: SentUnit): void {
    this.#clock.sample(this.nowUs, unit.ptsUs);
    this.#clock.settle();
    const playAtUs = unit.ptsUs + this.#clock.offsetUs + TARGET_US + this.laterUs;
    const isLost = this.lose(unit);
    if (unit.track === 'video') {
      this.#receivePicture(unit, playAtUs, isLost);
      return;
    }
    const waitMs = (playAtUs - EARLY_US - this.nowUs) / 1_000;
    this.networks.voice[isLost ? 'concealed' : 'heard'] += 1;
    this.#after(waitMs, () => this.#forward(unit, playAtUs, isLost));
  }

  #receivePicture(unit: SentUnit, playAtUs: number, isLost: boolean): void {
    this.#waitsForKey &&= unit.role !== 'key';
    if (isLost && unit.role !== 'disposable') {
      this.#waitsForKey = true;
      this.peer?.say({ type: 'key_wanted' });
    }
    this.networks.video[isLost ? 'lost' : 'shown'] += 1;
    if (!isLost && !this.#waitsForKey) {
      this.#forward(unit, playAtUs, false);
    }
  }

  #forward({ track, role, frame, ptsUs, payload }: SentUnit, playAtUs: number, conceal: boolean) {
    this.#socket?.send(
      encodeCallUnit({
        track,
        layer: 0,
        key: role === 'key',
        reference: role === 'reference',
        disposable: role === 'disposable',
        discontinuity: false,
        last: true,
        frame,
        ptsUs,
        playAtUs,
        delayMs: null,
        payload: conceal ? new Uint8Array(0) : payload,
        conceal,
      }),
    );
  }

  #after(waitMs: number, act: () => void): void {
    const timer = setTimeout(
      () => {
        this.#timers.delete(timer);
        act();
      },
      Math.max(0, waitMs),
    );
    this.#timers.add(timer);
  }

  #stats(): object {
    return this.networks.stats(this.nowUs, this.#state.state, this.encode);
  }
}
