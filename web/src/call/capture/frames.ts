/** The pictures of a camera, one by one. */

/** MediaStreamTrack Insertable Media Processing, section 2; TypeScript's libraries leave it out. */
declare class MediaStreamTrackProcessor {
  constructor(init: { track: MediaStreamTrack; maxBufferSize?: number });
  readonly readable: ReadableStream<VideoFrame>;
}

/** Where pictures come from: either can be transferred to a worker. */
export type Frames = ReadableStream<VideoFrame> | MessagePort;

export function framesOf(track: MediaStreamTrack): Frames {
  return typeof MediaStreamTrackProcessor === 'undefined'
    ? framesByPlaying(track)
    : new MediaStreamTrackProcessor({ track, maxBufferSize: 2 }).readable;
}

/**
 * Each picture that a player shows: for browsers without a processor of tracks, and for a processor
 * that brings none. In Chromium's it is so where an earlier page ended while pictures were under
 * way to its worker: they count as in use for as long as the process lives.
 *
 * They come on a port: a stream that was transferred copies what it carries, and a camera stands
 * still whose pictures are not closed. Any message to the port ends it.
 */
export function framesByPlaying(track: MediaStreamTrack): MessagePort {
  const { port1, port2 } = new MessageChannel();
  const player = document.createElement('video');
  player.muted = true;
  player.srcObject = new MediaStream([track]);
  let isOpen = true;
  port1.onmessage = () => {
    isOpen = false;
    player.srcObject = null;
    port1.close();
  };
  const next = (nowMs: number) => {
    if (isOpen) {
      const picture = new VideoFrame(player, { timestamp: Math.round(nowMs * 1_000) });
      port1.postMessage(picture, [picture]);
      player.requestVideoFrameCallback(next);
    }
  };
  player.requestVideoFrameCallback(next);
  // A player without sound may always play.
  void player.play();
  return port2;
}
