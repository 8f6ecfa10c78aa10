import type { Severity } from '../../protocol/program';
import { Figure } from '../../ui/figure';
import { milliseconds, percent, type Quantity, rate } from '../../ui/format';
import type { Term } from '../../ui/help-dialog';
import { pathColour, pathName, STATE } from '../../ui/path-words';
import { type CallPath, PATH_USES, type PathUse } from '../protocol/agent';
import type { NetworkRequest } from '../protocol/requests';
import { carriesWords, handoffWords } from '../words';

const USES: Readonly<Record<PathUse, string>> = { use: 'Use', spare: 'Spare', never: 'Never' };
const MEANS: Readonly<Record<PathUse, string>> = {
  use: 'It carries voice and pictures.',
  spare: 'It carries nothing while another one stands.',
  never: 'It is closed.',
};
export const NETWORK_TERMS: readonly Term[] = [
  ['Use', 'this network carries voice and pictures'],
  ['Spare', 'it carries nothing while another one stands, and takes over when none does'],
  ['Never', 'it is closed, at once'],
  ['Primary', 'pictures take it as long as it carries them'],
  ['Leave', 'goes over to another network without any gap, then closes this one'],
  ['Voice over two', 'voice goes over two networks at once: one can die and no syllable is lost'],
];

const CLOSED = { text: 'Closed', severity: 'info' } as const;

interface PathsProps {
  readonly paths: readonly CallPath[];
  /** Whether voice goes over two; null where nothing is known yet. */
  readonly isTwice: boolean | null;
  /** A sentence about where they lead, if there is one. */
  readonly note?: string | null;
  readonly request: (request: NetworkRequest) => void;
}

/** Every network of this machine, and what it does for the call. */
export function Paths({ paths, isTwice, note = null, request }: PathsProps) {
  const standing = paths.filter(({ state, use }) => state === 'active' && use !== 'never');
  return (
    <section class="panel card call-paths" aria-labelledby="paths-title">
      <div class="panel-head">
        <h2 id="paths-title">Networks</h2>
        {isTwice !== null && paths.length > 1 && (
          <label class="twice">
            <input
              type="checkbox"
              checked={isTwice}
              onChange={({ currentTarget }) =>
                request({ type: 'voice_twice', on: currentTarget.checked })
              }
              data-testid="voice-twice"
            />
            Voice over two
          </label>
        )}
      </div>
      {note !== null && (
        <p class="why" data-testid="networks-note">
          {note}
        </p>
      )}
      {paths.length === 0 && <p class="empty">None is known yet.</p>}
      {paths.map((path, index) => (
        <Path
          key={path.id}
          path={path}
          place={index + 1}
          canLeave={standing.some(({ id }) => id !== path.id) && standing.includes(path)}
          request={request}
        />
      ))}
    </section>
  );
}

interface PathProps {
  readonly path: CallPath;
  /** In the list, from 1: its colour. */
  readonly place: number;
  /** Whether another one can do its work. */
  readonly canLeave: boolean;
  readonly request: (request: NetworkRequest) => void;
}

function Path({ path, place, canLeave, request }: PathProps) {
  const name = pathName(path);
  const state: { readonly text: string; readonly severity: Severity } =
    path.state === 'closed' ? CLOSED : STATE[path.state];
  const handoff = handoffWords(path.handoff_ms);
  return (
    <article
      class="call-path"
      style={{ '--path': `var(${pathColour(place)})` }}
      aria-label={`Network ${name}`}
      data-testid={`path-${path.id}`}
      data-state={path.state}
    >
      <div class="path-head">
        <h3>{name}</h3>
        <span class={`pill ${state.severity}`} data-testid="path-state">
          {state.text}
        </span>
        <span class="addresses" title={`${path.local} → ${path.remote}`}>
          {path.local} → {path.remote}
        </span>
      </div>
      <dl class="path-figures">
        <PathFigure name="Round trip" of={milliseconds(path.rtt_ms)} testId="rtt" />
        <PathFigure name="Loss" of={percent(path.loss_percent)} testId="loss" />
        <PathFigure name="Sends" of={rate(path.sends_kbps)} testId="sends" />
        <PathFigure name="Receives" of={rate(path.receives_kbps)} testId="receives" />
        <div class="carries">
          <dt>Carries</dt>
          <dd data-testid="carries">{carriesWords(path.carries)}</dd>
        </div>
      </dl>
      {handoff !== null && (
        <p class="handoff" data-testid="handoff">
          {handoff}
        </p>
      )}
      <div class="path-controls">
        <UseSwitch path={path} name={name} request={request} />
        <button
          type="button"
          aria-pressed={path.primary}
          disabled={path.use !== 'use' || path.state === 'closed'}
          onClick={() => request({ type: 'primary', path: path.id })}
          title="Pictures take the primary one as long as it carries them"
          data-testid="primary"
        >
          Primary
        </button>
        <button
          type="button"
          disabled={!canLeave}
          onClick={() => request({ type: 'leave', path: path.id })}
          title="Goes over to another one without any gap, then closes this one"
          data-testid="leave"
        >
          Leave
        </button>
      </div>
    </article>
  );
}

interface UseProps {
  readonly path: CallPath;
  readonly name: string;
  readonly request: (request: NetworkRequest) => void;
}

function UseSwitch({ path, name, request }: UseProps) {
  return (
    <fieldset class="use-switch">
      <legend class="visually-hidden">What {name} is for</legend>
      {PATH_USES.map((use) => (
        <label key={use} title={MEANS[use]}>
          <input
            type="radio"
            name={`use-${path.id}`}
            value={use}
            checked={path.use === use}
            onChange={() => request({ type: 'path_use', path: path.id, use })}
            data-testid={`use-${use}`}
          />
          <span>{USES[use]}</span>
        </label>
      ))}
    </fieldset>
  );
}

interface FigureProps {
  readonly name: string;
  readonly of: Quantity;
  readonly testId: string;
}

function PathFigure({ name, of, testId }: FigureProps) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <Figure quantity={of} testId={testId} />
      </dd>
    </div>
  );
}
