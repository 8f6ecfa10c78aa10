/** Which encoder makes the pictures of a call. */

import type { CallVideo } from '../protocol/agent';

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** An encoder that this browser has. */
export interface Codec {
  readonly codec: string;
  readonly format: CallVideo['format'];
  /** Temporal layers; 1 is none. The uppermost one is predicted from, by nobody. */
  readonly temporalLayers: 1 | 2 | 3;
}

const FORMATS = [
  { codec: 'vp09.00.31.08', format: 'vp9' },
  { codec: 'av01.0.05M.08', format: 'av1' },
  { codec: 'vp8', format: 'vp8' },
  { codec: 'avc1.42E01F', format: 'annexb' },
] as const;

/** In temporal layers a picture that is lost is more often one that nobody needs. */
const TEMPORAL_LAYERS = [3, 2, 1] as const;

/** In the order in which they are asked for: layers count for more than the codec. */
export const CANDIDATES: readonly Codec[] = [true, false].flatMap((isLayered) =>
  FORMATS.flatMap((format) =>
    TEMPORAL_LAYERS.filter((layers) => layers > 1 === isLayered).map((temporalLayers) => ({
      ...format,
      temporalLayers,
    })),
  ),
);

export function encoderConfig(
  { codec, format, temporalLayers }: Codec,
  { width, height }: Size,
  bitrate: number,
  framerate: number,
): VideoEncoderConfig {
  return {
    codec,
    width,
    height,
    bitrate,
    framerate,
    bitrateMode: 'constant',
    latencyMode: 'realtime',
    ...(temporalLayers > 1 ? { scalabilityMode: `L1T${temporalLayers}` } : {}),
    ...(format === 'annexb' ? { avc: { format } } : {}),
  };
}

/** The first that is supported, or `null`. */
export async function chooseCodec(
  size: Size,
  bitrate: number,
  framerate: number,
  isSupported: (config: VideoEncoderConfig) => Promise<boolean>,
): Promise<Codec | null> {
  for (const codec of CANDIDATES) {
    if (await isSupported(encoderConfig(codec, size, bitrate, framerate))) {
      return codec;
    }
  }
  return null;
}

/** What a picture is to others. */
export function roleOf(
  isKey: boolean,
  temporalLayer: number,
  { temporalLayers }: Codec,
): 'key' | 'reference' | 'disposable' {
  if (isKey) {
    return 'key';
  }
  const isUppermost = temporalLayers > 1 && temporalLayer === temporalLayers - 1;
  return isUppermost ? 'disposable' : 'reference';
}
