import { useSession } from './context';

/** In the place of the picture that a radio channel does not have. */
export function Radio() {
  const { store, soundOn } = useSession();
  const channel = store.channel.value;
  if (!store.isRadio.value || channel === null) {
    return null;
  }
  return (
    <div class="banner radio" role="status" data-testid="radio">
      <p>
        <b>{channel.name}</b>
      </p>
      <p>{channel.programme.now ?? 'Radio: sound only.'}</p>
      {!soundOn.value && <p>Press M for the sound.</p>}
    </div>
  );
}
