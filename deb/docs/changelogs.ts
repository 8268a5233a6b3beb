import type { ChangelogEntry } from '../packageVersion.ts';

/** CHANGELOG.md in Debian's format; `date` is used for unreleased versions. */
export function debianChangelog(
  changes: ChangelogEntry[],
  { maintainer, date }: { maintainer: string; date: Date },
): string {
  return changes.map((change) => entryOf(change, maintainer, change.date ?? date)).join('\n');
}

/** CHANGELOG.md in rpm's format, for a spec file; `date` is used for unreleased versions. */
export function rpmChangelog(
  changes: readonly ChangelogEntry[],
  { maintainer, date }: { maintainer: string; date: Date },
): string {
  const entries = changes.map(({ version, items, ...change }) => {
    const [weekday, day, month, year] = (change.date ?? date).toUTCString().replace(',', '').split(' ');
    const lines = items.map((item) => `- ${plainItem(item).replaceAll('\n', '\n  ')}`);
    return [`* ${weekday} ${month} ${day} ${year} ${maintainer} - ${version}-1`, ...lines].join('\n');
  });
  return entries.join('\n\n').replaceAll('%', '%%');
}

function entryOf({ version, items }: ChangelogEntry, maintainer: string, date: Date): string {
  const lines = items.map((item) => plainItem(item).replaceAll('\n', '\n    '));
  const day = date.toUTCString().replace('GMT', '+0000');
  return [
    `deployd (${version}) unstable; urgency=medium`,
    ...lines.map((text) => `  * ${text}`),
    ` -- ${maintainer}  ${day}\n`,
  ].join('\n\n');
}

/** An item without links and code marks, in lines of 72 characters. */
function plainItem(markdown: string): string {
  return wrap(markdown.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', ''));
}

function wrap(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/(.{1,72})(?: |$)/g, '$1\n')
    .trim();
}
