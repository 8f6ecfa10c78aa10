import { effect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Store } from '../state/store';
import { useSession } from './context';
import { colour, theme } from './theme';

/** Of each picture, in CSS pixels: its column and the space after it. */
const COLUMN = 3;
const PITCH = 4;

/** The last pictures, one column each: whole, base only, or missing. */
export function LayerStrip() {
  const { store } = useSession();
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => (canvas.current === null ? undefined : run(canvas.current, store)), [store]);
  return (
    <canvas
      class="strip"
      role="img"
      aria-label={summary(store.strip.value)}
      title="The last pictures: with enhancement, base only (half), missing (red)"
      ref={canvas}
    />
  );
}

function run(canvas: HTMLCanvasElement, store: Store): () => void {
  const resized = new ResizeObserver(() => {
    canvas.width = Math.round(canvas.clientWidth * devicePixelRatio);
    canvas.height = Math.round(canvas.clientHeight * devicePixelRatio);
    draw(canvas, store.strip.peek());
  });
  resized.observe(canvas);
  const stop = effect(() => {
    theme.value;
    draw(canvas, store.strip.value);
  });
  return () => {
    stop();
    resized.disconnect();
  };
}

function draw(canvas: HTMLCanvasElement, pictures: readonly number[]): void {
  const context = canvas.getContext('2d');
  if (context === null) {
    return;
  }
  const colours = ['--bad', '--base', '--enhancement'].map(colour);
  const most = Math.max(1, ...pictures);
  const { clientWidth: width, clientHeight: height } = canvas;
  context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  context.clearRect(0, 0, width, height);
  pictures.forEach((layers, index) => {
    const x = width - PITCH * (pictures.length - index);
    if (layers === 0) {
      context.fillStyle = colours[0] ?? '';
      context.fillRect(x, 0, COLUMN, height);
    }
    for (let layer = 0; layer < layers; layer++) {
      context.fillStyle = colours[layer === 0 ? 1 : 2] ?? '';
      context.fillRect(x, height - ((layer + 1) * height) / most, COLUMN, height / most);
    }
  });
}

function summary(pictures: readonly number[]): string {
  const missing = pictures.filter((layers) => layers === 0).length;
  const whole = pictures.filter((layers) => layers > 1).length;
  const all = pictures.length;
  return `Of the last ${all} pictures, ${whole} have an enhancement and ${missing} are missing.`;
}
