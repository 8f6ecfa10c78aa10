import { signal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { ChannelSign, Typing } from '../channels/signs';
import { UrgentMessages } from '../channels/urgent';
import { FullScreenIcon, OverlayIcon, SoundIcon } from '../common/icons';
import { useSession } from './context';
import { toggleFullScreen } from './full-screen';
import { LayerStrip } from './layer-strip';
import { Overlay } from './overlay';
import { useStatus } from './use-status';

const overlayOn = signal(true);

export function toggleOverlay(): void {
  overlayOn.value = !overlayOn.value;
}

export function Player({ box }: { readonly box: RefObject<HTMLElement | null> }) {
  const session = useSession();
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    if (canvas.current !== null) {
      session.start(canvas.current);
    }
  }, [session]);
  return (
    <section class="player" aria-label="Video" ref={box}>
      <div class="picture" style={{ '--aspect': aspect(session.store.hello.value?.video) }}>
        <canvas ref={canvas} data-testid="video" />
        <Banner />
        <ChannelSign channel={session.store.channel.value} />
        <Typing />
        <UrgentMessages
          messages={session.store.urgent.value}
          onSeen={(id) => session.request({ type: 'seen', id })}
          onClose={(id) => session.store.removeUrgent(id)}
        />
      </div>
      {overlayOn.value && <Overlay />}
      <LayerStrip />
      <Controls box={box} />
    </section>
  );
}

function Banner() {
  const { long, severity, isWait = false } = useStatus();
  return long === null ? null : (
    <div class={`banner ${severity}${isWait ? ' wait' : ''}`} data-testid="banner">
      <p>{long}</p>
      <StartAgain />
    </div>
  );
}

/** Starts again what has finished, while the program is there. */
function StartAgain() {
  const session = useSession();
  const { connection, finished } = session.store;
  return finished.value === null || connection.value.state !== 'open' ? null : (
    <button
      type="button"
      onClick={() => session.request({ type: 'restart' })}
      data-testid="start-again"
    >
      Start again
    </button>
  );
}

function Controls({ box }: { readonly box: RefObject<HTMLElement | null> }) {
  const session = useSession();
  const on = session.soundOn.value;
  const hasSound = (session.store.hello.value?.audio ?? null) !== null;
  return (
    <div class="player-controls">
      <button
        type="button"
        class="sound-button"
        aria-pressed={on}
        disabled={!hasSound}
        onClick={() => session.toggleSound()}
        title="Sound (M)"
        data-testid="sound"
      >
        <SoundIcon on={on} />
        {hasSound ? (on ? 'Sound on' : 'Sound off') : 'No sound'}
      </button>
      <button
        type="button"
        class="icon-button"
        aria-pressed={overlayOn.value}
        onClick={toggleOverlay}
        aria-label="Figures over the picture (S)"
        title="Figures (S)"
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
  );
}

function aspect(video: { width: number | null; height: number | null } | null | undefined): string {
  return `${video?.width || 16} / ${video?.height || 9}`;
}
