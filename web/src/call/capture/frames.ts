/** The pictures of a camera, one by one. */

/** MediaStreamTrack Insertable Media Processing, section 2; TypeScript's libraries leave it out. */
declare class MediaStreamTrackProcessor {
  constructor(init: { track: MediaStreamTrack; maxBufferSize?: number });
  readonly readable: ReadableStream<VideoFrame>;
}

/** Can be transferred to a worker. */
export function framesOf(track: MediaStreamTrack): ReadableStream<VideoFrame> {
  return typeof MediaStreamTrackProcessor === 'undefined'
    ? framesByPlaying(track)
    : new MediaStreamTrackProcessor({ track, maxBufferSize: 2 }).readable;
}

/** For browsers without a processor of tracks: each picture that a player shows. */
function framesByPlaying(track: MediaStreamTrack): ReadableStream<VideoFrame> {
  const player = document.createElement('video');
  player.muted = true;
  player.srcObject = new MediaStream([track]);
  let isOpen = true;
  return new ReadableStream<VideoFrame>({
    start: (controller) => {
      const next = (nowMs: number) => {
        if (!isOpen || track.readyState === 'ended') {
          player.srcObject = null;
          return;
        }
        if ((controller.desiredSize ?? 0) > 0) {
          controller.enqueue(new VideoFrame(player, { timestamp: Math.round(nowMs * 1_000) }));
        }
        player.requestVideoFrameCallback(next);
      };
      player.requestVideoFrameCallback(next);
      // A player without sound may always play.
      void player.play();
    },
    cancel: () => {
      isOpen = false;
    },
  });
}
