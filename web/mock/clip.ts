/** Reads the demo clip: the format is described in crates/media/src/clip/mod.rs. */

import { readFileSync } from 'node:fs';

export interface ClipUnit {
  readonly track: 'video' | 'audio';
  readonly layer: number;
  readonly key: boolean;
  readonly reference: boolean;
  readonly disposable: boolean;
  readonly frame: number;
  readonly ptsUs: number;
  /** When it is to be decoded, which is when it is sent; at most its presentation time. */
  readonly dtsUs: number;
  readonly bytes: Uint8Array;
}

export interface Clip {
  readonly width: number;
  readonly height: number;
  readonly fps: number;
  readonly channels: number;
  readonly sampleRate: number;
  readonly durationUs: number;
  readonly videoCodec: string;
  readonly videoFormat: 'vp9' | 'annexb';
  readonly audioCodec: string;
  readonly audioFormat: 'opus' | 'adts';
  readonly title: string;
  readonly attribution: string;
  readonly url: string;
  readonly license: string;
  readonly licenseUrl: string;
  readonly units: readonly ClipUnit[];
}

const CLASS = { key: 1, reference: 3, disposable: 5 };

export function readClip(path: string): Clip {
  const reader = new Reader(readFileSync(path));
  if (reader.ascii(7) !== 'ANACLIP' || reader.number(1) !== 1) {
    throw new Error(`${path} is not a clip of version 1`);
  }
  const width = reader.number(2);
  const height = reader.number(2);
  const fps = reader.number(2) / reader.number(2);
  reader.number(1);
  const channels = reader.number(1);
  const sampleRate = reader.number(4);
  const durationUs = reader.number(8);
  const videoCodec = reader.text();
  const audioCodec = reader.text();
  const title = reader.text();
  const attribution = reader.text();
  const url = reader.text();
  const license = reader.text();
  const licenseUrl = reader.text();
  const units = Array.from({ length: reader.number(4) }, () => readUnit(reader));
  return {
    width,
    height,
    fps,
    channels,
    sampleRate,
    durationUs,
    videoCodec,
    videoFormat: 'vp9',
    audioCodec,
    audioFormat: 'opus',
    title,
    attribution,
    url,
    license,
    licenseUrl,
    units,
  };
}

function readUnit(reader: Reader): ClipUnit {
  const track = reader.number(1) === 0 ? 'video' : 'audio';
  const layer = reader.number(1);
  const kind = reader.number(1);
  const frame = reader.number(4);
  const ptsUs = reader.number(8);
  reader.number(4);
  return {
    track,
    layer,
    key: kind === CLASS.key || track === 'audio',
    reference: kind === CLASS.key || kind === CLASS.reference,
    disposable: kind === CLASS.disposable,
    frame,
    ptsUs,
    dtsUs: ptsUs,
    bytes: reader.bytes(reader.number(4)),
  };
}

class Reader {
  readonly #data: Buffer;
  #at = 0;

  constructor(data: Buffer) {
    this.#data = data;
  }

  number(length: 1 | 2 | 4 | 8): number {
    const value =
      length === 8
        ? Number(this.#data.readBigUInt64BE(this.#at))
        : this.#data.readUIntBE(this.#at, length);
    this.#at += length;
    return value;
  }

  bytes(length: number): Uint8Array {
    this.#at += length;
    return this.#data.subarray(this.#at - length, this.#at);
  }

  ascii(length: number): string {
    return Buffer.from(this.bytes(length)).toString('latin1');
  }

  text(): string {
    return Buffer.from(this.bytes(this.number(2))).toString('utf8');
  }
}
