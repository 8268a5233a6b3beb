import { ordersOf } from './agent.rules.ts';

const one = { sha256: '1'.repeat(64), sizeBytes: 10, emergency: false };
const apply = { action: 'apply', desired_sha: one.sha256, bundle: { sha256: one.sha256, size_bytes: 10 } };

it.each([
  ['active', null, null, { action: 'none', desired_sha: null }],
  ['active', null, one, apply],
  ['active', 'other', one, apply],
  ['active', null, { ...one, emergency: true }, { ...apply, bundle: { ...apply.bundle, emergency: true } }],
  ['invited', null, one, apply],
  ['offline', null, one, apply],
  ['active', one.sha256, one, { action: 'none', desired_sha: one.sha256 }],
  // Nothing is desired any more: what runs stays.
  ['active', 'other', null, { action: 'none', desired_sha: null }],
  ['retiring', null, one, { action: 'down', desired_sha: null, purge_volumes: true }],
  ['retiring', one.sha256, one, { action: 'down', desired_sha: null, purge_volumes: true }],
] as const)('%s, applied %s, desired %j: %j', (state, appliedSha, desired, orders) => {
  expect(ordersOf({ state, appliedSha, desired, purgeVolumes: true, isFollower: false })).toEqual(orders);
});

it('removes no volumes unless that was asked', () => {
  const facts = { appliedSha: null, desired: null, purgeVolumes: false, isFollower: false };
  const orders = ordersOf({ state: 'retiring', ...facts });
  expect(orders.purge_volumes).toBe(false);
});

it('lets the leader of a swarm alone take down what its managers run, and all of them know what is desired', () => {
  const facts = { appliedSha: null, desired: one, purgeVolumes: true, isFollower: true };
  expect(ordersOf({ state: 'retiring', ...facts })).toEqual({ action: 'none', desired_sha: null });
  expect(ordersOf({ state: 'active', ...facts })).toEqual(apply);
});
