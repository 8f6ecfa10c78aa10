import { useEffect } from 'preact/hooks';
import type { Urgent } from '../protocol/channel';

interface Props {
  readonly messages: readonly Urgent[];
  /** A message is on the screen. */
  readonly onSeen: (id: number) => void;
  readonly onClose: (id: number) => void;
}

/** Over the picture, whatever is on. */
export function UrgentMessages({ messages, onSeen, onClose }: Props) {
  return (
    <div class="urgent" role="alert" data-testid="urgent">
      {messages.map((urgent) => (
        <Message key={urgent.id} urgent={urgent} onSeen={onSeen} onClose={onClose} />
      ))}
    </div>
  );
}

interface MessageProps extends Omit<Props, 'messages'> {
  readonly urgent: Urgent;
}

function Message({ urgent, onSeen, onClose }: MessageProps) {
  const { id, level, text } = urgent;
  useEffect(() => onceVisible(() => onSeen(id)), [id]);
  return (
    <div class={level} data-testid={`urgent-${id}`}>
      <b>{level === 'alarm' ? 'Alarm' : 'Notice'}</b>
      <p>{text}</p>
      <button type="button" onClick={() => onClose(id)}>
        Close
      </button>
    </div>
  );
}

/** Calls `then` once when the page is on the screen; returns what takes that back. */
function onceVisible(then: () => void): () => void {
  const check = () => {
    if (document.visibilityState === 'visible') {
      document.removeEventListener('visibilitychange', check);
      then();
    }
  };
  document.addEventListener('visibilitychange', check);
  check();
  return () => document.removeEventListener('visibilitychange', check);
}
