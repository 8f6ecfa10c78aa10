import type { ProgramEvent } from '../protocol/program';
import { clock } from './format';

/** What happened, in words, the newest first. */
export function EventLog({ events }: { readonly events: readonly ProgramEvent[] }) {
  return (
    <section class="events card" aria-labelledby="events-title">
      <h2 id="events-title">What happened</h2>
      <p class="visually-hidden" aria-live="polite" data-testid="latest-event">
        {events.at(-1)?.text ?? ''}
      </p>
      {/* The list scrolls, so the keyboard must reach it. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region is focusable */}
      <ol tabIndex={0} aria-labelledby="events-title" data-testid="events">
        {events.length === 0 && <li class="empty">Nothing yet.</li>}
        {events.toReversed().map((event) => (
          <Line key={event.id} event={event} />
        ))}
      </ol>
    </section>
  );
}

/** The program's clock counts from its start: what came before the page has its own time. */
function Line({ event }: { readonly event: ProgramEvent }) {
  return (
    <li class={event.severity} data-kind={event.kind}>
      <time>{clock(event.at_us / 1e6)}</time>
      <span>{event.text}</span>
    </li>
  );
}
