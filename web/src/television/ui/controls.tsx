import type { RefObject } from 'preact';
import { FullScreenIcon, OverlayIcon, SoundIcon, StepIcon } from '../../common/icons';
import { nowMs } from '../../media/now';
import { toggleFullScreen } from '../../ui/full-screen';
import { LATENCIES, latencyMs, volume } from '../state/settings';
import { excessWords } from '../words';
import { useSession } from './context';
import { areFiguresOn, toggleFigures } from './figures';

export function Controls({ box }: { readonly box: RefObject<HTMLElement | null> }) {
  const session = useSession();
  return (
    <div class="controls">
      <NowPlaying />
      {!session.isBound && <Steps />}
      <Sound />
      <Latency />
      <div class="buttons">
        <button
          type="button"
          class="icon-button"
          aria-pressed={areFiguresOn()}
          onClick={toggleFigures}
          aria-label="Figures over the picture (I)"
          title="Figures (I)"
        >
          <OverlayIcon />
        </button>
        <button
          type="button"
          class="icon-button"
          onClick={() => toggleFullScreen(box.current)}
          aria-label="Full screen (F)"
          title="Full screen (F)"
        >
          <FullScreenIcon />
        </button>
      </div>
    </div>
  );
}

function NowPlaying() {
  const { store } = useSession();
  const channel = store.channel.value;
  const { now, next } = channel?.programme ?? { now: null, next: null };
  return (
    <div class="now-playing" data-testid="now-playing">
      <b class="number">{channel?.number ?? '–'}</b>
      <div>
        <h2>{channel?.name ?? 'Television'}</h2>
        <p>
          {now ?? channel?.group ?? '\u00a0'}
          {next !== null && <span> · then {next}</span>}
        </p>
      </div>
    </div>
  );
}

function Steps() {
  const session = useSession();
  return (
    <div class="buttons">
      <button
        type="button"
        class="icon-button"
        onClick={() => session.step(-1, nowMs())}
        aria-label="Channel before (arrow up)"
        title="Channel before (↑)"
      >
        <StepIcon up />
      </button>
      <button
        type="button"
        class="icon-button"
        onClick={() => session.step(1, nowMs())}
        aria-label="Next channel (arrow down)"
        title="Next channel (↓)"
      >
        <StepIcon up={false} />
      </button>
    </div>
  );
}

function Sound() {
  const session = useSession();
  const on = session.soundOn.value;
  return (
    <div class="buttons sound">
      <button
        type="button"
        class="icon-button"
        aria-pressed={on}
        onClick={() => session.toggleSound()}
        aria-label={on ? 'Sound off (M)' : 'Sound on (M)'}
        title="Sound (M)"
        data-testid="sound"
      >
        <SoundIcon on={on} />
      </button>
      <input
        type="range"
        min="0"
        max="1"
        step="0.05"
        value={volume.value}
        onInput={({ currentTarget }) => session.setVolume(Number(currentTarget.value))}
        aria-label="Volume"
        title="Volume (← →)"
        data-testid="volume"
      />
    </div>
  );
}

function Latency() {
  const session = useSession();
  const excess = excessWords(session.store.report.value?.behindMs ?? null, latencyMs.value);
  return (
    <label class="latency-choice" title="How far behind live, at most">
      <span>Delay</span>
      <select
        value={String(latencyMs.value)}
        onChange={({ currentTarget }) => session.setLatency(Number(currentTarget.value))}
        data-testid="latency"
      >
        {LATENCIES.map(({ ms, name }) => (
          <option key={ms} value={String(ms)}>
            {name}, {ms < 1000 ? `${ms} ms` : `${ms / 1000} s`}
          </option>
        ))}
      </select>
      {excess !== null && (
        <b title="The network was late: it comes back slowly" data-testid="behind-now">
          {excess}
        </b>
      )}
    </label>
  );
}
