import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { version } from '../src/core/commandLine.ts';

/** A version, and the modification date of every file in its package. */
export interface PackageVersion {
  version: string;
  date: Date;
}

/** The changelog of one version. */
export interface ChangelogEntry {
  version: string;
  /** Null for an unreleased version. */
  date: Date | null;
  /** The list items, as Markdown. */
  items: string[];
}

/** The entries of CHANGELOG.md, newest first. */
export function readChangelog(): ChangelogEntry[] {
  const [, ...sections] = readFileSync('CHANGELOG.md', 'utf8').split(/^## /m);
  return sections.map((section) => {
    const [, number = '', day = ''] = /^(\S+) \((.*)\)/.exec(section) ?? [];
    const date = new Date(`${day}T12:00:00Z`);
    const [, ...items] = section.replaceAll(/^### .*/gm, '').split(/^- /m);
    return {
      version: number,
      date: Number.isNaN(date.getTime()) ? null : date,
      items: items.map((each) => each.trim()),
    };
  });
}

/**
 * The version to build. Its date is SOURCE_DATE_EPOCH, otherwise the day in CHANGELOG.md, otherwise (before the
 * release) the date of the last commit.
 */
export function currentPackageVersion(changes: ChangelogEntry[]): PackageVersion {
  const [newest] = changes;
  if (newest?.version !== version)
    throw new Error(`CHANGELOG.md begins with ${newest?.version ?? 'nothing'}, package.json says ${version}`);
  const epoch = process.env['SOURCE_DATE_EPOCH'];
  return { version, date: epoch === undefined ? (newest.date ?? lastCommitDate()) : new Date(Number(epoch) * 1000) };
}

function lastCommitDate(): Date {
  try {
    return new Date(execFileSync('git', ['log', '-1', '--format=%cI'], { encoding: 'utf8' }).trim());
  } catch {
    throw new Error('this version has no day in CHANGELOG.md, and without git no last commit: set SOURCE_DATE_EPOCH');
  }
}
