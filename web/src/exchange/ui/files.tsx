import { useRef } from 'preact/hooks';
import { RemoveIcon } from '../../common/icons';
import { bytes, words } from '../../ui/format';
import type { Progress } from '../files/desk';
import type { FileEntry } from '../protocol';
import { useExchange } from './context';
import { AttachIcon } from './icons';

/** What others have for us, and we for them; nothing where there is nothing. */
export function Files() {
  const { store, filesReport } = useExchange();
  const files = store.files.value;
  const reading = filesReport?.reading ?? null;
  if (files.length === 0 && reading === null) {
    return null;
  }
  return (
    <ul class="files" aria-label="Files" data-testid="files">
      {files.map((file) => (
        <File key={file.file} file={file} />
      ))}
      {reading !== null && (
        <li>
          <p class="file-name">{reading.name}</p>
          <p class="muted">Reading it …</p>
          <progress value={reading.share} aria-label={`How much of ${reading.name} is read`} />
        </li>
      )}
    </ul>
  );
}

function File({ file }: { readonly file: FileEntry }) {
  const session = useExchange();
  const { store } = session;
  const { name, size, member, sha256 } = file;
  const isOurs = member === store.you.value;
  const owner = session.nameOf(member);
  const progress = session.filesReport?.progress.find((it) => it.sha256 === sha256);
  return (
    <li data-testid={`file-${file.file}`}>
      <p class="file-name" title={name}>
        {name}
      </p>
      <p class="muted">
        {words(bytes(size))}, {isOurs ? 'yours' : `from ${owner}`}
      </p>
      {isOurs ? (
        <button
          type="button"
          class="icon-button"
          onClick={() => session.withdraw(file.file)}
          title={`Let nobody have ${name} any more`}
          aria-label={`Let nobody have ${name} any more`}
          data-testid="withdraw"
        >
          <RemoveIcon />
        </button>
      ) : (
        <Getting file={file} progress={progress} />
      )}
    </li>
  );
}

interface GettingProps {
  readonly file: FileEntry;
  readonly progress: Progress | undefined;
}

function Getting({ file, progress }: GettingProps) {
  const session = useExchange();
  const { name, size, sha256 } = file;
  if (progress?.state === 'running') {
    return (
      <>
        <progress value={progress.bytes / size} aria-label={`How much of ${name} is here`} />
        <button
          type="button"
          onClick={() => session.stopGetting(sha256)}
          aria-label={`Stop getting ${name}`}
          data-testid="stop"
        >
          Stop
        </button>
      </>
    );
  }
  const isSaved = progress?.state === 'done';
  return (
    <button
      type="button"
      onClick={() => session.get(file.file)}
      aria-label={isSaved ? `Save ${name} again` : `Get ${name}`}
      data-testid="get"
    >
      {isSaved ? 'Save again' : 'Get'}
    </button>
  );
}

/** Chooses files that others may have. */
export function Attach() {
  const session = useExchange();
  const input = useRef<HTMLInputElement>(null);
  const to = `Offer files to ${session.others}`;
  const offer = () => {
    session.offer([...(input.current?.files ?? [])]);
    if (input.current !== null) {
      input.current.value = '';
    }
  };
  return (
    <>
      <input ref={input} type="file" multiple hidden onChange={offer} data-testid="choose-files" />
      <button
        type="button"
        class="icon-button"
        disabled={!session.isOpen || session.noFiles !== null}
        onClick={() => input.current?.click()}
        title={session.noFiles ?? to}
        aria-label={to}
        data-testid="attach"
      >
        <AttachIcon />
      </button>
    </>
  );
}
