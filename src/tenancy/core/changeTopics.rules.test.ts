import { changesOfEntry } from './changes.rules.ts';

it.each([
  ['backend.create', ['backends', 'audit']],
  ['bundle.push', ['bundles', 'envs', 'audit']],
  ['env.promote', ['envs', 'backends', 'audit']],
  ['operator.create', ['people', 'audit']],
  ['rollout.start', ['rollouts', 'envs', 'backends', 'audit']],
  ['secret.set', ['secrets', 'audit']],
  ['service.admin', ['people', 'audit']],
  ['session.end', ['people', 'audit']],
  ['signature.add', ['bundles', 'envs', 'audit']],
  ['webhook.test', ['webhooks', 'audit']],
  ['other', ['audit']],
])('%s changes %j', (act, changed) => {
  const topicsOf = (result: 'ok' | 'refused') => changesOfEntry({ act, env: 'eu', result }).map(({ topic }) => topic);
  expect(topicsOf('ok')).toEqual(changed);
  expect(topicsOf('refused')).toEqual(['audit']);
});
