import type { ChangelogEntry } from '../packageVersion.ts';
import { plainItem } from './debianChangelog.ts';

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
