import { useSignal } from '@preact/signals';
import type { Message, NewMessage } from '../answers';
import { useDesk } from './context';

const TEXT_MAX = 500;

/** Messages over the picture: a new one, and those that hold. */
export function UrgentDesk() {
  const desk = useDesk();
  const messages = desk.messages.value;
  return (
    <section class="card panel urgent-desk" aria-labelledby="urgent-title">
      <div class="panel-head">
        <h2 id="urgent-title">Urgent messages</h2>
      </div>
      <NewUrgent />
      <ul data-testid="messages">
        {messages.map((message) => (
          <Holding key={message.id} message={message} />
        ))}
      </ul>
      {messages.length === 0 && <p class="empty">None is on the screens.</p>}
    </section>
  );
}

function NewUrgent() {
  const desk = useDesk();
  const wrong = useSignal<string | null>(null);
  const onSubmit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    wrong.value = await desk.warn(messageOf(new FormData(form)));
    if (wrong.peek() === null) {
      form.reset();
    }
  };
  return (
    <form class="new-urgent" onSubmit={(event) => void onSubmit(event)}>
      <label class="field wide">
        <span>Shown over the picture, at once</span>
        <textarea name="text" rows={2} required maxLength={TEXT_MAX} data-testid="urgent-text" />
      </label>
      <label class="field">
        <span>Level</span>
        <select name="level" data-testid="urgent-level">
          <option value="notice">Notice</option>
          <option value="alarm">Alarm</option>
        </select>
      </label>
      <label class="field">
        <span>To</span>
        <select name="channel" data-testid="urgent-to">
          <option value="">all viewers</option>
          {desk.channels.value.map(({ number, name }) => (
            <option key={number} value={String(number)}>
              {number} {name}
            </option>
          ))}
        </select>
      </label>
      <button type="submit" class="main-button" data-testid="urgent-send">
        Show
      </button>
      {wrong.value !== null && (
        <p class="bad wide" role="alert">
          {wrong.value}
        </p>
      )}
    </form>
  );
}

function Holding({ message }: { readonly message: Message }) {
  const desk = useDesk();
  const { id, level, text, channel, seen, viewers } = message;
  return (
    <li class={level} data-testid={`message-${id}`}>
      <b class="pill">{level === 'alarm' ? 'Alarm' : 'Notice'}</b>
      <div>
        <p>{text}</p>
        <small>
          {channel === null ? 'To all' : `To channel ${channel}`}: on {seen} of {viewers}{' '}
          {viewers === 1 ? 'screen' : 'screens'}
        </small>
        <progress max={Math.max(1, viewers)} value={seen} aria-label="Screens that show it" />
      </div>
      <button type="button" onClick={() => void desk.endMessage(id)} data-testid="end">
        End
      </button>
    </li>
  );
}

function messageOf(form: FormData): NewMessage {
  const channel = Number(form.get('channel'));
  return {
    level: form.get('level') === 'alarm' ? 'alarm' : 'notice',
    text: String(form.get('text') ?? '').trim(),
    ...(channel > 0 ? { channel } : {}),
  };
}
