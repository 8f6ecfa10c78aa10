/** The files of a room or a call in its worker: those that this page has and those that it gets. */

import { type ExchangeRequest, FILE_BYTES_MAX, type FileEntry } from '../protocol';
import { decodeFileMessage, encodeWant, type FileMessage } from './blocks';
import { Download } from './download';
import type { PartStore } from './kept-parts';
import { OwnFiles } from './own-files';

/** Bytes that wait in the channel of files, from which on nobody is answered. */
const QUEUED_MAX = 128 << 10;
/** Blocks that all others may be waiting for. */
const WISHES_MAX = 15 * 256;

/** How far a file is that this page gets. */
export interface Progress {
  readonly sha256: string;
  readonly bytes: number;
  readonly state: 'running' | 'done' | 'wrong';
}

export interface FilesReport {
  /** What is read to be offered. */
  readonly reading: { readonly name: string; readonly share: number } | null;
  readonly progress: readonly Progress[];
}

export interface DeskUser {
  say(message: ExchangeRequest): void;
  send(message: Uint8Array<ArrayBuffer>): void;
  queuedBytes(): number;
  /** A file is here, whole and right. */
  onWhole(name: string, blob: Blob): void;
  onProblem(text: string): void;
}

/** A download, and the file that somebody chose. */
interface Getting {
  readonly download: Download;
  readonly chosen: number;
}

export class FileDesk {
  readonly #user: DeskUser;
  readonly #own: OwnFiles;
  readonly #entries = new Map<number, FileEntry>();
  /** By what they are of: who has it may be somebody else by now. */
  readonly #downloads = new Map<string, Getting>();
  readonly #parts: PartStore;
  /** What the page was getting before it was opened anew, and nobody has offered since. */
  readonly #begun: Promise<Map<string, readonly Blob[]>>;
  #wishes: FileMessage[] = [];
  #you = 0;
  #isIn = false;

