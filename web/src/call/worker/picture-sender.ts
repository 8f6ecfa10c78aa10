/** Makes pictures of what the camera sees, as many and as large as the rate is enough for. */

import { nowMs, nowUs } from '../../media/now';
import { type Codec, chooseCodec, encoderConfig, roleOf, type Size } from '../capture/codecs';
import type { Frames, FramesRequest } from '../capture/frames';
import { CAMERA_STEPS, Ladder, SCREEN_STEPS, type Step, sizeAt } from '../capture/ladder';
import type { CallVideo } from '../protocol/agent';
import type { SentUnit } from '../protocol/media';
import { CaptureClock } from './capture-clock';
import type { Camera } from './messages';

/** Pictures that wait in the encoder from which on it is behind and is given no more. */
const BEHIND_FROM = 3;
/** A camera's pictures come a little sooner or later than every so often. */
const EARLY = 0.7;
/** A rate to ask the browser for an encoder with, before the agent has told one. */
const ASSUMED_BPS = 850_000;
const FAILURES_MAX = 5;
/** A camera that starts slowly takes less. */
const SILENT_MS = 3_000;
/** A screen that has not changed for so long. */
const STILL_MS = 300;
/** How often a port is asked while a camera takes one picture. */
const ASKED_A_PICTURE = 2;

/** WebCodecs, section 6.7; TypeScript's libraries leave it out. */
interface LayeredMetadata extends EncodedVideoChunkMetadata {
  readonly svc?: { readonly temporalLayerId?: number };
}

export interface PictureUser {
  send(unit: SentUnit): void;
  /** What is made from now on; `null` for nothing. */
  onFormat(video: CallVideo | null): void;
  /** The camera has brought nothing for long. */
  onSilent(): void;
  onProblem(text: string): void;
}

export class PictureSender {
  readonly #user: PictureUser;
  #ladder = new Ladder();
  #clock = new CaptureClock();
  #camera: Camera | null = null;
  #codec: Codec | null = null;
  #encoder: VideoEncoder | null = null;
  /** What the encoder is set to. */
  #set: { readonly size: Size; readonly step: Step; readonly bps: number } | null = null;
  #bps = 0;
  #frame = 0;
  #lastUs = 0;
  #isKeyWanted = false;
  /** The last picture of a screen, which may stay as it is for long. */
  #still: VideoFrame | null = null;
  #failures = 0;
  /** When the camera brought a picture last, or was opened; `null` once its silence is reported. */
  #seenMs: number | null = null;
  keys = 0;
  /** Whether pictures are for the other end. */
  isOpen = false;

  constructor(user: PictureUser) {
    this.#user = user;
  }

  /** Pictures sent. */
  get sent(): number {
    return this.#frame;
  }

  /** Pictures that wait in the encoder. */
  get waiting(): number {
    return this.#encoder?.encodeQueueSize ?? 0;
  }

  get height(): number {
    return this.#set?.size.height ?? 0;
  }

  /** At most so many bits a second; 0 for no pictures. */
  set bps(bps: number) {
    this.#bps = bps;
  }

  wantKey(): void {
    this.#isKeyWanted = true;
  }

  async setCamera(camera: Camera | null): Promise<void> {
    this.#camera = camera;
    this.#keep(null);
    this.#seenMs = camera === null ? null : nowMs();
    this.#close();
    if (camera === null) {
      this.#user.onFormat(null);
      return;
    }
    this.#clock = new CaptureClock();
    this.#ladder = new Ladder(camera.isScreen ? SCREEN_STEPS : CAMERA_STEPS);
    this.#codec = await chooseCodec(camera, ASSUMED_BPS, camera.fps, isSupported);
    if (this.#camera !== camera) {
      endFrames(camera.frames);
      return;
    }
    if (this.#codec === null) {
      this.#user.onProblem('This browser has no encoder for pictures, so you are only heard.');
    } else {
      this.#configure();
    }
    await this.#read(camera);
  }

  /**
   * To be called now and then: notices a camera that brings nothing, and shows a screen to who
   * wants a key picture of it though nothing changes there.
   */
  check(): void {
    const isStill = this.#seenMs !== null && nowMs() - this.#seenMs > STILL_MS;
    if (this.#camera?.isScreen === true) {
      if (isStill && this.#isKeyWanted && this.#still !== null) {
        this.#take(this.#still, nowUs());
      }
      return;
    }
    if (this.#seenMs !== null && nowMs() - this.#seenMs > SILENT_MS) {
      this.#seenMs = null;
      this.#user.onSilent();
    }
  }

