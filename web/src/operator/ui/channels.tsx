import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { RemoveIcon, RestartIcon } from '../../common/icons';
import { ConfirmRemoval } from '../../ui/confirm-removal';
import { Figure } from '../../ui/figure';
import { rate } from '../../ui/format';
import type { Channel } from '../answers';
import { stateOf } from '../words';
import { AddChannel } from './add-channel';
import { useDesk } from './context';

/** What there is to watch: its state, and what can be done about it. */
export function Channels() {
  const desk = useDesk();
  const channels = desk.channels.value;
  const adding = useRef<HTMLDialogElement>(null);
  return (
    <section class="card panel channels" aria-labelledby="channels-title">
      <div class="panel-head">
        <h2 id="channels-title">Channels</h2>
        <button type="button" onClick={() => adding.current?.showModal()} data-testid="add">
          Add a channel
        </button>
      </div>
      {channels.length === 0 ? (
        <p class="empty">There are no channels.</p>
      ) : (
        <ul data-testid="channels">
          {channels.map((channel) => (
            <Line key={channel.number} channel={channel} />
          ))}
        </ul>
      )}
      <AddChannel dialog={adding} />
    </section>
  );
}

function Line({ channel }: { readonly channel: Channel }) {
  const { number, name, group, viewers, bits_per_second } = channel;
  const { severity, word, why } = stateOf(channel);
  return (
    <li data-testid={`channel-${number}`}>
      <b class="number">{number}</b>
      <div class="channel-name">
        <span>{name}</span>
        <small>{why ?? group}</small>
      </div>
      <span class={`pill ${severity}`}>{word}</span>
      <span class="amount watched">
        {viewers} <span class="unit">{viewers === 1 ? 'viewer' : 'viewers'}</span>
      </span>
      <span class="amount">
        <Figure quantity={rate(channel.on_air ? bits_per_second / 1000 : null)} />
      </span>
      <Actions channel={channel} />
    </li>
  );
}

function Actions({ channel }: { readonly channel: Channel }) {
  const desk = useDesk();
  const busy = useSignal(false);
  const asking = useRef<HTMLDialogElement>(null);
  const { number, name, viewers } = channel;
  const restart = async () => {
    busy.value = true;
    await desk.restart(channel);
    busy.value = false;
  };
  return (
    <span class="buttons">
      <button
        type="button"
        class="icon-button"
        disabled={busy.value}
        onClick={() => void restart()}
        aria-label={`Restart ${number} ${name}: read its source anew`}
        title="Restart: read its source anew"
        data-testid="restart"
      >
        <RestartIcon />
      </button>
      <button
        type="button"
        class="icon-button"
        onClick={() => asking.current?.showModal()}
        aria-label={`Remove ${number} ${name}`}
        title="Remove"
        data-testid="remove"
      >
        <RemoveIcon />
      </button>
      <ConfirmRemoval
        dialog={asking}
        id={`remove-${number}`}
        title={`Remove ${number} ${name}?`}
        keep="Keep it"
        onRemove={() => void desk.remove(channel)}
      >
        {watchedBy(viewers)} It comes back with the server, if it stands in the server's file.
      </ConfirmRemoval>
    </span>
  );
}

function watchedBy(viewers: number): string {
  if (viewers === 0) {
    return 'Nobody watches it.';
  }
  return viewers === 1 ? 'One viewer watches it.' : `${viewers} viewers watch it.`;
}
