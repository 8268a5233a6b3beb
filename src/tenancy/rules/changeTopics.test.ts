import { changesOfEntry, topics, visibleTopics } from './changeTopics.ts';

it.each([
  ['backend.create', ['backends', 'audit']],
  ['bundle.push', ['bundles', 'envs', 'audit']],
  ['env.promote', ['envs', 'backends', 'audit']],
  ['operator.create', ['people', 'audit']],
  ['rollout.start', ['rollouts', 'envs', 'backends', 'audit']],
  ['secret.set', ['secrets', 'audit']],
  ['session.end', ['people', 'audit']],
  ['signature.add', ['bundles', 'envs', 'audit']],
  ['webhook.test', ['webhooks', 'audit']],
  ['other', ['audit']],
])('%s changes %j', (act, changed) => {
  const topicsOf = (result: 'ok' | 'refused') => changesOfEntry({ act, env: 'eu', result }).map(({ topic }) => topic);
  expect(topicsOf('ok')).toEqual(changed);
  expect(topicsOf('refused')).toEqual(['audit']);
});

it.each([
  ['viewer', topics.filter((topic) => topic !== 'audit' && topic !== 'people')],
  ['admin', topics],
] as const)('a %s sees what changes in the envs that it is for', (role, visible) => {
  const changes = topics.map((topic) => ({ topic, env: 'eu' }));
  expect(visibleTopics([{ role, envs: ['eu'] }], changes)).toEqual(visible);
  expect(visibleTopics([{ role, envs: ['us'] }], changes)).toEqual([]);
});
