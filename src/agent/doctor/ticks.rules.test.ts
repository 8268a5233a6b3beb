import { checkLines } from '../../../fixtures/suites/spec/checkLines.ts';
import { endingNames, endings } from '../../../machines/endings.ts';
import { refusals } from '../../../machines/refusals.ts';
import { emptyState, type State } from '../state/state.rules.ts';
import { checkServices, type ServicesFacts } from './engine.rules.ts';
import { checkBundle, checkLastOutcome, checkReports } from './ticks.rules.ts';

const at = '2026-11-21T12:00:00.000Z';
const earlier = '2026-11-21T11:00:00.000Z';
const sha = 'a'.repeat(64);
const other = 'b'.repeat(64);
const [short, shortOther] = [sha.slice(0, 12), other.slice(0, 12)];
const converged: State = {
  ...emptyState('eu-1'),
  applied_sha: sha,
  last_check_in: { at, action: 'none', desired_sha: sha },
  last_outcome: { at, outcome: 'heartbeat', code: null, detail: null },
};
const contextOf = (patch: Partial<State> | null) => ({
  ...{ now: new Date(at), agent: { name: 'deployd', uid: 900, gids: [] } },
  state: { known: patch && { ...converged, ...patch } },
});
const last = (outcome: string, code: string | null = null, detail: string | null = null): Partial<State> => ({
  last_outcome: { at, outcome, code, detail },
});
const wanted = { last_check_in: { at, action: 'apply' as const, desired_sha: other } };
const failing = { sha: other, count: 2, retry_at: at, line: 'failed: x' };
const [tick, trace] = ['sudo deployd run --once', 'sudo deployd trace'];
const isApplied = `${short} is applied`;
const purge_pending = { since: at, volumes: ['v'], networks: [] };
const purgeUntil = '2026-11-22T12:00:00.000Z';

it.each<[string, Partial<State> | null, string[]]>([
  ['is applied', {}, ['bundle: passed', isApplied]],
  ['is not known before the first tick', null, ['bundle: passed', 'no tick has been made yet']],
  [
    'is none',
    { applied_sha: null, last_check_in: { at, action: 'none', desired_sha: null } },
    ['bundle: passed', 'nothing is applied'],
  ],
  [
    'failed',
    { ...wanted, failing },
    ['bundle: failed', isApplied, `${shortOther} failed 2 times, next try at ${at}: failed: x`, trace],
  ],
  [
    'failed once',
    { ...wanted, failing: { ...failing, count: 1 } },
    ['bundle: failed', isApplied, `${shortOther} failed once, next try at ${at}: failed: x`, trace],
  ],
  ['is another one than that which failed', { failing }, ['bundle: passed', isApplied]],
  [
    'is refused',
    { ...wanted, ...last('refused', 'DISK_INSUFFICIENT', 'refused: DISK_INSUFFICIENT: x') },
    ['bundle: failed', isApplied, 'refused: DISK_INSUFFICIENT: x', refusals.DISK_INSUFFICIENT.cure],
  ],
  [
    'is refused for a reason of a newer agent',
    { ...wanted, ...last('refused', 'NEW', 'refused: NEW: x') },
    ['bundle: failed', isApplied, 'refused: NEW: x', trace],
  ],
  [
    'is half applied',
    { attempt: { sha, phase: 'promoted', at } },
    ['bundle: failed', isApplied, `${short} is half applied (promoted since ${at})`, tick],
  ],
  ['is not applied', wanted, ['bundle: failed', isApplied, `${shortOther} is desired, ${short} is applied`, tick]],
  [
    'is to be taken down',
    { last_check_in: { at, action: 'down', desired_sha: null } },
    ['bundle: failed', isApplied, `nothing is desired, ${short} is applied`, tick],
  ],
  ['is held', { ...wanted, ...last('held', null, 'held until x') }, ['bundle: passed', `${isApplied}; held until x`]],
  [
    'left volumes',
    { purge_pending },
    [
      ...['bundle: failed', isApplied, `volume v: still in use, removal is tried until ${purgeUntil}`],
      'sudo docker ps --all --filter volume=v',
    ],
  ],
  [
    'left networks',
    { purge_pending: { ...purge_pending, volumes: [], networks: ['n'] } },
    [
      ...['bundle: failed', isApplied, `network n: still in use, removal is tried until ${purgeUntil}`],
      'sudo docker network inspect n',
    ],
  ],
])('the desired bundle %s', (_name, patch, lines) => {
  expect(checkLines(checkBundle(contextOf(patch)))).toEqual(lines);
});

