import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { Channel } from '../protocol/channel';
import { grouped, listed } from './finding';
import { marked, search } from './search';
import type { Stills, Tuner } from './tuner';
import { obstacleOf } from './words';

/** All channels, by groups. */
export function Guide({ tuner }: { readonly tuner: Tuner }) {
  const channels = tuner.store.channels.value;
  const found = listed(channels ?? [], search.value);
  return (
    <nav class="guide" aria-label="Channels" data-testid="guide">
      {grouped(found).map(([group, members]) => (
        <section key={group}>
          {group !== '' && <h2>{group}</h2>}
          <ul>
            {members.map((channel) => (
              <li key={channel.id}>
                <Card channel={channel} tuner={tuner} />
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

interface CardProps {
  readonly channel: Channel;
  readonly tuner: Tuner;
}

function Card({ channel, tuner }: CardProps) {
  const { number, name, programme } = channel;
  const { stills } = tuner;
  const isWatched = tuner.store.number.value === number;
  const isMarked = marked.value === number;
  const obstacle = obstacleOf(channel);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => watchVisibility(stills, channel.id, button.current), [stills, channel.id]);
  useEffect(() => {
    if (isWatched || isMarked) {
      button.current?.scrollIntoView({ block: 'nearest' });
    }
  }, [isWatched, isMarked]);
  return (
    <button
      type="button"
      class="channel"
      ref={button}
      aria-current={isWatched ? 'true' : undefined}
      data-obstacle={obstacle !== null}
      data-marked={isMarked}
      onClick={({ timeStamp }) => tuner.watch(number, performance.timeOrigin + timeStamp)}
      data-testid={`channel-${number}`}
    >
      {stills !== null && <Thumbnail channel={channel} stills={stills} />}
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

/** Tells who brings the pictures while the card is in view. */
function watchVisibility(
  stills: Stills | null,
  id: number,
  card: Element | null,
): (() => void) | undefined {
  if (stills === null || card === null) {
    return undefined;
  }
  const observer = new IntersectionObserver((entries) => {
    stills.setVisible(id, entries.at(-1)?.isIntersecting === true);
  });
  observer.observe(card);
  return () => {
    observer.disconnect();
    stills.setVisible(id, false);
  };
}

interface ThumbnailProps {
  readonly channel: Channel;
  readonly stills: Stills;
}

/** How it looks now, or some seconds ago; in words where there is nothing to see. */
function Thumbnail({ channel: { number, on_air }, stills }: ThumbnailProps) {
  const picture = stills.thumbnails.value.get(number);
  const canvas = useRef<HTMLCanvasElement>(null);
  // Before the next picture can come, which takes the memory of this one away.
  useLayoutEffect(() => draw(canvas, picture), [picture, on_air]);
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
