import { CopyField } from '../../ui/copy-field';
import { useCall } from './context';

/** What to send to somebody who is to call. */
export function Invite() {
  const { store } = useCall();
  const link = store.hello.value?.link ?? null;
  if (link === null || store.state.value?.state !== 'waiting') {
    return null;
  }
  return (
    <section class="panel card invite" aria-labelledby="invite-title">
      <h2 id="invite-title">Be called</h2>
      <p>
        Send this command to whom you want to talk to. Whoever has it can call you, so send it in a
        way that others do not read.
      </p>
      <CopyField
        text={`anabranch call '${link}'`}
        label="Command for the other end"
        copied="Copied. Send it to whom you want to talk to."
      />
    </section>
  );
}
