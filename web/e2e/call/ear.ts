/** What a test hears of a page, and unplugs. Runs in the page, before its scripts. */

declare global {
  interface Window {
    heard(forMs: number): Promise<{ readonly peak: number; readonly hz: number }>;
    /** Takes away what the page captures with. */
    unplug(kind: 'audio' | 'video'): void;
  }
}

export function listenAtLoudspeaker(): void {
  const { connect } = AudioNode.prototype;
  let ear: AnalyserNode | null = null;
  AudioNode.prototype.connect = function (this: AudioNode, ...args: unknown[]) {
    if (args[0] instanceof AudioDestinationNode && this instanceof AudioWorkletNode) {
      ear ??= new AnalyserNode(this.context, { fftSize: 2048, smoothingTimeConstant: 0 });
      Reflect.apply(connect, this, [ear]);
    }
    return Reflect.apply(connect, this, args);
  } as typeof connect;

  const tracks: MediaStreamTrack[] = [];
  const getUserMedia = MediaDevices.prototype.getUserMedia;
  MediaDevices.prototype.getUserMedia = async function (this: MediaDevices, constraints) {
    const stream = await getUserMedia.call(this, constraints);
    tracks.push(...stream.getTracks());
    return stream;
  };
  window.unplug = (kind) => {
    for (const track of tracks.filter((track) => track.kind === kind)) {
      track.stop();
      track.dispatchEvent(new Event('ended'));
    }
  };

  window.heard = async (forMs) => {
    const samples = new Float32Array(2048);
    const spectrum = new Float32Array(1024);
    let loudest = { peak: 0, hz: 0 };
    for (const endMs = performance.now() + forMs; performance.now() < endMs; ) {
      ear?.getFloatTimeDomainData(samples);
      ear?.getFloatFrequencyData(spectrum);
      const peak = Math.max(...samples.map(Math.abs));
      if (peak > loudest.peak) {
        const bin = spectrum.indexOf(Math.max(...spectrum));
        loudest = { peak, hz: (bin * (ear?.context.sampleRate ?? 0)) / 2048 };
      }
      await new Promise((done) => setTimeout(done, 10));
    }
    return loudest;
  };
}
