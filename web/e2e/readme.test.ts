import { describe, expect, it } from 'vitest';
import { commandsOf } from './readme';

describe('the commands of a text', () => {
  it('are its blocks, with continuations and here-documents, and what sentences name', () => {
    const text = [
      'Send with `anabranch send a',
      'b`, which `cargo` made:',
      '',
      '    one --x        # a comment',
      '    two \\',
      '      three',
      "    cat > file <<'END'",
      '    # kept',
      '    END',
    ];
    expect(commandsOf(text.join('\n'))).toEqual([
      'one --x',
      'two \\\n  three',
      "cat > file <<'END'\n# kept\nEND",
      'anabranch send a b',
    ]);
  });
});
