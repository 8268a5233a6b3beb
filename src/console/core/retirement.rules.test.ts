import { retirementSteps } from './backends.rules.ts';

type Facts = Omit<Parameters<typeof retirementSteps>[0], 'managers'>;

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
  const steps = retirementSteps({ ...facts, managers: [] });
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
  const managers = states.map((state) => ({ id: state, site: 'fra', state, leader: false }));
  expect(retirementSteps({ state: 'active', finished: [], pending_steps: [], managers })[0]).toMatchObject({ name });
});
