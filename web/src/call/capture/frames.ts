/** The pictures of a camera, one by one. */

/** MediaStreamTrack Insertable Media Processing, section 2; TypeScript's libraries leave it out. */
declare class MediaStreamTrackProcessor {
  constructor(init: { track: MediaStreamTrack; maxBufferSize?: number });
  readonly readable: ReadableStream<VideoFrame>;
}

/** Where pictures come from: either can be transferred to a worker. */
export type Frames = ReadableStream<VideoFrame> | MessagePort;

/** What is asked of a port of pictures: whether there is a new one, or that it ends. */
export type FramesRequest = 'next' | 'end';

export function framesOf(track: MediaStreamTrack): Frames {
  return typeof MediaStreamTrackProcessor === 'undefined'
    ? framesByPlaying(track)
    : new MediaStreamTrackProcessor({ track, maxBufferSize: 2 }).readable;
}

/**
 * The picture that a player has, whenever it is asked for and is a new one: for browsers without a
 * processor of tracks, and for a processor that brings none. In Chromium's it is so where an
 * earlier page ended while pictures were under way to its worker: they count as in use for as long
 * as the process lives.
 *
 * They come on a port: a stream that was transferred copies what it carries, and a camera stands
 * still whose pictures are not closed. They are asked for, since a page that is not seen is told
 * of one or two pictures a second, and its own timers are held back; those of its worker are not.
 */
export function framesByPlaying(track: MediaStreamTrack): MessagePort {
  const { port1, port2 } = new MessageChannel();
  const player = document.createElement('video');
  player.muted = true;
  player.srcObject = new MediaStream([track]);
  let lastUs: number | null = null;
  port1.onmessage = ({ data }: MessageEvent<FramesRequest>) => {
    if (data === 'end') {
      player.srcObject = null;
      port1.close();
      return;
    }
    if (player.readyState < HTMLMediaElement.HAVE_CURRENT_DATA) {
      return;
    }
    const picture = new VideoFrame(player);
    if (picture.timestamp === lastUs) {
      picture.close();
      return;
    }
    lastUs = picture.timestamp;
    port1.postMessage(picture, [picture]);
  };
  // A player without sound may always play.
  void player.play();
  return port2;
}
