import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { SearchIcon } from '../../common/icons';
import { Figure } from '../../ui/figure';
import { milliseconds, percent, rate, whole } from '../../ui/format';
import { arranged, COLUMNS, type Column, HINTS, type Order, type Row, reordered } from '../rows';
import { duration } from '../words';
import { useDesk } from './context';

const search = signal('');
const order = signal<Order>({ column: 'sinceMs', descending: true });
const KEYS = Object.keys(COLUMNS) as Column[];

/** Who watches, by which networks, and how well. */
export function Viewers() {
  const desk = useDesk();
  const all = desk.rows.value;
  const rows = arranged(all, search.value, order.value);
  return (
    <section class="card panel viewers" aria-labelledby="viewers-title">
      <div class="panel-head">
        <h2 id="viewers-title">Viewers</h2>
        <OrderChoice />
        <label class="search">
          <SearchIcon />
          <input
            type="search"
            placeholder="Name, address, channel"
            aria-label="Search viewers"
            value={search.value}
            onInput={({ currentTarget }) => {
              search.value = currentTarget.value;
            }}
            data-testid="search"
          />
        </label>
      </div>
      {rows.length === 0 ? (
        <p class="empty">{all.length === 0 ? 'Nobody watches.' : 'No viewer has these words.'}</p>
      ) : (
        <Table rows={rows} />
      )}
    </section>
  );
}

/** Where there is no room for columns. */
function OrderChoice() {
  return (
    <label class="order">
      <span>Sort by</span>
      <select
        value={order.value.column}
        onChange={({ currentTarget }) => {
          order.value = reordered(order.peek(), currentTarget.value as Column);
        }}
      >
        {KEYS.map((column) => (
          <option key={column} value={column}>
            {COLUMNS[column]}
          </option>
        ))}
      </select>
    </label>
  );
}

function Table({ rows }: { readonly rows: readonly Row[] }) {
  return (
    <div class="table-box">
      <table data-testid="viewers">
        <thead>
          <tr>
            {KEYS.map((column) => (
              <Heading key={column} column={column} />
            ))}
            <th scope="col">Paths</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Line key={row.id} row={row} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Heading({ column }: { readonly column: Column }) {
  const { column: current, descending } = order.value;
  const isCurrent = column === current;
  const direction = descending ? 'descending' : 'ascending';
  return (
    <th scope="col" aria-sort={isCurrent ? direction : 'none'} data-column={column}>
      <button
        type="button"
        onClick={() => {
          order.value = reordered(order.peek(), column);
        }}
        data-testid={`sort-${column}`}
      >
        <span title={HINTS[column]}>{COLUMNS[column]}</span>
        <i aria-hidden="true">{isCurrent ? (descending ? '▾' : '▴') : ''}</i>
      </button>
    </th>
  );
}

function Line({ row }: { readonly row: Row }) {
  return (
    <tr data-testid="viewer">
      <th scope="row">
        {row.who}
        <small>
          {row.carrier === 'browser' ? 'in a browser' : 'native'}, {row.program}
        </small>
      </th>
      <Cell of="channel">
        <ChannelOf number={row.channel} />
      </Cell>
      <Cell of="kbps">
        <Figure quantity={rate(row.kbps)} />
        {row.reduction !== null && (
          <small class="reduced" data-testid="reduced">
            reduced: {row.reduction}
          </small>
        )}
      </Cell>
      <Cell of="roundTripMs">
        <Figure quantity={milliseconds(row.roundTripMs)} />
      </Cell>
      <Cell of="lossPercent">
        <Figure quantity={percent(row.lossPercent)} />
      </Cell>
      <Cell of="zaps">
        {whole(row.zaps)}
        {row.zapMs !== null && <small>last {row.zapMs.toFixed(0)} ms</small>}
      </Cell>
      <Cell of="missed">
        {whole(row.missed)}
        <small>of {whole(row.shown + row.missed)}</small>
      </Cell>
      <Cell of="sinceMs">{duration(row.sinceMs)}</Cell>
      <td class="paths" data-label="Paths">
        {row.paths.map((path) => (
          <span key={`${path.local} ${path.remote}`}>
            {path.remote}
            {row.paths.length > 1 && (
              <small>
                <Figure quantity={milliseconds(path.roundTripMs)} />,{' '}
                <Figure quantity={percent(path.lossPercent)} /> lost
              </small>
            )}
          </span>
        ))}
      </td>
    </tr>
  );
}

/** Says on a narrow screen which column it is of. */
function Cell({ of, children }: { readonly of: Column; readonly children: ComponentChildren }) {
  return (
    <td data-column={of} data-label={COLUMNS[of]}>
      {children}
    </td>
  );
}

function ChannelOf({ number }: { readonly number: number | null }) {
  const desk = useDesk();
  const name = desk.channels.value.find((channel) => channel.number === number)?.name;
  return number === null ? (
    <>–</>
  ) : (
    <>
      {number} <small>{name}</small>
    </>
  );
}
