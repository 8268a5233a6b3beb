import {
  comparedServices,
  failedReplicas,
  nextStep,
  obsoleteContainers,
  type Replica,
  replacementReasonsOf,
  replacementsOf,
  type ReplacementStep,
} from './generations.rules.ts';
import type { CreatedContainer } from '../engine/createdContainer.rules.ts';

/** A container by its number: `n` belongs to the release, `o` does not; `x` has ended, `u` is unhealthy. */
function replica(text: string): Replica {
  const [, kind = '', number = '', state = ''] = /^([no])(\d+)([xu]?)$/.exec(text) ?? [];
  return {
    id: text,
    number: Number(number),
    isWanted: kind === 'n',
    isRunning: state !== 'x',
    isUnhealthy: state === 'u',
    createdMs: Number(number),
  };
}

const replicas = (text: string) => text.split(' ').filter(Boolean).map(replica);
const none: ReadonlySet<string> = new Set();
const written = (step: ReplacementStep) =>
  'ids' in step ? `${step.do} ${step.ids.join(' ')}` : 'count' in step ? `${step.do} ${step.count}` : step.do;

describe('the next step of a replacement', () => {
  it.each([
    // one container
    ['o1', '', '1/1', 'start 1'],
    ['o1 n2', '', '1/1', 'await n2'],
    ['o1 n2', 'n2', '1/1', 'retire o1'],
    ['n2', 'n2', '1/1', 'nothing'],
    // several, one or more at a time
    ['o1 o2 o3', '', '3/2', 'start 2'],
    ['o1 o2 o3 n4 n5', 'n4 n5', '3/2', 'retire o1 o2'],
    ['o3 n4 n5', 'n4 n5', '3/2', 'start 1'],
    ['o1 o2', '', '2/2', 'start 2'],
    // more or fewer than before
    ['o1', '', '3/1', 'start 1'],
    ['o1 n2', 'n2', '3/1', 'start 1'],
    ['o1 n2 n3', 'n2 n3', '3/1', 'start 1'],
    ['o1 n2 n3 n4', 'n2 n3 n4', '3/1', 'retire o1'],
    ['o1 o2 o3', '', '1/1', 'start 1'],
    ['o1 o2 o3 n4', 'n4', '1/1', 'retire o1 o2 o3'],
    ['n1 n2 n3', '', '1/1', 'retire n2 n3'],
    // unhealthy ones first, the oldest before the others
    ['o1 o2u n3', 'n3', '2/1', 'retire o2u'],
    ['n1u n2', '', '1/1', 'retire n1u'],
    // what serves nobody goes first
    ['o1 o2x', '', '2/1', 'remove o2x'],
    ['o1 n2x', '', '1/1', 'remove n2x'],
    ['n1 n2x', '', '2/1', 'nothing'],
    // of an earlier attempt
    ['o1 n2u', '', '1/1', 'remove n2u'],
    ['o1 n2', '', '1/1', 'await n2'],
  ])('%s, healthy: %s, for %s', (text, healthy, wanted, expected) => {
    const [count = 0, parallelism = 0] = wanted.split('/').map(Number);
    const progress = { healthy: new Set(healthy.split(' ')), started: none, isLeftover: () => true };
    expect(written(nextStep(replicas(text), { replicas: count, parallelism }, progress))).toBe(expected);
  });

  it('waits for a container that it has started, whatever its state, so that its failure is found', () => {
    const progress = { healthy: none, started: new Set(['n2x']), isLeftover: () => true };
    expect(written(nextStep(replicas('o1 n2x'), { replicas: 1, parallelism: 1 }, progress))).toBe('await n2x');
  });

  it('leaves an unhealthy container of the applied release alone', () => {
    const progress = { healthy: none, started: none, isLeftover: () => false };
    expect(written(nextStep(replicas('o1 n2u'), { replicas: 1, parallelism: 1 }, progress))).toBe('await n2u');
  });

  it('never stops more than have been replaced, and ends, from any mixture', () => {
    for (let old = 1; old <= 4; old++)
      for (let fresh = 0; fresh <= 3; fresh++)
        for (let count = 1; count <= 4; count++)
          for (let parallelism = 1; parallelism <= count; parallelism++)
            expect(playedFrom({ old, fresh, count, parallelism })).toEqual({ wanted: count, others: 0, lost: 0 });
  });
});

