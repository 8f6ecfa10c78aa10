import { LAYER_MEASURES, type LayerMeasure, type LayerView } from '../state/layer-history';
import { Chart, type Line } from './chart';
import { useSession } from './context';
import { Figure } from './figure';
import { axisRate, rate, whole } from './format';

/**
 * How each measure is named and drawn; colour and dash together, so that neither has to tell
 * alone.
 */
const STYLE: Readonly<Record<LayerMeasure, { readonly name: string } & Omit<Line, 'column'>>> = {
  sent: { name: 'Sent', colour: '--muted' },
  in_time: { name: 'In time', colour: '--good', filled: true },
  late: { name: 'Late', colour: '--warning', dash: [1, 3] },
  retransmitted: { name: 'Sent again', colour: '--warning' },
  lifetime: { name: 'Abandoned: expired', colour: '--bad' },
  retransmissions: { name: 'Abandoned: retries used up', colour: '--bad', dash: [6, 3] },
  before_sending: { name: 'Abandoned: never sent', colour: '--bad', dash: [1, 3] },
};

const LINES: readonly Line[] = LAYER_MEASURES.map((measure, column) => ({
  column,
  ...STYLE[measure],
}));

export function LayerCards() {
  const { store } = useSession();
  const layers = store.hello.value?.layers ?? [];
  return (
    <section class="layers" aria-label="Layers">
      {layers.map(({ id, name }) => (
        <LayerCard key={id} id={id} name={name} view={store.layers.value.get(id) ?? null} />
      ))}
    </section>
  );
}

interface CardProps {
  readonly id: string;
  readonly name: string;
  readonly view: LayerView | null;
}

function LayerCard({ id, name, view }: CardProps) {
  const { store } = useSession();
  return (
    <article class="card layer" data-testid={`layer-${id}`} aria-labelledby={`layer-${id}`}>
      <h2 id={`layer-${id}`}>{name}</h2>
      <table>
        <thead>
          <tr>
            <th scope="col">
              <span class="visually-hidden">Measure</span>
            </th>
            <th scope="col">now</th>
            <th scope="col">messages</th>
          </tr>
        </thead>
        <tbody>
          {LAYER_MEASURES.filter((measure) => isMeasured(view, measure)).map((measure) => (
            <Row key={measure} measure={measure} view={view} />
          ))}
        </tbody>
      </table>
      <Chart
        store={store}
        timeline={() => store.layerHistory(id).timeline}
        lines={LINES}
        label={`${name}: sent, in time, late, sent again and abandoned, last 30 seconds`}
        topAtLeast={10}
        format={axisRate}
        path={null}
      />
    </article>
  );
}

/** A receiver does not know what its peer sends and abandons. */
function isMeasured(view: LayerView | null, measure: LayerMeasure): boolean {
  return view === null || view[measure].total !== null;
}

function Row({
  measure,
  view,
}: {
  readonly measure: LayerMeasure;
  readonly view: LayerView | null;
}) {
  const { name, colour, dash } = STYLE[measure];
  const measured = view?.[measure];
  return (
    <tr>
      <th scope="row">
        <svg class="swatch" viewBox="0 0 18 4" aria-hidden="true">
          <path
            d="M0 2h18"
            style={{ stroke: `var(${colour})` }}
            stroke-dasharray={dash?.join(' ')}
          />
        </svg>
        {name}
      </th>
      <td>
        <Figure quantity={rate(measured?.kbps ?? null)} />
      </td>
      <td data-testid={measure}>{whole(measured?.total?.messages ?? null)}</td>
    </tr>
  );
}
