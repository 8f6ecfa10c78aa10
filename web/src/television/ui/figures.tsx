import { signal } from '@preact/signals';
import { milliseconds, type Quantity, rate, signedMilliseconds } from '../../ui/format';
import { Count, Measure, Row } from '../../ui/measures';
import type { PlayerReport } from '../worker/messages';
import { useSession } from './context';

const figuresOn = signal(false);

export function toggleFigures(): void {
  figuresOn.value = !figuresOn.value;
}

export function areFiguresOn(): boolean {
  return figuresOn.value;
}

/** What is on the screen, in figures. */
export function Figures() {
  const { store } = useSession();
  const { value: report } = store.report;
  if (!figuresOn.value || report === null) {
    return null;
  }
  const { video, audio } = store.description.value ?? { video: null, audio: null };
  return (
    <dl class="overlay" data-testid="figures">
      <Row name="Picture" wide>
        {store.isRadio.value ? 'sound only' : pictureText(report)}
      </Row>
      <Row name="Coding" wide>
        {[video?.codec, audio?.codec].filter(Boolean).join(' + ') || '–'}
      </Row>
      <Measure name="Zapping" of={milliseconds(report.zapMs)} testId="zap" />
      <Measure name="Behind live" of={milliseconds(report.behindMs)} testId="behind" />
      <Measure name="Rate" of={rate(report.kbps)} testId="rate" />
      <Measure name="Speed" of={speed(report.speed)} testId="speed" />
      <Measure
        name="Round trip"
        of={milliseconds(store.traffic.value?.roundTripMs ?? null)}
        testId="round-trip"
      />
      <Measure name="Sound offset" of={signedMilliseconds(report.skewMs)} testId="skew" />
      <Measure name="Longest gap" of={milliseconds(report.longestGapMs)} testId="gap" />
      <Count name="Shown" value={report.shown} testId="shown" />
      <Count name="Late" value={report.late} testId="late" />
      <Count name="Lost" value={report.lost} testId="lost" />
      <Count name="Spared" value={report.spared} testId="spared" />
    </dl>
  );
}

function pictureText({ width, height, fps, layers }: PlayerReport): string {
  const size = width === 0 ? 'nothing yet' : `${width} × ${height}, ${fps} fps`;
  return layers > 1 ? `${size}, ${layers} layers` : size;
}

function speed(value: number): Quantity {
  return { value: (value * 100).toFixed(0), unit: '%' };
}
