import { effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { STRIP_PICTURES, type Store } from "../state/store";
import { useSession } from "./context";
import { colour, theme } from "./theme";

/** The last pictures, one column each: whole, base only, or missing. */
export function LayerStrip() {
  const { store } = useSession();
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => (canvas.current === null ? undefined : draw(canvas.current, store)), [store]);
  return <canvas class="strip" role="img" aria-label={summary(store.strip.value)} ref={canvas} />;
}

function draw(canvas: HTMLCanvasElement, store: Store): () => void {
  const context = canvas.getContext("2d");
  // Four columns of pixels for each picture: three drawn, one between.
  canvas.width = STRIP_PICTURES * 4;
  canvas.height = 8;
  return effect(() => {
    theme.value;
    const pictures = store.strip.value;
    const most = Math.max(1, ...pictures);
    context?.clearRect(0, 0, canvas.width, canvas.height);
    pictures.forEach((layers, index) => {
      const x = canvas.width - 4 * (pictures.length - index);
      paint(context, x, layers, most, canvas.height);
    });
  });
}

function paint(
  context: CanvasRenderingContext2D | null,
  x: number,
  layers: number,
  most: number,
  height: number,
): void {
  if (context === null) {
    return;
  }
  if (layers === 0) {
    context.fillStyle = colour("--bad");
    context.fillRect(x, 0, 3, height);
    return;
  }
  const step = height / most;
  for (let layer = 0; layer < layers; layer++) {
    context.fillStyle = colour(layer === 0 ? "--base" : "--enhancement");
    context.fillRect(x, height - (layer + 1) * step, 3, step);
  }
}

function summary(pictures: readonly number[]): string {
  const missing = pictures.filter((layers) => layers === 0).length;
  const whole = pictures.filter((layers) => layers > 1).length;
  return `Of the last ${pictures.length} pictures, ${whole} have an enhancement and ${missing} are missing.`;
}
