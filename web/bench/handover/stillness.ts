/** Runs in a page: how long what an element shows stays the same. */

export function watchPicture({
  selector,
  forMs,
}: {
  readonly selector: string;
  readonly forMs: number;
}): Promise<number> {
  const source = document.querySelector<HTMLCanvasElement | HTMLVideoElement>(selector);
  const copy = document.createElement('canvas');
  [copy.width, copy.height] = [64, 36];
  const context = copy.getContext('2d', { willReadFrequently: true });
  if (source === null || context === null) {
    throw new Error(`nothing to look at: ${selector}`);
  }
  const begunMs = performance.now();
  return new Promise((done) => {
    let [longestMs, changedMs, last] = [0, begunMs, -1];
    const look = () => {
      context.drawImage(source, 0, 0, copy.width, copy.height);
      const { data } = context.getImageData(0, 0, copy.width, copy.height);
      let sum = 0;
      for (let at = 0; at < data.length; at += 1) {
        sum = (sum * 31 + (data[at] ?? 0)) % 1_000_003;
      }
      const nowMs = performance.now();
      if (sum !== last) {
        longestMs = Math.max(longestMs, nowMs - changedMs);
        [last, changedMs] = [sum, nowMs];
      }
      if (nowMs - begunMs > forMs) {
        done(Math.max(longestMs, nowMs - changedMs));
      } else {
        requestAnimationFrame(look);
      }
    };
    look();
  });
}
