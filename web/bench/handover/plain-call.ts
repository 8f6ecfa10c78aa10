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

/** `whenOnline`: ICE is restarted also when the browser says that it is online again. */
export async function beginPlainCall(alice: Page, bob: Page, whenOnline: boolean): Promise<void> {
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
  await alice.evaluate(offer);
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
  connection.ontrack = ({ track }) => {
    const player = document.createElement('video');
    player.className = 'theirs';
    player.srcObject = new MediaStream([track]);
    player.muted = true;
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
async function offer(): Promise<void> {
  const stream = await navigator.mediaDevices.getUserMedia({ video: true });
  for (const track of stream.getTracks()) {
    window.plain.connection.addTrack(track, stream);
  }
}
