/** What a page's worker has of screen and sound. */

import type { ToOutput } from '../audio/messages';
import { nowMs } from '../media/now';
import type { OutputReport } from './messages';
import type { SoundFeed } from './sound-feed';
import type { Coded, Video } from './video';

export class Output<P extends Coded> {
  readonly video: Video<P>;
  readonly sound: SoundFeed;
  #soundSkewMs: number | null = null;

  constructor(video: Video<P>, sound: SoundFeed) {
    this.video = video;
    this.sound = sound;
  }

  on(message: ToOutput): void {
    if (message.kind === 'skew') {
      this.#soundSkewMs = message.skewMs;
    } else {
      this.#soundSkewMs = null;
      this.sound.connect(message.port);
    }
  }

  report(): OutputReport {
    const { meter, dropped, spared, decodeErrors, lateMs } = this.video;
    return {
      shown: meter.displayed,
      dropped,
      spared,
      decodeErrors: decodeErrors + this.sound.decodeErrors,
      ...meter.rates(nowMs()),
      layers: meter.layers,
      width: meter.width,
      height: meter.height,
      longestGapMs: this.video.longestGapMs(),
      skewMs: this.#soundSkewMs === null ? null : this.#soundSkewMs - lateMs,
    };
  }
}
