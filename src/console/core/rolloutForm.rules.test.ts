import { gateWebhooks, judgeEdit, judgeRollout, rollbackWords, rolloutEdit, rolloutPlan } from './rollouts.rules.ts';

const formOf = (values: Record<string, string>) => {
  const fields = new FormData();
  for (const [name, value] of Object.entries({ failures: '0', soak: '300', gate: 'none', ...values }))
    fields.set(name, value);
  return fields;
};
/** The inputs of a row: a number, a unit and a label. */
const wave = (row: number, number: string, unit: string, label = '') => ({
  ...{ [`wave-${row}-number`]: number, [`wave-${row}-unit`]: unit, [`wave-${row}-label`]: label },
});
/** A window on mondays and tuesdays. */
const window = (start: string, minutes: string, zone: string) => ({
  ...{ 'window-0-mon': 'true', 'window-0-tue': 'true', 'window-0-start': start },
  ...{ 'window-0-minutes': minutes, 'window-0-zone': zone },
});

it('reads waves with labels, and windows', () => {
  const fields = formOf({
    ...{ ...wave(0, '1', 'hosts', 'ring=canary'), ...wave(1, '', ''), ...wave(2, '25', 'percent') },
    ...{
      ...window('08:30', '90', 'Europe/Berlin'),
      'window-1-start': '10:00',
      failures: '2',
      soak: '60',
      gate: 'manual',
    },
  });
  expect(rolloutPlan(fields)).toEqual({
    waves: [{ count: 1, labels: { ring: 'canary' } }, { percent: 25 }],
    windows: [{ days: ['mon', 'tue'], start: '08:30', minutes: 90, time_zone: 'Europe/Berlin' }],
    ...{ max_failures: 2, soak_s: 60, gate: 'manual' },
  });
  expect(judgeRollout(fields)).toEqual({
    problems: {},
    meaning:
      'Wave 1 takes 1 of ring=canary. Wave 2 takes 25 % of the hosts. All hosts that are left come last. ' +
      'Waves start mon, tue from 08:30 for 90 minutes (Europe/Berlin) only.',
  });
  expect(rolloutPlan(formOf(wave(0, '', 'all', 'tier=1'))).waves).toEqual([{ labels: { tier: '1' } }]);
});

it('shows that all hosts come at once without a wave', () => {
  expect(judgeRollout(formOf({}))).toEqual({ problems: {}, meaning: 'One wave takes all hosts.' });
  expect(rolloutPlan(formOf({}))).toMatchObject({ waves: [], windows: [], gate: 'none' });
});

it('sends the gate of a webhook of the environment or of all', () => {
  const webhooks = [
    { id: 'a', env: 'eu-1', format: 'standard' as const },
    { id: 'b', env: null, format: 'standard' as const },
    { id: 'c', env: 'us-1', format: 'standard' as const },
    { id: 'd', env: 'eu-1', format: 'slack' as const },
  ];
  expect(gateWebhooks(webhooks, 'eu-1').map(({ id }) => id)).toEqual(['a', 'b']);
  expect(rolloutPlan(formOf({ gate: 'a' }))).toMatchObject({ gate: 'webhook', gate_webhook: 'a' });
});

it.each<[string, Record<string, string>, RegExp]>([
  ['wave-0-number', wave(0, '', 'hosts'), /^Wave 1 needs a number from 1 to 1,000,000/],
  ['wave-3-number', wave(3, '101', 'percent'), /^Wave 4 needs a number from 1 to 100/],
  ['wave-0-number', wave(0, '1.5', 'hosts'), /needs a number/],
  ['window-0-start', window('', '90', 'UTC'), /When does the window open/],
  ['window-0-minutes', window('08:30', '1441', 'UTC'), /1 to 1440 minutes/],
  ['window-0-minutes', window('08:30', '0', 'UTC'), /1 to 1440 minutes/],
  ['window-0-zone', window('08:30', '90', 'Europe/Berln'), /not known: Europe\/Berln/],
])('shows the fault of %s in %j', (name, values, words) => {
  expect(judgeRollout(formOf(values)).problems).toEqual({ [name]: expect.stringMatching(words) as string });
});

it('changes limits, and later waves only if some are given', () => {
  const fields = { failures: '2', soak: '60', deadline: '900' };
  const limits = { max_failures: 2, soak_s: 60, deadline_s: 900 };
  expect(rolloutEdit(formOf(fields))).toEqual(limits);
  expect(rolloutEdit(formOf({ ...fields, ...wave(0, '10', 'percent') }))).toEqual({
    ...limits,
    waves: [{ percent: 10 }],
  });
  expect(judgeEdit(formOf(fields)).meaning).toBe('The later waves stay as they are.');
  expect(judgeEdit(formOf({ ...fields, ...wave(0, '1', 'hosts') })).meaning).toMatch(
    /^From now on: Wave 1 takes 1 of the hosts/,
  );
});

it('names what a rollback has left to do', () => {
  const [web, db] = [
    { id: 'a', host_name: 'web-3', site: 'fra' },
    { id: 'b', host_name: null, site: 'muc' },
  ];
  const done = { missing: null, denying: 0, denying_hosts: [] };
  const wordsOf = (more: object) =>
    rollbackWords({ ...done, ...more } as unknown as Parameters<typeof rollbackWords>[0]);
  expect(wordsOf({})).toEqual([]);
  expect(wordsOf({ denying: 1, denying_hosts: [web], missing: { required: 2, signers: ['key A', 'key B'] } })).toEqual([
    'Its bundle awaits 2 of the signatures of key A, key B.',
    '1 host keeps its bundle, because its policy denies rollbacks: web-3. The others return.',
  ]);
  expect(wordsOf({ denying: 5, denying_hosts: [web, db] })).toEqual([
    '5 hosts keep their bundle, because their policy denies rollbacks: web-3, muc, and 3 more. The others return.',
  ]);
});
