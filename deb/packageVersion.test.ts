import { type ChangelogEntry, currentPackageVersion, readChangelog } from './packageVersion.ts';
import { version } from '../src/core/commandLine.ts';

const change = (more: Partial<ChangelogEntry>): ChangelogEntry => ({
  version,
  date: null,
  items: ['Something.'],
  ...more,
});

beforeEach(() => {
  delete process.env['SOURCE_DATE_EPOCH'];
});

it('has the date of its changelog entry', () => {
  const date = new Date('2026-01-02T12:00:00Z');
  expect(currentPackageVersion([change({ date })])).toEqual({ version, date });
});

it('has the date of SOURCE_DATE_EPOCH', () => {
  process.env['SOURCE_DATE_EPOCH'] = '1770000000';
  expect(currentPackageVersion([change({ date: new Date() })]).date.toISOString()).toBe('2026-02-02T02:40:00.000Z');
});

it('rejects a changelog whose first entry is another version', () => {
  expect(() => currentPackageVersion([change({ version: '9.9.9' })])).toThrow(
    `CHANGELOG.md begins with 9.9.9, package.json says ${version}`,
  );
});

it('reads CHANGELOG.md, whose first entry is this version', () => {
  const [newest] = readChangelog();
  expect(newest?.version).toBe(version);
  expect(newest?.items.length).toBeGreaterThan(0);
});
