/** The data channels of a room: each class has its own, as in a call; the last is for files. */

import { FILES_STREAM } from '../../exchange/files/blocks';
import { CONTROL_STREAM } from '../../rtc/link';
import type { Role } from './media';

const STREAM: Readonly<Record<Role, number>> = { key: 2, voice: 3, reference: 4, disposable: 6 };

/** How long each is of use to those who hear and see it. */
const LIFETIME_MS: Readonly<Record<Role, number>> = {
  key: 1_000,
  voice: 400,
  reference: 600,
  disposable: 250,
};
const STREAMS = FILES_STREAM + 1;
const ROLES = Object.keys(STREAM) as readonly Role[];

/** The channel of a class. */
export function streamOf(role: Role): number {
  return STREAM[role];
}

/** The streams of pictures. */
export const PICTURE_STREAMS: readonly number[] = [STREAM.key, STREAM.reference, STREAM.disposable];

/** All channels, by their ids: what we send on each is given up when it is of no use any more. */
export const CHANNELS: readonly RTCDataChannelInit[] = Array.from({ length: STREAMS }, (_, id) => {
  const role = ROLES.find((role) => STREAM[role] === id);
  if (id === CONTROL_STREAM || role === undefined) {
    return { ordered: true };
  }
  return { ordered: false, maxPacketLifeTime: LIFETIME_MS[role] };
});