describe('the last outcome', () => {
  const fine = (outcome: string) => ['last outcome: passed', `${outcome} at ${at}`];
  const shown = ['refused'];
  it.each(endingNames.map((name) => [name, endings[name].meta.exit] as const))('%s, exit %i', (name, exit) => {
    const isFine = exit === 0 || exit === 75 || shown.includes(name);
    const fault = ['last outcome: failed', `${name} at ${at}`, `${name}: x`, trace];
    expect(checkLines(checkLastOutcome(contextOf(last(name, null, 'x'))))).toEqual(isFine ? fine(name) : fault);
  });

  it.each<[string, Partial<State> | null, string[]]>([
    ['is none', { last_outcome: null }, ['last outcome: passed', 'none']],
    ['is none before the first tick', null, ['last outcome: passed', 'none']],
    ['is that of the failing bundle', { ...wanted, failing, ...last('failed') }, fine('failed')],
    ['is a refused token', last('unauthenticated', 'AGENT_UNAUTHENTICATED'), fine('unauthenticated')],
    [
      'is a wrong clock',
      last('failed', 'CLOCK_SKEW'),
      ['last outcome: failed', `failed at ${at}`, 'failed: CLOCK_SKEW', 'sudo timedatectl set-ntp true'],
    ],
    [
      'is a clone',
      last('failed', 'HOST_CLONED'),
      ['last outcome: failed', `failed at ${at}`, 'failed: HOST_CLONED', 'deployctl host accept BACKEND'],
    ],
  ])('%s', (_name, patch, lines) => {
    expect(checkLines(checkLastOutcome(contextOf(patch)))).toEqual(lines);
  });
});

const report = (finished_at: string) => ({ report_id: finished_at, finished_at }) as State['pending_reports'][number];

it.each<[string, Partial<State> | null, string[]]>([
  ['are delivered', {}, ['reports: passed', 'all delivered']],
  ['are none before the first tick', null, ['reports: passed', 'all delivered']],
  ['wait for the next check-in', { pending_reports: [report(at)] }, ['reports: passed', '1 report waits']],
  [
    'were left by a check-in',
    { pending_reports: [report(earlier), report(at)] },
    [
      ...['reports: failed', '2 reports wait'],
      `1 report was not delivered by later check-ins, the oldest of ${earlier}`,
      trace,
    ],
  ],
])('the reports %s', (_name, patch, lines) => {
  expect(checkLines(checkReports(contextOf(patch)))).toEqual(lines);
});

it('is unknown without access to the state', () => {
  const context = { ...contextOf(null), state: { unknown: 'use sudo' } };
  for (const check of [checkBundle, checkLastOutcome, checkReports])
    expect(check(context)).toMatchObject({ status: 'unknown', detail: 'use sudo' });
});

const web = { service: 'web', name: 'web-1', state: 'running', health: null, exit_code: null };
const heals = { heals: true, configPath: '/c' };
const dead = { service: 'db', detail: 'exited(137)', cure: 'start' as const };
const missing = { service: 'web', detail: 'missing', cure: 'start' as const };
const foreign = { service: 'web', detail: 'another image', cure: 'recreate' as const };
const lost = { service: 'db', detail: 'volume data is gone', cure: 'accept' as const };
const seen = (...problems: ServicesFacts['problems']) => ({ known: { containers: [web], problems } });
const failed = ['services: failed', '1 container'];

it.each<[string, Parameters<typeof checkServices>[0], typeof heals, string[]]>([
  ['are healthy', seen(), heals, ['services: passed', '1 container']],
  [
    'are dead and missing',
    seen(dead, missing),
    heals,
    [...failed, 'db: exited(137)', 'sudo deployd logs db', 'web: missing', tick],
  ],
  ['are recreated by another tool', seen(foreign), heals, [...failed, 'web: another image', tick]],
  ['have lost a volume', seen(lost), heals, [...failed, 'db: volume data is gone', 'sudo deployd accept-volumes']],
  [
    'are missing where nothing is healed',
    seen(missing),
    { ...heals, heals: false },
    [...failed, 'web: missing', 'sudoedit /c (heal: true)'],
  ],
  ['are not seen', { unknown: 'no engine' }, heals, ['services: unknown', 'no engine']],
])('the services %s', (_name, found, facts, lines) => {
  expect(checkLines(checkServices(found, facts))).toEqual(lines);
});
