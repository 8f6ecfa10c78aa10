/** A live graph of the last half minute. */

import { effect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import type { Mark, Store } from '../state/store';
import { SHOWN_S, type Timeline } from '../state/timeline';
import { colour, theme } from './theme';

/** A mark must not outshine the lines. */
const MARK_OPACITY = 0.5;

export interface Line {
  /** Which column of the timeline. */
  readonly column: number;
  /** A custom property. */
  readonly colour: string;
  readonly dash?: readonly number[];
  readonly filled?: boolean;
}

export interface ChartProps {
  readonly store: Store;
  /** Looked up at every drawing: a restart of the stream replaces it. */
  readonly timeline: () => Timeline;
  readonly lines: readonly Line[];
  readonly label: string;
  /** The top of the scale is at least this, so that a flat line near 0 does not fill the graph. */
  readonly topAtLeast: number;
  /** And at most this: there is no more than 100 %. */
  readonly topAtMost?: number;
  readonly format: (value: number) => string;
  /** Events of this path are marked; null: of all. */
  readonly path: number | null;
  /** The column that is 1 while the link is cut. */
  readonly cutColumn?: number;
}

/** The size of its box decides the size of the graph, so that new data never moves anything. */
export function Chart(props: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  // The graph reads its properties once, when it is made; what it shows comes from the timeline.
  useEffect(() => (box.current === null ? undefined : run(box.current, props)), []);
  return <div class="chart" role="img" aria-label={props.label} ref={box} />;
}

function run(box: HTMLElement, props: ChartProps): () => void {
  let plot: uPlot | null = null;
  const stopTheme = effect(() => {
    theme.value;
    plot?.destroy();
    plot = new uPlot(options(box, props), dataOf(props), box);
  });
  const stopData = effect(() => {
    props.store.nowS.value;
    plot?.setData(dataOf(props));
  });
  const resized = new ResizeObserver(() => plot?.setSize(sizeOf(box)));
  resized.observe(box);
  return () => {
    resized.disconnect();
    stopData();
    stopTheme();
    plot?.destroy();
  };
}

function dataOf({ timeline, lines }: ChartProps): uPlot.AlignedData {
  const { times, columns } = timeline();
  return [times, ...lines.map(({ column }) => columns[column] ?? [])];
}

function sizeOf(box: HTMLElement): { width: number; height: number } {
  return { width: Math.max(1, box.clientWidth), height: Math.max(1, box.clientHeight) };
}

function options(box: HTMLElement, props: ChartProps): uPlot.Options {
  const { store, lines, topAtLeast, topAtMost, format } = props;
  const muted = colour('--muted');
  return {
    ...sizeOf(box),
    legend: { show: false },
    cursor: { show: false },
    padding: [7, 0, 6, 0],
    scales: {
      x: { time: false, range: () => [store.nowS.peek() - SHOWN_S, store.nowS.peek()] },
      y: { range: (_plot, _low, high) => [0, top(high, topAtLeast, topAtMost)] },
    },
    axes: [
      { show: false },
      {
        size: 38,
        gap: 3,
        font: `10px ${colour('--font')}`,
        stroke: muted,
        ticks: { show: false },
        grid: { stroke: colour('--grid'), width: 1 },
        splits: (_plot, _axis, low, high) => [low, (low + high) / 2, high],
        values: (_plot, splits) => splits.map((value, index) => (index === 1 ? '' : format(value))),
      },
    ],
    series: [{}, ...lines.map(series)],
    hooks: {
      drawClear: [(plot) => shadeCuts(plot, props)],
      draw: [(plot) => drawMarks(plot, store.marks(props.path))],
    },
  };
}

function series({ colour: property, dash, filled }: Line): uPlot.Series {
  const stroke = colour(property);
  return {
    stroke,
    width: 1.5,
    points: { show: false },
    ...(dash === undefined ? {} : { dash: [...dash] }),
    ...(filled ? { fill: `color-mix(in srgb, ${stroke} 18%, transparent)` } : {}),
  };
}

/** The next of 1, 2, 3, 5, 10, 20 … that has room above the highest value. */
function top(high: number | null, atLeast: number, atMost = Number.POSITIVE_INFINITY): number {
  const wanted = Math.max(atLeast, (high ?? 0) * 1.05);
  const power = 10 ** Math.floor(Math.log10(wanted));
  const factor = [1, 2, 3, 5, 10].find((step) => step * power >= wanted) ?? 10;
  return Math.min(atMost, factor * power);
}

function shadeCuts(plot: uPlot, { timeline, cutColumn }: ChartProps): void {
  if (cutColumn === undefined) {
    return;
  }
  const { times, columns } = timeline();
  const cuts = columns[cutColumn] ?? [];
  plot.ctx.fillStyle = colour('--cut-shade');
  for (let at = 1; at < times.length; at++) {
    if (cuts[at] === 1) {
      const left = plot.valToPos(times[at - 1] ?? 0, 'x', true);
      const right = plot.valToPos(times[at] ?? 0, 'x', true);
      const from = Math.max(left, plot.bbox.left);
      plot.ctx.fillRect(from, plot.bbox.top, Math.max(0, right - from), plot.bbox.height);
    }
  }
}

function drawMarks(plot: uPlot, marks: readonly Mark[]): void {
  const { ctx, bbox } = plot;
  for (const { atS, severity } of marks) {
    const x = Math.round(plot.valToPos(atS, 'x', true));
    ctx.globalAlpha = MARK_OPACITY;
    ctx.fillStyle = colour(`--${severity}`);
    ctx.fillRect(x, bbox.top, Math.max(1, devicePixelRatio), bbox.height);
    ctx.globalAlpha = 1;
  }
}
