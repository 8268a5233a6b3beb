import {
  type Change,
  type ChangeMarks,
  changesBetween,
  changesOfEntry,
  topics,
  visibleTopics,
} from './changes.rules.ts';
import type { Permission } from './permission.rules.ts';

const entry = (id: number, act = 'bundle.push', result = 'ok') => ({ id, act, env: 'eu', result });
const marks = (changes: Partial<ChangeMarks> = {}): ChangeMarks => ({
  entries: [],
  hosts: '1',
  rollouts: [],
  ...changes,
});
const told = (before: ChangeMarks, after: ChangeMarks) =>
  changesBetween(before, after).map(
    ({ topic, env }) => `${topic} ${typeof env === 'string' ? env : JSON.stringify(env)}`,
  );

describe('between two looks', () => {
  it('nothing has changed', () => {
    const same = marks({ entries: [entry(1)], rollouts: [{ id: 'r', env: 'eu', mark: 'x' }] });
    expect(told(same, same)).toEqual([]);
    expect(told(marks(), marks())).toEqual([]);
  });

  it('acts were made, also the first of all', () => {
    expect(told(marks(), marks({ entries: [entry(1)] }))).toEqual(['bundles eu', 'envs eu', 'audit eu']);
    const after = marks({ entries: [entry(3, 'secret.set'), entry(2)] });
    expect(told(marks({ entries: [entry(2), entry(1)] }), after)).toEqual(['secrets eu', 'audit eu']);
  });

  it('an act became visible after a later one', () => {
    const [before, after] = [
      [entry(5), entry(3), entry(1)],
      [entry(5), entry(3), entry(2, 'secret.set'), entry(1)],
    ];
    expect(told(marks({ entries: before }), marks({ entries: after }))).toEqual(['secrets eu', 'audit eu']);
  });

  it('an entry older than those of the look before is no news', () => {
    const [before, after] = [
      [entry(5), entry(4)],
      [entry(5), entry(4), entry(3)],
    ];
    expect(told(marks({ entries: before }), marks({ entries: after }))).toEqual([]);
  });

  it('so much was done that anything may have changed', () => {
    const changes = told(marks({ entries: [entry(1)] }), marks({ entries: [entry(300), entry(299)] }));
    expect(changes).toEqual(topics.map((topic) => `${topic} {"any":true}`));
  });

  it('hosts have told something, and rollouts have begun or gone on', () => {
    expect(told(marks(), marks({ hosts: '2' }))).toEqual(['backends {"any":true}']);
    const rollouts = ['1', '2'].map((mark) => [{ id: 'r', env: 'eu', mark }]);
    expect(told(marks({ rollouts: rollouts[0]! }), marks({ rollouts: rollouts[1]! }))).toEqual(['rollouts eu']);
    expect(told(marks(), marks({ rollouts: rollouts[0]! }))).toEqual(['rollouts eu']);
  });
});

it.each([
  ['env.desired', 'ok', ['envs', 'backends', 'audit']],
  ['env.desired', 'ROLLOUT_ACTIVE', ['audit']],
  ['secret.set', 'started', ['audit']],
  ['unknown.act', 'ok', ['audit']],
])('the act %s with the result %s changes %j', (act, result, expected) => {
  expect(changesOfEntry({ act, result, env: 'eu' }).map(({ topic }) => topic)).toEqual(expected);
});

describe('topics are told to', () => {
  const of = (env: Change['env']): Change[] => topics.map((topic) => ({ topic, env }));
  const plain = topics.filter((topic) => topic !== 'audit' && topic !== 'people');
  it.each<[string, Permission[], Change['env'], readonly string[]]>([
    ['an administrator, of everything', [{ role: 'admin', envs: null }], null, topics],
    ['an administrator of an env, of it', [{ role: 'admin', envs: ['eu'] }], 'eu', topics],
    ['an administrator of an env, not of another', [{ role: 'admin', envs: ['eu'] }], 'us', []],
    ['an administrator of an env, not of none', [{ role: 'admin', envs: ['eu'] }], null, []],
    ['a viewer, but no audit log and people', [{ role: 'viewer', envs: null }], 'eu', plain],
    ['whoever sees any env, of an unknown one', [{ role: 'viewer', envs: ['eu'] }], { any: true }, plain],
    ['nobody without a role', [], { any: true }, []],
  ])('%s', (_who, permissions, env, expected) => {
    expect(visibleTopics(permissions, of(env))).toEqual(expected);
  });
});
