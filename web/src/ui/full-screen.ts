/** Fills the screen with one element, or leaves that. */
export function toggleFullScreen(box: HTMLElement | null): void {
  if (document.fullscreenElement !== null) {
    void document.exitFullscreen();
  } else {
    // A browser may refuse; the page then stays as it is.
    box?.requestFullscreen().catch(() => undefined);
  }
}
