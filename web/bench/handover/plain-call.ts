/**
 * A plain WebRTC call, as applications make it: Alice's camera over RTP, ICE restarted when the
 * browser says that the connection is lost. What is signalled passes the test's own pipes, which no
 * network holds up.
 */

import type { Page } from 'playwright-core';

interface Peer {
  readonly connection: RTCPeerConnection;
}

declare global {
  interface Window {
    plain: Peer;
    /** Hands a description or a candidate to the other page. */
    signal(message: string): Promise<void>;
    onSignal(message: string): Promise<void>;
  }
}

export interface PlainCall {
  /** ICE is restarted also when the browser says that it is online again. */
  readonly whenOnline: boolean;
  /** Her microphone, too. */
  readonly withVoice: boolean;
}

export async function beginPlainCall(
  alice: Page,
  bob: Page,
  { whenOnline, withVoice }: PlainCall,
): Promise<void> {
  const others = new Map([
    [alice, bob],
    [bob, alice],
  ]);
  for (const [page, other] of others) {
    await page.exposeFunction('signal', (message: string) =>
      other.evaluate((text) => window.onSignal(text), message),
    );
    await page.evaluate(listen, { isAlice: page === alice, whenOnline });
  }
  await alice.evaluate(offer, withVoice);
  await bob.waitForFunction(() => {
    const player = document.querySelector<HTMLVideoElement>('video.theirs');
    return (player?.videoWidth ?? 0) > 0;
  });
}

/** Runs in both pages. */
function listen({ isAlice, whenOnline }: { isAlice: boolean; whenOnline: boolean }): void {
  document.body.replaceChildren();
  const connection = new RTCPeerConnection();
  window.plain = { connection };
  connection.onicecandidate = ({ candidate }) => void window.signal(JSON.stringify({ candidate }));
  connection.ontrack = ({ track, streams: [stream] }) => {
    if (stream === undefined || track.kind === 'audio') {
      return;
    }
    // One player for both, which keeps them in step.
    const player = document.createElement('video');
    player.className = 'theirs';
    player.srcObject = stream;
    player.muted = stream.getAudioTracks().length === 0;
    void player.play();
    document.body.append(player);
  };
  window.onSignal = async (text) => {
    const { candidate, description } = JSON.parse(text);
    if (description === undefined) {
      await connection.addIceCandidate(candidate ?? undefined);
      return;
    }
    await connection.setRemoteDescription(description);
    if (description.type === 'offer') {
      await connection.setLocalDescription();
      await window.signal(JSON.stringify({ description: connection.localDescription }));
    }
  };
  if (isAlice) {
    const restart = () => connection.restartIce();
    connection.oniceconnectionstatechange = () => {
      if (['disconnected', 'failed'].includes(connection.iceConnectionState)) {
        restart();
      }
    };
    if (whenOnline) {
      window.addEventListener('online', restart);
    }
    connection.onnegotiationneeded = async () => {
      await connection.setLocalDescription();
      await window.signal(JSON.stringify({ description: connection.localDescription }));
    };
  }
}

/** Runs in Alice's page. */
async function offer(withVoice: boolean): Promise<void> {
  const media = { video: true, audio: withVoice };
  const stream = await navigator.mediaDevices.getUserMedia(media);
  for (const track of stream.getTracks()) {
    window.plain.connection.addTrack(track, stream);
  }
}
