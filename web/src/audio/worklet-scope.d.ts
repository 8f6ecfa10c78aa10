/**
 * The audio worklet's globals, which TypeScript's libraries leave out (Web Audio API, section
 * 1.32).
 */

declare const currentTime: number;
declare const sampleRate: number;

declare abstract class AudioWorkletProcessor {
  readonly port: MessagePort;
  abstract process(inputs: Float32Array[][], outputs: Float32Array[][]): boolean;
}

declare function registerProcessor(name: string, processor: new () => AudioWorkletProcessor): void;
