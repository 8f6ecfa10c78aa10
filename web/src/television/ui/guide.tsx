import { signal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Channel } from '../protocol/control';
import type { Session } from '../state/session';
import { matching, obstacleOf } from '../words';
import { useSession } from './context';

export const search = signal('');

/** All channels, by groups. */
export function Guide() {
  const { store } = useSession();
  const channels = store.channels.value;
  const found = matching(channels ?? [], search.value);
  return (
    <nav class="guide" aria-label="Channels" data-testid="guide">
      {grouped(found).map(([group, members]) => (
        <section key={group}>
          {group !== '' && <h2>{group}</h2>}
          <ul>
            {members.map((channel) => (
              <li key={channel.id}>
                <Card channel={channel} />
              </li>
            ))}
          </ul>
        </section>
      ))}
      {channels !== null && found.length === 0 && (
        <p class="empty">
          {channels.length === 0 ? 'This server has no channels yet.' : 'No channel is called so.'}
        </p>
      )}
    </nav>
  );
}

function Card({ channel }: { readonly channel: Channel }) {
  const session = useSession();
  const { number, name, programme } = channel;
  const isWatched = session.store.number.value === number;
  const obstacle = obstacleOf(channel);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => watchVisibility(session, channel.id, button.current), [session, channel.id]);
  useEffect(() => {
    if (isWatched) {
      button.current?.scrollIntoView({ block: 'nearest' });
    }
  }, [isWatched]);
  return (
    <button
      type="button"
      class="channel"
      ref={button}
      aria-current={isWatched ? 'true' : undefined}
      data-obstacle={obstacle !== null}
      onClick={({ timeStamp }) => session.watch(number, performance.timeOrigin + timeStamp)}
      data-testid={`channel-${number}`}
    >
      <Thumbnail channel={channel} />
      <span class="channel-words">
        <span class="channel-name">
          <b>{number}</b> {name}
        </span>
        {obstacle === null ? (
          <>
            <span class="channel-now">{programme.now}</span>
            {programme.next !== null && <span class="channel-next">then {programme.next}</span>}
          </>
        ) : (
          <span class="channel-obstacle">{obstacle}</span>
        )}
      </span>
    </button>
  );
}

/** Tells the session while the card is in view. */
function watchVisibility(session: Session, id: number, card: Element | null): () => void {
  const observer = new IntersectionObserver((entries) => {
    session.setVisible(id, entries.at(-1)?.isIntersecting === true);
  });
  if (card !== null) {
    observer.observe(card);
  }
  return () => {
    observer.disconnect();
    session.setVisible(id, false);
  };
}

/** How it looks now, or some seconds ago; in words where there is nothing to see. */
function Thumbnail({ channel: { number, on_air } }: { readonly channel: Channel }) {
  const { store } = useSession();
  const picture = store.thumbnails.value.get(number);
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => draw(canvas, picture), [picture, on_air]);
  return (
    <span class="thumbnail" aria-hidden="true">
      {picture !== undefined && on_air ? (
        <canvas
          ref={canvas}
          width={picture.width}
          height={picture.height}
          data-testid={`thumbnail-${number}`}
        />
      ) : (
        <b class={on_air ? undefined : 'off-air'}>{on_air ? number : 'off air'}</b>
      )}
    </span>
  );
}

function draw(canvas: RefObject<HTMLCanvasElement | null>, picture: ImageBitmap | undefined): void {
  if (picture !== undefined) {
    canvas.current?.getContext('2d')?.drawImage(picture, 0, 0);
  }
}

/** Groups in the order of their first channels. */
function grouped(channels: readonly Channel[]): [group: string, members: Channel[]][] {
  const groups = new Map<string, Channel[]>();
  for (const channel of channels) {
    const group = channel.group ?? '';
    groups.set(group, [...(groups.get(group) ?? []), channel]);
  }
  return [...groups];
}
