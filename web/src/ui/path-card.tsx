import { PATH_COLUMN, type PathView } from '../state/path-history';
import { Chart, type Line } from './chart';
import { useSession } from './context';
import { Figure } from './figure';
import {
  axisBytes,
  axisNumber,
  axisRate,
  bytes,
  milliseconds,
  percent,
  type Quantity,
  rate,
} from './format';
import { LinkControls } from './link-controls';
import { pathColour, pathName, STATE } from './path-words';

export function PathCards() {
  const { store } = useSession();
  const known = store.paths.value;
  return (
    <section class="paths" aria-label="Paths">
      {known.map((path, index) => (
        <PathCard key={path.id} path={path} place={index + 1} />
      ))}
      {known.length === 0 && <p class="card empty">No path yet.</p>}
    </section>
  );
}

interface CardProps {
  readonly path: PathView;
  /** In the list, from 1: its shortcut key. */
  readonly place: number;
}

function PathCard({ path, place }: CardProps) {
  const name = pathName(path);
  return (
    <article
      class="card path"
      data-testid={`path-${path.id}`}
      data-state={path.state}
      data-cut={path.link?.cut ?? false}
      style={{ '--path': `var(${pathColour(place)})` }}
      aria-label={`Path ${name}`}
    >
      <div class="path-head">
        <h2>{name}</h2>
        <span class={`pill ${STATE[path.state].severity}`} data-testid="path-state">
          {STATE[path.state].text}
        </span>
        {path.primary && (
          <span class="pill primary" data-testid="path-primary">
            Primary
          </span>
        )}
        <span class="addresses" title={`${path.local} → ${path.remote}`}>
          {path.local} → {path.remote}
        </span>
      </div>
      <div class="tiles">
        <RateTile path={path} place={place} />
        <RttTile path={path} place={place} />
        {/* A receiver knows neither of its peer. */}
        {path.lost_packets !== null && <LossTile path={path} />}
        {path.cwnd_bytes !== null && <WindowTile path={path} place={place} />}
      </div>
      {path.link !== null && <LinkControls path={path} link={path.link} place={place} />}
    </article>
  );
}

interface TileProps {
  readonly path: PathView;
  readonly title: string;
  readonly figures: readonly {
    readonly name?: string;
    readonly of: Quantity;
    readonly id: string;
  }[];
  readonly lines: readonly Line[];
  readonly topAtLeast: number;
  readonly topAtMost?: number;
  readonly format: (value: number) => string;
}

function Tile({ path, title, figures, lines, format, ...scale }: TileProps) {
  const { store } = useSession();
  return (
    <div class="tile">
      <div class="tile-head">
        <h3>{title}</h3>
        {figures.map(({ name, of, id }) => (
          <span key={id} class="tile-figure">
            {name !== undefined && <span class="tile-name">{name}</span>}
            <Figure quantity={of} testId={id} />
          </span>
        ))}
      </div>
      <Chart
        store={store}
        timeline={() => store.pathHistory(path.id).timeline}
        lines={lines}
        label={`${title} of ${pathName(path)}, last 30 seconds`}
        {...scale}
        format={format}
        path={path.id}
        cutColumn={PATH_COLUMN.cut}
      />
    </div>
  );
}

interface PathProps {
  readonly path: PathView;
  readonly place: number;
}

function RateTile({ path, place }: PathProps) {
  return (
    <Tile
      path={path}
      title="Rate"
      figures={[
        ...(path.sent_bytes === null
          ? []
          : [{ name: 'sent', of: rate(path.sentKbps), id: 'sent-rate' }]),
        { name: 'arrived', of: rate(path.deliveredKbps), id: 'delivered-rate' },
      ]}
      lines={[
        { column: PATH_COLUMN.linkKbps, colour: '--muted', dash: [2, 3] },
        { column: PATH_COLUMN.sentKbps, colour: '--muted' },
        { column: PATH_COLUMN.deliveredKbps, colour: pathColour(place), filled: true },
      ]}
      topAtLeast={100}
      format={axisRate}
    />
  );
}

function RttTile({ path, place }: PathProps) {
  return (
    <Tile
      path={path}
      title="Round trip"
      figures={[{ of: milliseconds(path.rtt_ms), id: 'rtt' }]}
      lines={[{ column: PATH_COLUMN.rttMs, colour: pathColour(place), filled: true }]}
      topAtLeast={20}
      format={(ms) => axisNumber(ms, 'ms')}
    />
  );
}

function LossTile({ path }: { readonly path: PathView }) {
  return (
    <Tile
      path={path}
      title="Loss"
      figures={[{ of: percent(path.lossPercent), id: 'loss' }]}
      lines={[{ column: PATH_COLUMN.lossPercent, colour: '--bad', filled: true }]}
      topAtLeast={2}
      topAtMost={100}
      format={(share) => axisNumber(share, '%')}
    />
  );
}

function WindowTile({ path, place }: PathProps) {
  return (
    <Tile
      path={path}
      title="Window"
      figures={[
        { of: bytes(path.cwnd_bytes), id: 'cwnd' },
        { name: 'flight', of: bytes(path.flight_bytes), id: 'flight' },
      ]}
      lines={[
        { column: PATH_COLUMN.cwndBytes, colour: pathColour(place) },
        { column: PATH_COLUMN.flightBytes, colour: '--muted', filled: true },
      ]}
      topAtLeast={10_000}
      format={axisBytes}
    />
  );
}
