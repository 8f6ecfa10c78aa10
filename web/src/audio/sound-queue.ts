/** Sound that waits for its time, played out in step with the picture. */

/** Decoded sound: one array of samples for each channel. */
export interface SoundBlock {
  /** When its first sample is to be heard, in ms since the epoch. */
  readonly dueMs: number;
  readonly sampleRate: number;
  /** Of the media, against ours. */
  readonly speed: number;
  readonly channels: readonly Float32Array[];
}

/** About ten seconds of 20 ms blocks. */
const BLOCKS_MAX = 500;
/**
 * Beyond this, playing faster or slower would take too long: cut instead. Well under the 80 ms
 * that the eye notices.
 */
const CUT_BEYOND_MS = 40;
/** Half a per cent of speed is not heard as a change of pitch. */
const SPEED_CHANGE_MAX = 0.005;
const SPEED_PER_MS = 0.000_5;
/** Blocks further apart than this have lost one between them; less is the cushion that moved. */
const GAP_MS = 10;
const FADE_SAMPLES = 128;

/**
 * Follows the clock that also times the picture: a small error is corrected by playing up to 0.5 %
 * faster or slower, a large one by a jump, faded in.
 */
export class SoundQueue {
  #blocks: SoundBlock[] = [];
  /**
   * Position in the first block, in samples; negative before its time, a fraction while the speed
   * is not one.
   */
  #position = 0;
  #playing = false;
  #fade = 0;

  /** How much the sound is behind (positive) or ahead of its time; `null` while nothing plays. */
  skewMs: number | null = null;
  /** How often the sound stopped for want of blocks. */
  underruns = 0;

  push(block: SoundBlock): void {
    const last = this.#blocks.at(-1);
    if (last !== undefined && block.dueMs < last.dueMs) {
      return;
    }
    this.#blocks.push(block);
    if (this.#blocks.length > BLOCKS_MAX) {
      this.#blocks.shift();
      this.#stop();
    }
  }

  /** Fills `output` (one array for each channel); its first sample is heard at `nowMs`. */
  render(output: readonly Float32Array[], nowMs: number, outputRate: number): void {
    const length = output[0]?.length ?? 0;
    const speed = this.#align(nowMs);
    for (let at = 0; at < length; at++) {
      this.#sample(output, at, speed / outputRate);
    }
  }

  clear(): void {
    this.#blocks = [];
    this.#position = 0;
    this.#stop();
  }

  /** Moves to what is to be heard at `nowMs` if that is far off; returns the speed to play at. */
  #align(nowMs: number): number {
    const [block] = this.#blocks;
    if (block === undefined) {
      return 1;
    }
    const skewMs = nowMs - (block.dueMs + (this.#position * 1000) / pace(block));
    if (!this.#playing || Math.abs(skewMs) > CUT_BEYOND_MS) {
      this.#jumpTo(nowMs);
      return 1;
    }
    this.skewMs = skewMs;
    const change = skewMs * SPEED_PER_MS;
    return 1 + Math.max(-SPEED_CHANGE_MAX, Math.min(SPEED_CHANGE_MAX, change));
  }

  #jumpTo(nowMs: number): void {
    let [block] = this.#blocks;
    while (block !== undefined && nowMs >= block.dueMs + durationMs(block)) {
      this.#blocks.shift();
      [block] = this.#blocks;
    }
    if (block === undefined) {
      this.#stop();
      return;
    }
    this.#position = ((nowMs - block.dueMs) * pace(block)) / 1000;
    this.#playing = true;
    this.#fade = 0;
    this.skewMs = null;
  }

  #sample(output: readonly Float32Array[], at: number, speedPerRate: number): void {
    const block = this.#playing ? this.#current() : undefined;
    if (block === undefined || this.#position < 0) {
      this.#fade = 0;
      for (const channel of output) {
        channel[at] = 0;
      }
    } else {
      const gain = Math.min(1, ++this.#fade / FADE_SAMPLES);
      for (const [number, channel] of output.entries()) {
        const samples = block.channels[Math.min(number, block.channels.length - 1)];
        channel[at] = gain * interpolated(samples, this.#position);
      }
    }
    this.#position += speedPerRate * (block === undefined ? 0 : pace(block));
  }

  /** The block that holds the position, after leaving those that are played. */
  #current(): SoundBlock | undefined {
    const [block] = this.#blocks;
    if (block === undefined) {
      this.underruns += 1;
      this.#stop();
      return undefined;
    }
    const left = (block.channels[0]?.length ?? 0) - this.#position;
    if (left > 0) {
      return block;
    }
    this.#blocks.shift();
    const [next] = this.#blocks;
    const missingMs = next === undefined ? 0 : next.dueMs - (block.dueMs + durationMs(block));
    this.#position = -left;
    if (next !== undefined && missingMs > GAP_MS) {
      // Something between the two is lost: as much silence takes its place.
      this.#position -= (missingMs * pace(next)) / 1000;
    }
    return this.#current();
  }

  #stop(): void {
    this.#playing = false;
    this.skewMs = null;
  }
}

function durationMs(block: SoundBlock): number {
  return ((block.channels[0]?.length ?? 0) * 1000) / pace(block);
}

/** Samples of the block in a second of ours. */
function pace({ sampleRate, speed }: SoundBlock): number {
  return sampleRate * speed;
}

function interpolated(samples: Float32Array | undefined, position: number): number {
  const index = Math.floor(position);
  const here = samples?.[index] ?? 0;
  const next = samples?.[index + 1] ?? here;
  return here + (next - here) * (position - index);
}