/** Plays all steps, each healthy container counting as one that serves. */
function playedFrom({ old, fresh, ...update }: { old: number; fresh: number; count: number; parallelism: number }) {
  const { count, parallelism } = update;
  let number = 0;
  const made = (kind: string) => replica(`${kind}${++number}`);
  let all = [...Array.from({ length: old }, () => made('o')), ...Array.from({ length: fresh }, () => made('n'))];
  const healthy = new Set<string>();
  let lost = 0;
  for (let steps = 0; steps < 50; steps++) {
    const step = nextStep(all, { replicas: count, parallelism }, { healthy, started: healthy, isLeftover: () => true });
    if (step.do === 'nothing') break;
    if (step.do === 'start') all.push(...Array.from({ length: step.count }, () => made('n')));
    if (step.do === 'await') for (const id of step.ids) healthy.add(id);
    if (step.do === 'retire') all = all.filter(({ id }) => !step.ids.includes(id));
    const serving = all.filter(({ id, isWanted }) => !isWanted || healthy.has(id)).length;
    if (serving < Math.min(old, count)) lost += 1;
  }
  const wanted = all.filter(({ isWanted }) => isWanted).length;
  return { wanted, others: all.length - wanted, lost };
}

describe('after a failure', () => {
  it.each([
    ['apply', 'o1 n2', '', '', 'n2'],
    ['apply', 'o1 n2 n3', 'n2', '', 'n3'],
    ['heal', 'o1u n2', '', 'n2', 'n2'],
    ['heal', 'o1u n2', '', '', ''],
    // a revert: the containers of the previous release were never touched, or it has started them again
    ['revert', 'n1 o2', '', '', 'o2'],
    ['revert', 'o2 n3', '', 'n3', 'n3'],
    ['revert', 'o2 n9', '', '', 'n9'],
  ] as const)('%s of %s, healthy: %s, started: %s', (work, text, healthy, started, removed) => {
    const progress = {
      ...{ healthy: new Set(healthy.split(' ')), started: new Set(started.split(' ')) },
      ...{ isLeftover: () => true, work, sinceMs: 5 },
    };
    expect(failedReplicas(replicas(text), progress).join(' ')).toBe(removed);
  });
});

