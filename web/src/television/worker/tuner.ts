/** The television page's worker: data channels, decoders and canvas. */

import type { FromPlayer, ToPlayer } from './messages';
import { Player } from './player';

let player: Player | null = null;

self.onmessage = ({ data }: MessageEvent<ToPlayer>) => {
  if (data.kind === 'start') {
    player = new Player(data.canvas, tell);
  } else {
    player?.on(data);
  }
};

function tell(message: FromPlayer): void {
  const picture = 'picture' in message ? message.picture : null;
  self.postMessage(message, picture === null ? [] : [picture]);
}
