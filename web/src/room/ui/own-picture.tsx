import { useEffect, useRef } from 'preact/hooks';
import { noPicture } from '../words';
import { useRoom } from './context';

/** What the own camera sees, as in a mirror. */
export function OwnPicture() {
  const { devices } = useRoom();
  const player = useRef<HTMLVideoElement>(null);
  const track = devices.camera.track.value;
  useEffect(() => {
    if (player.current !== null) {
      player.current.srcObject = track === null ? null : new MediaStream([track]);
    }
  }, [track]);
  return (
    <>
      <video ref={player} class="mirror" autoplay muted playsInline aria-label="Your own picture" />
      {track === null && <p class="no-picture">{noPicture(devices.camera.state.value, false)}</p>}
    </>
  );
}
