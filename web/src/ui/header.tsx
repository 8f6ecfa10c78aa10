import { Logo } from '../common/icons';
import { useSession } from './context';
import { plain } from './format';
import { NumberField } from './number-field';
import { PageActions } from './page-actions';
import { useStatus } from './use-status';

export function Header() {
  const { store } = useSession();
  const status = useStatus();
  const hello = store.hello.value;
  return (
    <header>
      <h1>
        <Logo />
        anabranch
      </h1>
      <p class="title">{hello?.title ?? ''}</p>
      <p class={`pill ${status.severity}`} data-testid="status" role="status">
        {status.short}
      </p>
      <Latency />
      <PageActions />
    </header>
  );
}

function Latency() {
  const session = useSession();
  const { store } = session;
  const hello = store.hello.value;
  if (hello === null) {
    return null;
  }
  const latencyMs = store.stats.value?.latency_ms ?? hello.latency_ms;
  const advised = store.stats.value?.advised_latency_ms ?? null;
  const range = hello.controls.latency_ms;
  return (
    <div class="latency">
      <span class="latency-name">Latency</span>
      {range === null ? (
        <output>{plain(latencyMs)}</output>
      ) : (
        <NumberField
          label="Latency, ms"
          value={latencyMs}
          range={range}
          step={10}
          onChange={(latency_ms) => session.request({ type: 'set_latency', latency_ms })}
          testId="latency"
        />
      )}{' '}
      ms
      {advised !== null && (
        <span class="advised" title="From the round-trip time and loss measured">
          advised {plain(Math.round(advised))} ms
        </span>
      )}
    </div>
  );
}