  async #read(camera: Camera): Promise<void> {
    if (camera.frames instanceof MessagePort) {
      this.#ask(camera, camera.frames);
      return;
    }
    const reader = camera.frames.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) {
        return;
      }
      this.#see(camera, value);
    }
  }

  #ask(camera: Camera, frames: MessagePort): void {
    frames.onmessage = ({ data }: MessageEvent<VideoFrame>) => this.#see(camera, data);
    const everyMs = 1_000 / (ASKED_A_PICTURE * camera.fps);
    const asking = setInterval(() => {
      const request: FramesRequest = this.#camera === camera ? 'next' : 'end';
      frames.postMessage(request);
      if (request === 'end') {
        clearInterval(asking);
      }
    }, everyMs);
  }

  #see(camera: Camera, picture: VideoFrame): void {
    if (this.#camera === camera) {
      this.#seenMs = nowMs();
      this.#take(picture, this.#clock.captured(picture.timestamp, nowUs()));
      this.#keep(camera.isScreen ? picture.clone() : null);
    }
    picture.close();
  }

  #keep(still: VideoFrame | null): void {
    this.#still?.close();
    this.#still = still;
  }

  #take(picture: VideoFrame, capturedUs: number): void {
    if (!this.isOpen || this.#bps === 0 || this.#codec === null) {
      return;
    }
    const isBehind = this.waiting >= BEHIND_FROM;
    this.#ladder.observe(isBehind, performance.now());
    this.#configure();
    const fps = this.#set?.step.fps ?? 1;
    if (isBehind || capturedUs - this.#lastUs < (EARLY * 1e6) / fps) {
      return;
    }
    this.#lastUs = capturedUs;
    this.#encode(picture, capturedUs);
  }

  #encode(picture: VideoFrame, timestamp: number): void {
    const timed = new VideoFrame(picture, { timestamp });
    try {
      this.#encoder?.encode(timed, { keyFrame: this.#isKeyWanted });
      this.#isKeyWanted = false;
    } catch {
      this.#failed();
    }
    timed.close();
  }

  /** Sets the encoder to what the rate is enough for; most changes need no key picture. */
  #configure(): void {
    const [camera, codec] = [this.#camera, this.#codec];
    if (camera === null || codec === null) {
      return;
    }
    const bps = this.#bps === 0 ? ASSUMED_BPS : this.#bps;
    const step = this.#ladder.at(bps, performance.now());
    const size = sizeAt(step, camera);
    const was = this.#set;
    const isSameSize = was?.size.width === size.width && was.size.height === size.height;
    if (isSameSize && was?.bps === bps && was.step === step) {
      return;
    }
    const fps = Math.min(step.fps, camera.fps);
    this.#set = { size, step, bps };
    this.#open().configure(encoderConfig(codec, size, bps, fps));
    if (!isSameSize || was?.step.fps !== step.fps) {
      const { codec: name, format } = codec;
      this.#user.onFormat({ codec: name, format, ...size, fps });
    }
  }

  #open(): VideoEncoder {
    if (this.#encoder === null || this.#encoder.state === 'closed') {
      this.#encoder = new VideoEncoder({
        output: (chunk, metadata) => this.#encoded(chunk, metadata),
        error: () => this.#failed(),
      });
      this.#isKeyWanted = true;
    }
    return this.#encoder;
  }

  #encoded(chunk: EncodedVideoChunk, metadata: LayeredMetadata | undefined): void {
    const codec = this.#codec;
    if (codec === null || !this.isOpen) {
      return;
    }
    const layer = metadata?.svc?.temporalLayerId ?? 0;
    const role = roleOf(chunk.type === 'key', layer, codec);
    this.keys += role === 'key' ? 1 : 0;
    const payload = new Uint8Array(chunk.byteLength);
    chunk.copyTo(payload);
    const [frame, ptsUs] = [this.#frame++, Math.round(chunk.timestamp)];
    this.#user.send({ track: 'video', role, frame, ptsUs, payload });
  }

  /** One that fails again and again is not tried any more. */
  #failed(): void {
    this.#close();
    this.#failures += 1;
    if (this.#failures === FAILURES_MAX) {
      this.#codec = null;
      this.#user.onFormat(null);
      this.#user.onProblem(
        'The encoder for pictures failed, so you are only heard. Reload the page.',
      );
    }
  }

  /** The next picture is a key picture of a new encoder. */
  #close(): void {
    if (this.#encoder !== null && this.#encoder.state !== 'closed') {
      this.#encoder.close();
    }
    this.#encoder = null;
    this.#set = null;
  }
}

/** Of a camera that another one took the place of before it was read. */
function endFrames(frames: Frames): void {
  if (frames instanceof MessagePort) {
    frames.postMessage('end' satisfies FramesRequest);
  } else {
    void frames.cancel();
  }
}

async function isSupported(config: VideoEncoderConfig): Promise<boolean> {
  if (typeof VideoEncoder === 'undefined') {
    return false;
  }
  const { supported } = await VideoEncoder.isConfigSupported(config).catch(() => ({
    supported: false,
  }));
  return supported === true;
}
