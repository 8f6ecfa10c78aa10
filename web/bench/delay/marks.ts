/** What a page shows and plays of marked devices, and how old it is. Run in the page. */

declare global {
  interface Window {
    /** The loudspeaker, as Web Audio has it; `null` before anything plays. */
    loudspeaker: { readonly ear: AnalyserNode; readonly context: AudioContext } | null;
  }
}

/** Before the page's scripts: keeps what goes to the loudspeaker. */
export function tapLoudspeaker(): void {
  window.loudspeaker = null;
  const { connect } = AudioNode.prototype;
  AudioNode.prototype.connect = function (this: AudioNode, ...args: unknown[]) {
    if (args[0] instanceof AudioDestinationNode && this instanceof AudioWorkletNode) {
      const ear =
        window.loudspeaker?.ear ??
        new AnalyserNode(this.context, { fftSize: 16_384, smoothingTimeConstant: 0 });
      window.loudspeaker = { ear, context: this.context as AudioContext };
      Reflect.apply(connect, this, [ear]);
    }
    return Reflect.apply(connect, this, args);
  } as typeof connect;
}

/** What a player plays, as it comes out of its jitter buffer. */
export function tapPlayer(selector: string): void {
  const stream = document.querySelector<HTMLVideoElement>(selector)?.srcObject;
  if (!(stream instanceof MediaStream)) {
    throw new Error(`nothing is played: ${selector}`);
  }
  const context = new AudioContext();
  const ear = new AnalyserNode(context, { fftSize: 16_384, smoothingTimeConstant: 0 });
  new MediaStreamAudioSourceNode(context, { mediaStream: stream }).connect(ear);
  window.loudspeaker = { ear, context };
}

/** Ages, in milliseconds, of the pictures that an element shows, each when it is first seen. */
export function agesOfPictures({
  selector,
  forMs,
}: {
  readonly selector: string;
  readonly forMs: number;
}): Promise<number[]> {
  const [cells, misreadMs] = [16, 5_000];
  const source = document.querySelector<HTMLCanvasElement | HTMLVideoElement>(selector);
  const copy = document.createElement('canvas');
  [copy.width, copy.height] = [cells * 4, 8];
  const context = copy.getContext('2d', { willReadFrequently: true });
  if (source === null || context === null) {
    throw new Error(`nothing to look at: ${selector}`);
  }
  const bright = (data: Uint8ClampedArray, cell: number, row: number) =>
    (data[4 * ((row * 4 + 2) * copy.width + cell * 4 + 2)] ?? 0) > 127;
  /** The time that the cells say; `null` where both rows do not say the same. */
  const read = (): number | null => {
    context.drawImage(source, 0, 0, copy.width, copy.height);
    const { data } = context.getImageData(0, 0, copy.width, copy.height);
    let time = 0;
    for (let cell = 0; cell < cells; cell += 1) {
      if (bright(data, cell, 0) === bright(data, cell, 1)) {
        return null;
      }
      time |= bright(data, cell, 0) ? 1 << cell : 0;
    }
    return time;
  };
  const endMs = performance.now() + forMs;
  return new Promise((done) => {
    const ages: number[] = [];
    let last: number | null = null;
    const look = () => {
      const time = read();
      if (time !== null && time !== last) {
        const nowMs = Math.round(performance.timeOrigin + performance.now());
        const ageMs = (nowMs - time) & 0xffff;
        // Cells of two pictures in one, as encoders leave them at low rates, say anything.
        if (ageMs < misreadMs) {
          ages.push(ageMs);
        }
        last = time;
      }
      if (performance.now() > endMs) {
        done(ages);
      } else {
        requestAnimationFrame(look);
      }
    };
    look();
  });
}

/** Ages, in milliseconds, of the bursts that go to the loudspeaker, its own delay included. */
export async function agesOfBursts(forMs: number): Promise<number[]> {
  const [secondMs, loud, quietMs] = [1_000, 0.1, 300];
  const { ear, context } = window.loudspeaker ?? { ear: null, context: null };
  if (ear === null) {
    throw new Error('nothing goes to the loudspeaker');
  }
  const samples = new Float32Array(ear.fftSize);
  const perMs = context.sampleRate / 1_000;
  const ages: number[] = [];
  let lastMs = Number.NEGATIVE_INFINITY;
  for (const endMs = performance.now() + forMs; performance.now() < endMs; ) {
    ear.getFloatTimeDomainData(samples);
    const nowMs = performance.timeOrigin + performance.now();
    const onset = samples.findIndex((sample) => Math.abs(sample) > loud);
    const heardMs = nowMs - (samples.length - onset) / perMs;
    // The first sample may lie within a burst that began before.
    if (onset > 0 && heardMs - lastMs > quietMs) {
      lastMs = heardMs;
      ages.push((heardMs % secondMs) + 1_000 * context.outputLatency);
    }
    await new Promise((done) => setTimeout(done, 20));
  }
  return ages;
}
