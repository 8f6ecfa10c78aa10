import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { TEXT_CHARS_MAX } from '../protocol';
import { useExchange } from './context';
import { Attach, Files } from './files';

/** What was written, and a place to write. */
export function Texts() {
  const session = useExchange();
  const { store, isOpen, noTexts } = session;
  const to = `Write to ${session.others}`;
  const written = useSignal('');
  const list = useRef<HTMLOListElement>(null);
  const texts = store.texts.value;
  useEffect(() => {
    list.current?.scrollTo({ top: list.current.scrollHeight });
  }, [texts]);
  const read = () => {
    store.unread.value = 0;
  };
  const write = (event: Event) => {
    event.preventDefault();
    const text = written.value.trim();
    if (text !== '') {
      session.write(text);
      written.value = '';
      read();
    }
  };
  return (
    <section class="panel card texts" aria-labelledby="texts-title" onPointerDown={read}>
      <h2 id="texts-title">Texts and files</h2>
      <ol ref={list} aria-live="polite" data-testid="texts">
        {texts.length === 0 && <li class="muted">Nothing was written yet.</li>}
        {texts.map(({ name, member, at_us, text }) => (
          <li key={`${member} ${at_us}`} class={member === store.you.value ? 'mine' : ''}>
            <b>{member === store.you.value ? 'You' : name}</b>{' '}
            <time>{timeOf(store.localMs(at_us))}</time>
            <p>{text}</p>
          </li>
        ))}
      </ol>
      <Files />
      {noTexts !== null && (
        <p class="muted" data-testid="no-texts">
          {noTexts}
        </p>
      )}
      <form class="write" onSubmit={write}>
        <Attach />
        <input
          type="text"
          maxLength={TEXT_CHARS_MAX}
          placeholder={to}
          aria-label={to}
          disabled={noTexts !== null}
          value={written.value}
          onInput={({ currentTarget }) => {
            written.value = currentTarget.value;
          }}
          onFocus={read}
          data-testid="write"
        />
        <button type="submit" disabled={!isOpen || noTexts !== null} data-testid="send">
          Send
        </button>
      </form>
    </section>
  );
}

function timeOf(ms: number): string {
  return new Date(ms).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
}
