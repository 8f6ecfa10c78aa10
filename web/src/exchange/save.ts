/** Hands files to the browser's downloads. */

/** Browsers begin to save within this. */
const KEPT_MS = 60_000;

export function save(name: string, blob: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS);
}
