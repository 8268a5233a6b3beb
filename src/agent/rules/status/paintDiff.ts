import type { Paint, PaintStyle } from '../../../core/text.rules.ts';

const styles: Readonly<Record<string, PaintStyle>> = { '+': 'green', '-': 'red', '~': 'yellow' };

/** Colours the lines of differences by their sign; labels stay as they are. */
export function paintDiff(text: string, paint: Paint): string {
  return text
    .split('\n')
    .map((line) => paintLine(line, paint))
    .join('\n');
}

function paintLine(line: string, paint: Paint): string {
  const [, label, difference = '', sign = ''] = /^( {2}[a-z]* +)(([-+~]) .*)$/.exec(line) ?? [];
  return label === undefined ? line : label + paint(styles[sign] ?? 'plain', difference);
}
