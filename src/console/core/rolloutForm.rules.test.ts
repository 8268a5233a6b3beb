import { gateWebhooks, judgeRollout, rolloutBounds, rolloutPlan } from './rollouts.rules.ts';

const formOf = (values: Record<string, string>) => {
  const fields = new FormData();
  for (const [name, value] of Object.entries({
    failures: '0',
    soak: '300',
    waves: '',
    windows: '',
    gate: 'none',
    ...values,
  }))
    fields.set(name, value);
  return fields;
};

it('reads waves with labels and windows, a line each', () => {
  const fields = formOf({
    waves: ' 1:ring=canary \r\n\r\n25%\n',
    windows: 'mon-tue  08:30+90 Europe/Berlin',
    ...{ failures: '2', soak: '60', gate: 'manual' },
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

it.each([
  ['waves', '1\nmany', /^“many” is not a wave: 5, 10% or all, perhaps with labels/],
  ['waves', '10%:ring', /^“10%:ring” is not a wave/],
  ['waves', '1000001', /more than a million/],
  ['waves', '1\n'.repeat(rolloutBounds.waves + 1), /32 lines at most/],
  ['windows', 'mon 8:30+90 UTC', /^“mon 8:30\+90 UTC” is not a window: days, start, .* time zone, such as /],
  ['windows', 'mon 08:30+1441 UTC', /1 to 1440 minutes/],
  ['windows', 'mon 08:30+0 UTC', /1 to 1440 minutes/],
  ['windows', 'mon 08:30+90 Europe/Berln', /no time zone that is known: Europe\/Berln/],
])('shows the fault of the %s %j', (name, text, words) => {
  expect(judgeRollout(formOf({ [name]: text })).problems).toEqual({ [name]: expect.stringMatching(words) as string });
});