  constructor(user: DeskUser, parts: PartStore) {
    this.#user = user;
    this.#parts = parts;
    this.#begun = parts.begun().then((begun) => new Map(begun));
    this.#own = new OwnFiles({
      onOffer: (own) => {
        if (this.#isIn) {
          this.#offer(own.file, own.sha256);
        }
      },
      onBlock: (message) => user.send(message),
      onProblem: (text) => user.onProblem(text),
    });
  }

  /** The connection is another one: what was under way does not come. */
  onWelcome(you: number, files: readonly FileEntry[], nowMs: number): void {
    [this.#you, this.#isIn, this.#wishes] = [you, true, []];
    this.#entries.clear();
    for (const entry of files) {
      this.#entries.set(entry.file, entry);
    }
    for (const { file, sha256 } of this.#own.all) {
      if (!files.some((entry) => entry.member === you && entry.sha256 === sha256)) {
        this.#offer(file, sha256);
      }
    }
    for (const { download } of this.#downloads.values()) {
      download.restart(nowMs);
    }
    for (const entry of files) {
      void this.#goOn(entry, nowMs);
    }
  }

  onLost(): void {
    [this.#isIn, this.#wishes] = [false, []];
  }

  onFile(entry: FileEntry, nowMs: number): void {
    this.#entries.set(entry.file, entry);
    void this.#goOn(entry, nowMs);
  }

  onGone(file: number): void {
    this.#entries.delete(file);
  }

  onLeft(member: number): void {
    for (const entry of [...this.#entries.values()].filter((it) => it.member === member)) {
      this.#entries.delete(entry.file);
    }
  }

  /** Has these for the others from now on. */
  add(files: readonly File[]): void {
    for (const { name } of files.filter(({ size }) => size > FILE_BYTES_MAX)) {
      this.#user.onProblem(`${name} is too large: a file has 4 GiB at most.`);
    }
    for (const { name } of files.filter(({ size }) => size === 0)) {
      this.#user.onProblem(`${name} is empty: there is nothing to offer.`);
    }
    this.#own.add(files.filter(({ size }) => size > 0 && size <= FILE_BYTES_MAX));
  }

  /** Has one of its own no longer. */
  withdraw(file: number): void {
    const entry = this.#entries.get(file);
    if (entry !== undefined) {
      this.#own.remove(entry.sha256);
      this.#user.say({ type: 'withdraw_file', file });
    }
  }

  /** Gets a file, from the first byte on, unless it is here. */
  get(file: number, nowMs: number): void {
    const entry = this.#entries.get(file);
    if (entry === undefined) {
      return;
    }
    const state = this.#downloads.get(entry.sha256)?.download.state;
    if (state?.is === 'done') {
      this.#user.onWhole(entry.name, state.blob);
      return;
    }
    this.#parts.forget(entry.sha256);
    this.#parts.begin(entry.sha256);
    this.#download(entry, nowMs);
    this.poll(nowMs);
  }

  /** Gets it no longer. */
  stop(sha256: string): void {
    this.#downloads.delete(sha256);
    this.#parts.forget(sha256);
  }

  /** Gets nothing any more. */
  leave(): void {
    void this.#begun.then((begun) => {
      for (const sha256 of [...begun.keys(), ...this.#downloads.keys()]) {
        this.#parts.forget(sha256);
      }
      begun.clear();
    });
  }

  receive(bytes: ArrayBuffer, nowMs: number): void {
    const message = decodeFileMessage(bytes);
    if (message.type === 'block') {
      this.#take(message, nowMs);
    } else if (this.#wishes.length < WISHES_MAX) {
      this.#wishes.push(message);
      this.#answer();
    }
  }

  /** Does what the time asks for. */
  poll(nowMs: number): void {
    this.#answer();
    if (this.#isIn) {
      for (const [sha256, { download }] of this.#downloads) {
        if (this.#entryOf(sha256) !== undefined) {
          download.poll(nowMs);
        }
      }
    }
  }

  get report(): FilesReport {
    const progress = [...this.#downloads].map(([sha256, { download }]) => ({
      sha256,
      bytes: download.bytes,
      state: download.state.is,
    }));
    return { reading: this.#own.reading, progress };
  }

  /** Goes on with what the page was getting before it was opened anew. */
  async #goOn(entry: FileEntry, nowMs: number): Promise<void> {
    const begun = await this.#begun;
    const parts = begun.get(entry.sha256);
    if (parts === undefined || entry.member === this.#you) {
      return;
    }
    begun.delete(entry.sha256);
    if (!this.#downloads.has(entry.sha256)) {
      await this.#download(entry, nowMs).restore(parts);
    }
  }

  #download({ file, size, sha256 }: FileEntry, nowMs: number): Download {
    const download = new Download({ size, sha256 }, nowMs, {
      ask: (index) => this.#ask(sha256, index),
      keep: (part, blob) => this.#parts.keep(sha256, part, blob),
    });
    this.#downloads.set(sha256, { download, chosen: file });
    return download;
  }

  #offer(file: File, sha256: string): void {
    this.#user.say({ type: 'offer_file', name: file.name, size: file.size, sha256 });
  }

  #ask(sha256: string, index: number): void {
    const entry = this.#entryOf(sha256);
    if (entry !== undefined) {
      this.#user.send(encodeWant(entry.file, index));
    }
  }

  /** What was chosen, or where that is gone somebody else's who has these bytes. */
  #entryOf(sha256: string): FileEntry | undefined {
    const chosen = this.#entries.get(this.#downloads.get(sha256)?.chosen ?? -1);
    const entries = [...this.#entries.values()];
    const isTheirs = (entry: FileEntry) => entry.sha256 === sha256 && entry.member !== this.#you;
    return chosen?.sha256 === sha256 ? chosen : entries.find(isTheirs);
  }

  #take({ file, index, payload }: FileMessage, nowMs: number): void {
    const entry = this.#entries.get(file);
    const download = entry && this.#downloads.get(entry.sha256)?.download;
    if (download?.state.is !== 'running' || entry === undefined) {
      return;
    }
    download.came(nowMs, index, payload);
    const state = download.state as Download['state'];
    if (state.is !== 'running') {
      this.#parts.forget(entry.sha256);
    }
    if (state.is === 'done') {
      this.#user.onWhole(entry.name, state.blob);
    } else if (state.is === 'wrong') {
      this.#user.onProblem(`${entry.name} is not what was announced, and was thrown away.`);
    }
  }

  /** What is wanted of this page's files, as fast as it leaves. */
  #answer(): void {
    while (this.#wishes.length > 0 && this.#user.queuedBytes() < QUEUED_MAX) {
      const wish = this.#wishes.shift();
      const entry = wish && this.#entries.get(wish.file);
      if (wish !== undefined && entry?.member === this.#you) {
        void this.#own.bring(entry.sha256, wish.file, wish.index, wish.member);
      }
    }
  }
}
