import { currentEdition, readChanges, type Change } from './edition.ts';
import { version } from '../src/version.ts';

const change = (more: Partial<Change>): Change => ({ version, date: null, points: ['Something.'], ...more });

beforeEach(() => {
  delete process.env['SOURCE_DATE_EPOCH'];
});

it('is dated by the day of its release', () => {
  const date = new Date('2026-01-02T12:00:00Z');
  expect(currentEdition([change({ date })])).toEqual({ version, date });
});

it('is dated as it is told', () => {
  process.env['SOURCE_DATE_EPOCH'] = '1770000000';
  expect(currentEdition([change({ date: new Date() })]).date.toISOString()).toBe('2026-02-02T02:40:00.000Z');
});

it('refuses a changelog that begins with another version', () => {
  expect(() => currentEdition([change({ version: '9.9.9' })])).toThrow(
    `CHANGELOG.md begins with 9.9.9, package.json says ${version}`,
  );
});

it('reads CHANGELOG.md, which begins with this version', () => {
  const [newest] = readChanges();
  expect(newest?.version).toBe(version);
  expect(newest?.points.length).toBeGreaterThan(0);
});
