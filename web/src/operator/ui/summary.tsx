import type { ComponentChildren } from 'preact';
import { milliseconds, type Quantity, rate } from '../../ui/format';
import { median, sum } from '../rows';
import { useDesk } from './context';

/** The whole in four figures. */
export function Summary() {
  const desk = useDesk();
  const rows = desk.rows.value;
  const channels = desk.channels.value;
  const native = rows.filter(({ carrier }) => carrier === 'native').length;
  const onAir = channels.filter(({ on_air }) => on_air).length;
  const kbps = sum(rows.map((row) => row.kbps ?? 0));
  const roundTrip = median(rows.map(({ roundTripMs }) => roundTripMs));
  return (
    <dl class="summary" data-testid="summary">
      <Tile name="Viewers" value={String(rows.length)} testId="viewer-count">
        {rows.length - native} in browsers, {native} native
      </Tile>
      <Tile name="Sending" {...rate(kbps)} testId="sending">
        to all of them
      </Tile>
      <Tile name="On air" value={String(onAir)} unit={`of ${channels.length}`} testId="on-air">
        channels
      </Tile>
      <Tile name="Round trip" {...milliseconds(roundTrip)} testId="round-trip">
        of the median viewer
      </Tile>
    </dl>
  );
}

interface Props extends Partial<Quantity> {
  readonly name: string;
  readonly testId: string;
  readonly children: ComponentChildren;
}

function Tile({ name, value, unit, testId, children }: Props) {
  return (
    <div class="card">
      <dt>{name}</dt>
      <dd>
        <b data-testid={testId}>{value}</b> <span class="unit">{unit}</span>
        <small>{children}</small>
      </dd>
    </div>
  );
}
