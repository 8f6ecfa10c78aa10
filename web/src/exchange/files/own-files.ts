/** Files of this page that others may have. */

import { BLOCK_BYTES, encodeBlock, rangeOf } from './blocks';
import { hashOf } from './download';

/** Read at once, since blocks behind one another are wanted: whole blocks. */
const SEGMENT_BYTES = 64 * BLOCK_BYTES;
const SEGMENTS_MAX = 4;

export interface OwnFile {
  readonly file: File;
  readonly sha256: string;
}

export interface OwnFilesUser {
  /** There is a file for the others. */
  onOffer(file: OwnFile): void;
  onBlock(message: Uint8Array<ArrayBuffer>): void;
  onProblem(text: string): void;
}

export class OwnFiles {
  readonly #user: OwnFilesUser;
  readonly #files = new Map<string, File>();
  readonly #segments = new Map<string, Promise<Uint8Array>>();
  /** What is read to be offered: its name, and how much of it is. */
  reading: { readonly name: string; readonly share: number } | null = null;
  #hashed: Promise<void> = Promise.resolve();

  constructor(user: OwnFilesUser) {
    this.#user = user;
  }

  /** All that were read. */
  get all(): OwnFile[] {
    return [...this.#files].map(([sha256, file]) => ({ file, sha256 }));
  }

  /** Reads files, one after the other, and offers them. */
  add(files: readonly File[]): void {
    for (const file of files) {
      this.#hashed = this.#hashed.then(() => this.#add(file));
    }
  }

  remove(sha256: string): void {
    this.#files.delete(sha256);
  }

  /** Somebody wants a block. */
  async bring(sha256: string, number: number, index: number, member: number): Promise<void> {
    const file = this.#files.get(sha256);
    if (file === undefined) {
      return;
    }
    const [begin, end] = rangeOf(file.size, index);
    try {
      const payload = await this.#read(sha256, file, begin, end);
      this.#user.onBlock(encodeBlock(number, index, member, payload));
    } catch {
      // It was changed or removed since it was chosen.
      this.#files.delete(sha256);
      this.#user.onProblem(`${file.name} cannot be read any more: choose it again.`);
    }
  }

  async #add(file: File): Promise<void> {
    try {
      const sha256 = await hashOf(file, (bytes) => {
        this.reading = { name: file.name, share: bytes / file.size };
      });
      this.#files.set(sha256, file);
      this.#user.onOffer({ file, sha256 });
    } catch {
      this.#user.onProblem(`${file.name} cannot be read.`);
    }
    this.reading = null;
  }

  async #read(sha256: string, file: File, begin: number, end: number): Promise<Uint8Array> {
    const first = begin - (begin % SEGMENT_BYTES);
    const segment = await this.#segment(sha256, file, first);
    return segment.subarray(begin - first, end - first);
  }

  #segment(sha256: string, file: File, begin: number): Promise<Uint8Array> {
    const key = `${sha256} ${begin}`;
    const known = this.#segments.get(key);
    if (known !== undefined) {
      return known;
    }
    const [oldest] = this.#segments.keys();
    if (this.#segments.size >= SEGMENTS_MAX && oldest !== undefined) {
      this.#segments.delete(oldest);
    }
    const read = file
      .slice(begin, begin + SEGMENT_BYTES)
      .arrayBuffer()
      .then((bytes) => new Uint8Array(bytes));
    this.#segments.set(key, read);
    return read;
  }
}
