import type { Change } from './edition.ts';

/** CHANGELOG.md in Debian's form; `date` stands for what is not released yet. */
export function debianChangelog(changes: Change[], { maintainer, date }: { maintainer: string; date: Date }): string {
  return changes.map((change) => entryOf(change, maintainer, change.date ?? date)).join('\n');
}

function entryOf({ version, points }: Change, maintainer: string, date: Date): string {
  const lines = points.map((point) => wrapped(plain(point)).replaceAll('\n', '\n    '));
  const day = date.toUTCString().replace('GMT', '+0000');
  return [
    `deployd (${version}) unstable; urgency=medium`,
    ...lines.map((text) => `  * ${text}`),
    ` -- ${maintainer}  ${day}\n`,
  ].join('\n\n');
}

/** Without the marks of Markdown. */
function plain(markdown: string): string {
  return markdown.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '');
}

function wrapped(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/(.{1,72})(?: |$)/g, '$1\n')
    .trim();
}
