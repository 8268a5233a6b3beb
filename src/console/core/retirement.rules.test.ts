import { isLastHost, retirementSteps } from './backends.rules.ts';

type Facts = Omit<Parameters<typeof retirementSteps>[0], 'managers' | 'secrets_destroy_at'>;

it.each<[string, Facts, string[]]>([
  ['not asked for', { state: 'active', finished: [], pending_steps: [] }, ['to do', 'to do', 'to do', 'to do']],
  [
    'that waits for its host',
    { state: 'retiring', finished: [], pending_steps: [] },
    ['waits', 'to do', 'to do', 'to do'],
  ],
  [
    'that finishes',
    {
      state: 'finishing',
      finished: ['revokeToken'],
      pending_steps: [
        { step: 'deleteIdentity', tries: 2, error: 'the mesh is away' },
        { step: 'destroySecrets', tries: 0, error: null },
      ],
    },
    ['done', 'done', 'failed, is tried again', 'waits'],
  ],
  [
    'that is done',
    { state: 'retired', finished: ['revokeToken', 'deleteIdentity', 'destroySecrets'], pending_steps: [] },
    ['done', 'done', 'done', 'done'],
  ],
])('a retirement %s', (_what, facts, words) => {
  const steps = retirementSteps({ ...facts, managers: [], secrets_destroy_at: null });
  expect(steps.map(({ word }) => word)).toEqual(words);
  expect(steps.filter(({ error }) => error !== null)).toHaveLength(
    facts.pending_steps.filter(({ error }) => error).length,
  );
});

it.each([
  [[], 'Its host takes everything down'],
  [['retiring'], 'The leader of its swarm takes everything down'],
  [['active'], 'Its agent ends; what the other managers of its swarm run stays'],
] as const)('a retirement where the other managers are %j begins with: %s', (states, name) => {
  const managers = states.map((state) => ({ id: state, host_name: null, site: 'fra', state, leader: false }));
  expect(
    retirementSteps({ state: 'active', finished: [], pending_steps: [], managers, secrets_destroy_at: null })[0],
  ).toMatchObject({ name });
});

it('the step of secrets waits during their grace', () => {
  const facts: Facts = { state: 'finishing', finished: [], pending_steps: [] };
  const steps = retirementSteps({ ...facts, managers: [], secrets_destroy_at: '2026-12-01T00:00:00Z' });
  expect(steps.at(-1)).toMatchObject({ word: 'waits' });
});

it.each<[boolean, { active?: number; retiring?: number; retired?: number; invited?: number }, string[]]>([
  [true, { active: 1 }, []],
  [true, { active: 1, retiring: 2, retired: 5 }, []],
  [false, { active: 2 }, []],
  [false, { active: 1, invited: 1 }, []],
  [true, { active: 2 }, ['active']],
  [false, { active: 2 }, ['retiring']],
])('is the last host: %j, if the environment has %j and its swarm the managers %j', (isLast, counts, states) => {
  const managers = states.map((state) => ({
    id: state,
    host_name: null,
    site: 'fra',
    state: state as 'active',
    leader: false,
  }));
  expect(isLastHost({ state: 'active', managers }, counts)).toBe(isLast);
});
