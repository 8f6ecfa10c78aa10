import { useSession } from './context';
import { Figure } from './figure';
import { milliseconds, rate, signedMilliseconds, whole } from './format';

/** What is on the screen, in figures. */
export function Overlay() {
  const { store } = useSession();
  const { value: screen } = store.screen;
  const { value: stats } = store.stats;
  const layered = store.hello.value?.layers.some(({ id }) => id === 'enhancement') ?? false;
  return (
    <dl class="overlay" data-testid="overlay">
      <div class="wide">
        <dt>On screen</dt>
        <dd data-testid="layers-shown">{layersText(screen?.layers ?? 0, layered)}</dd>
      </div>
      <div>
        <dt>Picture</dt>
        <dd>
          <Figure quantity={{ value: (screen?.fps ?? 0).toFixed(0), unit: 'fps' }} testId="fps" />
        </dd>
      </div>
      <div>
        <dt>Rate</dt>
        <dd>
          <Figure quantity={rate(screen?.kbps ?? null)} />
        </dd>
      </div>
      <div>
        <dt>Delay</dt>
        <dd>
          <Figure quantity={milliseconds(stats?.delay_ms?.now ?? null)} testId="delay-now" />
        </dd>
      </div>
      <div>
        <dt>Delay p95</dt>
        <dd>
          <Figure quantity={milliseconds(stats?.delay_ms?.p95 ?? null)} testId="delay-p95" />
        </dd>
      </div>
      <div>
        <dt>Longest gap</dt>
        <dd>
          <Figure quantity={milliseconds(screen?.longestGapMs ?? null)} testId="longest-gap" />
        </dd>
      </div>
      <div>
        <dt>Sound offset</dt>
        <dd>
          <Figure quantity={signedMilliseconds(screen?.skewMs ?? null)} testId="av-skew" />
        </dd>
      </div>
      <Count name="Shown" value={screen?.displayed ?? 0} testId="page-frames" />
      <Count name="Late" value={stats?.frames.late ?? null} testId="frames-late" />
      <Count name="Lost" value={stats?.frames.lost ?? null} testId="frames-lost" />
      <Count name="Abandoned" value={store.abandoned.value} testId="abandoned" />
    </dl>
  );
}

interface CountProps {
  readonly name: string;
  readonly value: number | null;
  readonly testId: string;
}

function Count({ name, value, testId }: CountProps) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <span class="figure-value" data-testid={testId}>
          {whole(value)}
        </span>
      </dd>
    </div>
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
