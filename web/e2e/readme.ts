/** The commands of a text in Markdown. */

/** What stands for itself in a sentence, too: `anabranch token --key …`. */
const IN_A_SENTENCE = /`((?:anabranch|cargo|demo|openssl)\s[^`]+)`/g;

/**
 * All shell commands: those of indented blocks, each with its continuations and what it reads from
 * a here-document, less comments; then those within sentences.
 */
export function commandsOf(markdown: string): readonly string[] {
  const lines = markdown.split('\n');
  const indented = lines.filter((line) => line.startsWith('    '));
  const text = lines.filter((line) => !line.startsWith('    ')).join('\n');
  const inSentences = [...text.matchAll(IN_A_SENTENCE)].map(([, command = '']) =>
    command.replace(/\s+/g, ' '),
  );
  return [...ofBlocks(indented.map((line) => line.slice(4))), ...inSentences];
}

function ofBlocks(lines: readonly string[]): string[] {
  const commands: string[] = [];
  let open: string[] = [];
  let until: string | null = null;
  for (const line of lines) {
    open.push(until === null ? line.replace(/\s{2,}#.*$/, '') : line);
    until ??= /<<'(\w+)'/.exec(line)?.[1] ?? null;
    const goesOn = until === null ? line.endsWith('\\') : line !== until;
    if (!goesOn) {
      commands.push(open.join('\n'));
      [open, until] = [[], null];
    }
  }
  return commands;
}