describe('the services to replace start-first', () => {
  const start_first = { replicas: 1, parallelism: 1, delay_s: 0, monitor_s: 0 };
  const container = (service: string, hash: string, more: object = {}) =>
    ({
      ...{
        Id: `${service}-${hash}${JSON.stringify(more).includes('exited') ? 'x' : ''}`,
        Name: '',
        Image: 'sha256:1',
        State: { Status: 'running' },
      },
      Config: { Labels: { 'com.docker.compose.service': service, 'com.docker.compose.config-hash': hash } },
      ...more,
    }) as unknown as CreatedContainer;
  const facts = {
    services: [
      { name: 'api', replicas: 1, start_first, after: [{ name: 'web', condition: 'started' as const }] },
      { name: 'web', replicas: 1, start_first, after: [{ name: 'db', condition: 'healthy' as const }] },
      { name: 'db', replicas: 1 },
    ],
    left: [],
    containers: [container('api', 'old'), container('web', 'old'), container('db', 'old')],
    generations: new Map(['api', 'web', 'db'].map((name) => [name, { configHash: 'new', image: 'sha256:1' }])),
    untouched: [],
    bad: none,
    holdsData: (_id: string) => false,
  };
  const namesOf = (more: Partial<typeof facts>) =>
    replacementsOf({ ...facts, ...more }).map(({ service, needs }) => `${service}(${needs.join(' ')})`);

  it.each<[string, Partial<typeof facts>, string[]]>([
    ['in the order of their dependencies', {}, ['web(db)', 'api(web db)']],
    ['not one that is as the release wants it', { containers: [container('web', 'new')] }, []],
    ['one of another image', { containers: [container('web', 'new', { Image: 'sha256:2' })] }, ['web(db)']],
    ['not one that does not run', { containers: [container('web', 'old', { State: { Status: 'exited' } })] }, []],
    ['not one that is left alone', { untouched: ['web'] as never[] }, ['api(web db)']],
    ['not one whose containers are only placeholders', { containers: [container('web', 'none')] }, []],
    ['not one whose container holds data', { holdsData: (id) => id === 'web-old' }, ['api(web db)']],
    ['one whose container is bad', { containers: [container('web', 'new')], bad: new Set(['web-new']) }, ['web(db)']],
    [
      'one that came so, in a revert',
      { services: [{ name: 'web', replicas: 1 }] as never, left: facts.services as never },
      ['web()'],
    ],
    [
      'none without the key',
      { services: facts.services.map(({ name, replicas: n }) => ({ name, replicas: n })) as never },
      [],
    ],
    [
      'one of two generations, even if a container holds data, or holds it for compose',
      { containers: ['old', 'new', 'none'].map((hash) => container('web', hash)), holdsData: (id) => id === 'web-old' },
      ['web(db)'],
    ],
  ])('%s', (_title, more, expected) => expect(namesOf(more)).toEqual(expected));

  const ended = { State: { Status: 'exited' } };
  const plain = [{ name: 'web', replicas: 1 }] as never;
  it.each<[string, Partial<typeof facts>, { compared: string[]; removed: string[] }]>([
    [
      'two generations that do not run: what the release does not want',
      { containers: [container('web', 'old', ended), container('web', 'new', ended)] },
      { compared: ['web'], removed: ['web-oldx'] },
    ],
    [
      'nothing of a service that is left alone',
      { containers: [container('web', 'old', ended), container('web', 'new', ended)], untouched: ['web'] as never[] },
      { compared: ['web'], removed: [] },
    ],
    [
      'one generation that does not run: nothing',
      { containers: [container('web', 'old', ended)] },
      { compared: [], removed: [] },
    ],
    [
      'two generations that serve: nothing, they are replaced',
      { containers: [container('web', 'old'), container('web', 'new')] },
      { compared: ['web'], removed: [] },
    ],
    [
      'two generations that another release left, without the key: those of the other one',
      { services: plain, containers: [container('web', 'old'), container('web', 'new')] },
      { compared: ['web'], removed: ['web-old'] },
    ],
    [
      'two generations, neither of the release: nothing',
      { services: plain, containers: [container('web', 'old'), container('web', 'older')] },
      { compared: ['web'], removed: [] },
    ],
    [
      'one whose data only compose passes on: nothing',
      { services: plain, containers: [container('web', 'old'), container('web', 'new')], holdsData: () => true },
      { compared: ['web'], removed: [] },
    ],
    [
      'as many containers as the release has: nothing, compose replaces one',
      {
        services: [{ name: 'web', replicas: 2 }] as never,
        containers: [container('web', 'old'), container('web', 'new')],
      },
      { compared: [], removed: [] },
    ],
  ])('before compose starts, removes of %s', (_title, more, { compared, removed }) => {
    const found = { ...facts, ...more };
    expect(comparedServices(found)).toEqual(compared);
    expect(obsoleteContainers(found, replacementsOf(found))).toEqual(removed);
  });
});

it('says for each service that had containers how an apply has replaced it', () => {
  const update = { replicas: 1, parallelism: 1, delay_s: 0, monitor_s: 0 };
  const service = (name: string, more: object = {}) => ({ name, replicas: 1, ...more });
  const services = [
    ...[service('web', { start_first: update }), service('ended', { start_first: update }), service('db')],
    ...[service('migration', { kind: 'job' }), service('cache'), service('new')],
  ];
  const created = new Set(['web', 'ended', 'db', 'migration', 'new']);
  const before = new Set(['web', 'ended', 'db', 'migration', 'cache']);
  const found = replacementReasonsOf({ services, startFirst: new Set(['web']), before, created });
  expect(Object.fromEntries(found)).toEqual({
    web: 'asked',
    ended: 'ended',
    db: 'unasked',
    migration: 'jobs',
    cache: 'kept',
  });
});
