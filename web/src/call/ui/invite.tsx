import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { useCall } from './context';

/** What to send to somebody who is to call. */
export function Invite() {
  const { store } = useCall();
  const link = store.hello.value?.link ?? null;
  const field = useRef<HTMLInputElement>(null);
  const said = useSignal('');
  if (link === null || store.state.value?.state !== 'waiting') {
    return null;
  }
  const command = `anabranch call '${link}'`;
  const copy = async () => {
    field.current?.select();
    try {
      await navigator.clipboard.writeText(command);
      said.value = 'Copied. Send it to whom you want to talk to.';
    } catch {
      said.value = 'It is selected: copy it with your keyboard.';
    }
  };
  return (
    <section class="panel card invite" aria-labelledby="invite-title">
      <h2 id="invite-title">Be called</h2>
      <p>
        Send this command to whom you want to talk to. Whoever has it can call you, so send it in a
        way that others do not read.
      </p>
      <div class="copy">
        <input
          ref={field}
          type="text"
          readOnly
          value={command}
          aria-label="Command for the other end"
          data-testid="invite-link"
          onFocus={({ currentTarget }) => currentTarget.select()}
        />
        <button type="button" onClick={() => void copy()} data-testid="copy">
          Copy
        </button>
      </div>
      <p class="said" role="status" data-testid="copied">
        {said.value}
      </p>
    </section>
  );
}
