import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { version } from '../src/version.ts';

/** A version and the date that every file in its package has. */
export interface Edition {
  version: string;
  date: Date;
}

/** What changed in one version, for operators. */
export interface Change {
  version: string;
  /** Null while it is not released. */
  date: Date | null;
  /** One text for each point, as Markdown. */
  points: string[];
}

/** The versions of CHANGELOG.md, the newest first. */
export function readChanges(): Change[] {
  const [, ...sections] = readFileSync('CHANGELOG.md', 'utf8').split(/^## /m);
  return sections.map((section) => {
    const [, number = '', day = ''] = /^(\S+) \((.*)\)/.exec(section) ?? [];
    const date = new Date(`${day}T12:00:00Z`);
    const [, ...points] = section.split(/^- /m);
    return {
      version: number,
      date: Number.isNaN(date.getTime()) ? null : date,
      points: points.map((each) => each.trim()),
    };
  });
}

/**
 * What is built: dated by SOURCE_DATE_EPOCH, else by the day in CHANGELOG.md, else, before the release, by the last commit.
 */
export function currentEdition(changes: Change[]): Edition {
  const [newest] = changes;
  if (newest?.version !== version)
    throw new Error(`CHANGELOG.md begins with ${newest?.version ?? 'nothing'}, package.json says ${version}`);
  const given = process.env['SOURCE_DATE_EPOCH'];
  return { version, date: given === undefined ? (newest.date ?? lastCommit()) : new Date(Number(given) * 1000) };
}

function lastCommit(): Date {
  try {
    return new Date(execFileSync('git', ['log', '-1', '--format=%cI'], { encoding: 'utf8' }).trim());
  } catch {
    throw new Error('this version has no day in CHANGELOG.md, and without git no last commit: set SOURCE_DATE_EPOCH');
  }
}
