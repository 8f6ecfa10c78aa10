/**
 * A camera and a microphone that say when something was before them. Runs in a page, before its
 * scripts: pictures carry the time at which they were drawn as a row of cells, dark or bright, and
 * the microphone hears a burst at each full second.
 */

export function inventMarkedDevices(): void {
  const [width, height, fps] = [640, 360, 25];
  /** 16 bits of milliseconds, and the same once more, inverted, so that nothing is misread. */
  const [cells, burstHz, burstSeconds] = [16, 1_000, 0.03];
  const wallMs = () => performance.timeOrigin + performance.now();

  const camera = (): MediaStream => {
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [width, height];
    const context = canvas.getContext('2d');
    const draw = (pen: CanvasRenderingContext2D) => {
      const time = Math.round(wallMs()) & 0xffff;
      for (let cell = 0; cell < cells; cell += 1) {
        const colours = (time >> cell) & 1 ? ['#f0f0f0', '#101010'] : ['#101010', '#f0f0f0'];
        for (const [row, colour] of colours.entries()) {
          pen.fillStyle = colour;
          pen.fillRect((cell * width) / cells, (row * height) / 2, width / cells, height / 2);
        }
      }
    };
    if (context !== null) {
      draw(context);
      setInterval(() => draw(context), 1_000 / fps);
    }
    return canvas.captureStream(fps);
  };

  const microphone = (): MediaStream => {
    const context = new AudioContext();
    const output = new MediaStreamAudioDestinationNode(context, { channelCount: 1 });
    const tone = new OscillatorNode(context, { frequency: burstHz });
    const gate = new GainNode(context, { gain: 0 });
    tone.connect(gate).connect(output);
    tone.start();
    let lastSecond = 0;
    setInterval(() => {
      const nowMs = wallMs();
      const second = Math.ceil((nowMs + 200) / 1_000);
      if (second !== lastSecond) {
        lastSecond = second;
        const at = context.currentTime + (second * 1_000 - nowMs) / 1_000;
        gate.gain.setValueAtTime(0.8, at);
        gate.gain.setValueAtTime(0, at + burstSeconds);
      }
    }, 100);
    return output.stream;
  };

  MediaDevices.prototype.getUserMedia = async ({ audio, video } = {}) =>
    new MediaStream([
      ...(video ? camera().getTracks() : []),
      ...(audio ? microphone().getTracks() : []),
    ]);
}
