import { useEffect, useRef } from 'preact/hooks';
import { MicrophoneIcon } from '../../call/ui/icons';
import { Level } from '../../call/ui/level';
import { RemoveIcon } from '../../common/icons';
import { ConfirmRemoval } from '../../ui/confirm-removal';
import { HOST, type MemberEntry } from '../protocol/control';
import { noPicture } from '../words';
import { useRoom } from './context';
import { OwnPicture } from './own-picture';

/** Everybody, oneself last. */
export function Grid() {
  const { store } = useRoom();
  const members = store.members.value;
  const people = store.people.value;
  const isSpeaker = store.large.value !== null;
  const columns = isSpeaker ? people - 1 : Math.ceil(Math.sqrt(people));
  return (
    <ul
      class={isSpeaker ? 'grid speaker' : 'grid'}
      style={{ '--columns': columns }}
      data-people={people}
    >
      {members.map((member) => (
        <Tile key={member.number} member={member} />
      ))}
      <OwnTile />
    </ul>
  );
}

function Tile({ member }: { readonly member: MemberEntry }) {
  const session = useRoom();
  const { store } = session;
  const canvas = useRef<HTMLCanvasElement>(null);
  const { number, name, role, media, away } = member;
  useEffect(() => {
    if (canvas.current !== null) {
      session.showOn(number, canvas.current);
    }
  }, [session, number]);
  const screen = store.screenOf(number);
  const isSeen = media.camera === 'on' && !away && (screen?.shown ?? 0) > 0;
  const level = store.levels.value.get(number) ?? 0;
  return (
    <li
      class={store.large.value === number ? 'tile large' : 'tile'}
      data-testid={`member-${number}`}
      data-away={away}
    >
      <canvas
        ref={canvas}
        width={640}
        height={360}
        class={isSeen ? '' : 'hidden'}
        role="img"
        aria-label={`Picture of ${name}`}
        data-testid="picture"
        data-shown={screen?.shown ?? 0}
      />
      {!isSeen && <p class="no-picture">{noPicture(media.camera, away)}</p>}
      <Name name={name} isHost={role === HOST} isHeard={media.microphone === 'on'} level={level} />
      <button
        type="button"
        class="pin"
        aria-pressed={store.pinned.value === number}
        onClick={() => store.pin(number)}
        title={`Make ${name} large`}
        aria-label={`Make ${name} large`}
        data-testid={`pin-${number}`}
      />
      {store.isHost.value && <Remove member={member} />}
    </li>
  );
}

/** A host's. */
function Remove({ member }: { readonly member: MemberEntry }) {
  const session = useRoom();
  const asking = useRef<HTMLDialogElement>(null);
  const { number, name } = member;
  return (
    <>
      <button
        type="button"
        class="icon-button remove"
        onClick={() => asking.current?.showModal()}
        title={`Remove ${name}`}
        aria-label={`Remove ${name}`}
        data-testid={`remove-${number}`}
      >
        <RemoveIcon />
      </button>
      <ConfirmRemoval
        dialog={asking}
        id={`removal-${number}`}
        title={`Remove ${name}?`}
        keep="Keep"
        onRemove={() => session.remove(number)}
      >
        Who still has a link can come in again, unless the room is locked.
      </ConfirmRemoval>
    </>
  );
}

function OwnTile() {
  const { store, devices } = useRoom();
  return (
    <li class="tile own" data-testid="self-view">
      <OwnPicture />
      <Name
        name="You"
        isHost={store.isHost.value}
        isHeard={devices.microphone.state.value === 'on'}
        level={store.ourLevel.value}
      />
    </li>
  );
}

interface NameProps {
  readonly name: string;
  readonly isHost: boolean;
  readonly isHeard: boolean;
  readonly level: number;
}

function Name({ name, isHost, isHeard, level }: NameProps) {
  return (
    <p class="name">
      {!isHeard && <MicrophoneIcon on={false} />}
      <span>
        {name}
        {!isHeard && <span class="visually-hidden">, muted</span>}
      </span>
      {isHost && <span class="role">host</span>}
      <Level name={`How loud ${name} is`} level={isHeard ? level : 0} testId="level" />
    </p>
  );
}
