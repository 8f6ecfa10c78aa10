import { useSession } from './context';
import { milliseconds, rate, signedMilliseconds, whole } from './format';
import { Count, Measure, Row } from './measures';

/** What is on the screen, in figures. */
export function Overlay() {
  const { store } = useSession();
  const { value: screen } = store.screen;
  const { value: stats } = store.stats;
  const layered = store.hello.value?.layers.some(({ id }) => id === 'enhancement') ?? false;
  const delay = stats?.delay_ms ?? null;
  const fps = { value: (screen?.fps ?? 0).toFixed(0), unit: 'fps' };
  return (
    <dl class="overlay" data-testid="overlay">
      <Row name="On screen" wide>
        <span data-testid="layers-shown">{layersText(screen?.layers ?? 0, layered)}</span>
      </Row>
      <Measure name="Picture" of={fps} testId="fps" />
      <Measure name="Rate" of={rate(screen?.kbps ?? null)} testId="screen-rate" />
      <Measure name="Delay" of={milliseconds(delay?.now ?? null)} testId="delay-now" />
      <Measure name="Delay p95" of={milliseconds(delay?.p95 ?? null)} testId="delay-p95" />
      <Measure
        name="Longest gap"
        of={milliseconds(screen?.longestGapMs ?? null)}
        testId="longest-gap"
      />
      <Measure
        name="Sound offset"
        of={signedMilliseconds(screen?.skewMs ?? null)}
        testId="av-skew"
      />
      <Pictures />
      <Levels />
    </dl>
  );
}

/** What became of the pictures. */
function Pictures() {
  const { store } = useSession();
  const { value: screen } = store.screen;
  const { value: stats } = store.stats;
  return (
    <>
      <Count name="Shown" value={screen?.shown ?? 0} testId="page-frames" />
      <Row name="Late / lost">
        <span data-testid="frames-late">{whole(stats?.frames.late ?? null)}</span>
        {' / '}
        <span data-testid="frames-lost">{whole(stats?.frames.lost ?? null)}</span>
      </Row>
      <Count name="Spared" value={screen?.spared ?? 0} testId="spared" />
      <Count name="Abandoned" value={store.abandoned.value} testId="abandoned" />
    </>
  );
}

/** A wait that shows that the receiver is not read at once, in milliseconds. */
const WAIT_SLOW_MS = 10;

/** What waits to be read by level, where importance had something to decide. */
function Levels() {
  const { store } = useSession();
  const levels = store.stats.value?.levels ?? [];
  if (!levels.some((level) => level.dropped > 0 || level.wait_p99_ms >= WAIT_SLOW_MS)) {
    return null;
  }
  const each = (figure: (level: (typeof levels)[number]) => string) =>
    levels.map(figure).join(' · ');
  return (
    <>
      <Row name="Waiting, by level" wide>
        <span data-testid="levels-waiting">{each((level) => whole(level.waiting))}</span>
      </Row>
      <Row name="Wait p99, ms" wide>
        <span data-testid="levels-wait">{each((level) => level.wait_p99_ms.toFixed(0))}</span>
      </Row>
      <Row name="Made way" wide>
        <span data-testid="levels-dropped">{each((level) => whole(level.dropped))}</span>
      </Row>
    </>
  );
}

function layersText(layers: number, layered: boolean): string {
  switch (layers) {
    case 0:
      return 'nothing yet';
    case 1:
      return layered ? 'base picture' : 'whole picture';
    case 2:
      return 'base + enhancement';
    default:
      return `base + ${layers - 1} enhancements`;
  }
}
