/** A file of another member, block by block: asked for, put together, and checked. */

import { sha256 } from '@noble/hashes/sha2';
import { bytesToHex } from '@noble/hashes/utils';
import { BLOCK_BYTES, BLOCKS_WANTED_MAX, blocksOf, rangeOf } from './blocks';
import { DelayWindow } from './window';

/** Blocks that were asked for and are not here after so long are asked for again. */
const STALLED_MS = 3_000;
/** What is here becomes a blob, which browsers keep on disk, whenever it is so much. */
const PART_BYTES = 1 << 20;

/** What a download is of: whoever has these bytes has the file. */
export interface Wanted {
  readonly size: number;
  readonly sha256: string;
}

/** What a download needs. */
export interface DownloadUser {
  /** Asks who has the file for a block. */
  ask(index: number): void;
  /** So much more is here, behind what was before; not told of the last part. */
  keep?(part: number, blob: Blob): void;
}

export type DownloadState =
  | { readonly is: 'running' }
  | { readonly is: 'done'; readonly blob: Blob }
  /** What came is not what was announced. */
  | { readonly is: 'wrong' };

export class Download {
  readonly #wanted: Wanted;
  readonly #blocks: number;
  readonly #user: DownloadUser;
  readonly #window = new DelayWindow(BLOCKS_WANTED_MAX);
  readonly #hash = sha256.create();
  /** When each block was asked for that is not here. */
  readonly #asked = new Map<number, number>();
  /** Blocks behind one that is missing. */
  readonly #early = new Map<number, Uint8Array<ArrayBuffer>>();
  readonly #parts: Blob[] = [];
  #recent: Uint8Array<ArrayBuffer>[] = [];
  #recentBytes = 0;
  /** The next block to be asked for, and the next one to be put behind the others. */
  #next = 0;
  #whole = 0;
  #cameMs: number;
  #isRestoring = false;
  state: DownloadState = { is: 'running' };

  constructor(wanted: Wanted, nowMs: number, user: DownloadUser) {
    this.#wanted = wanted;
    this.#blocks = blocksOf(wanted.size);
    this.#user = user;
    this.#cameMs = nowMs;
  }

  /** Bytes that are here, from the first one on. */
  get bytes(): number {
    return Math.min(this.#wanted.size, rangeOf(this.#wanted.size, this.#whole)[0]);
  }

  /** Goes on behind what was here before; until that is read nothing is asked for. */
  async restore(parts: readonly Blob[]): Promise<void> {
    this.#isRestoring = true;
    for (const part of parts) {
      const blocks = part.size / BLOCK_BYTES;
      // The last one of a file is never kept.
      if (!Number.isInteger(blocks) || this.#whole + blocks >= this.#blocks) {
        break;
      }
      this.#hash.update(new Uint8Array(await part.arrayBuffer()));
      this.#parts.push(part);
      this.#whole += blocks;
    }
    this.#next = this.#whole;
    this.#isRestoring = false;
  }

  /** Asks for as many blocks as there may be under way. */
  poll(nowMs: number): void {
    if (this.state.is !== 'running' || this.#isRestoring) {
      return;
    }
    if (this.#asked.size > 0 && nowMs - this.#cameMs > STALLED_MS) {
      this.restart(nowMs);
    }
    while (this.#asked.size < this.#window.blocks && this.#next < this.#blocks) {
      if (this.#next >= this.#whole && !this.#early.has(this.#next)) {
        this.#asked.set(this.#next, nowMs);
        this.#user.ask(this.#next);
      }
      this.#next += 1;
    }
  }

  /** What was asked for does not come: the connection is another one. */
  restart(nowMs: number): void {
    this.#asked.clear();
    this.#window.stalled();
    this.#next = this.#whole;
    this.#cameMs = nowMs;
  }

  came(nowMs: number, index: number, payload: Uint8Array<ArrayBuffer>): void {
    const askedMs = this.#asked.get(index);
    const [begin, end] = rangeOf(this.#wanted.size, index);
    if (askedMs === undefined || payload.length !== end - begin) {
      return;
    }
    this.#asked.delete(index);
    this.#cameMs = nowMs;
    this.#window.came(nowMs, nowMs - askedMs);
    this.#early.set(index, payload);
    for (let block = this.#early.get(this.#whole); block !== undefined; ) {
      this.#early.delete(this.#whole);
      this.#append(block);
      this.#whole += 1;
      block = this.#early.get(this.#whole);
    }
    if (this.#whole === this.#blocks) {
      this.#finish();
    }
    this.poll(nowMs);
  }

  #append(block: Uint8Array<ArrayBuffer>): void {
    this.#hash.update(block);
    this.#recent.push(block);
    this.#recentBytes += block.length;
    if (this.#recentBytes >= PART_BYTES) {
      this.#user.keep?.(this.#parts.length, this.#cut());
    }
  }

  #cut(): Blob {
    const part = new Blob(this.#recent);
    this.#parts.push(part);
    [this.#recent, this.#recentBytes] = [[], 0];
    return part;
  }

  #finish(): void {
    this.#cut();
    const isRight = bytesToHex(this.#hash.digest()) === this.#wanted.sha256;
    this.state = isRight ? { is: 'done', blob: new Blob(this.#parts) } : { is: 'wrong' };
    this.#parts.length = 0;
  }
}

/** The hash of a file, read bit by bit; `onRead` is told how many bytes were. */
export async function hashOf(file: Blob, onRead: (bytes: number) => void): Promise<string> {
  const hash = sha256.create();
  const reader = file.stream().getReader();
  let read = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    hash.update(part.value);
    read += part.value.length;
    onRead(read);
  }
  return bytesToHex(hash.digest());
}
