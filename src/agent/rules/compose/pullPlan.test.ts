import { pullPlanOf, type LocalImage } from './pullPlan.ts';

const nowMs = Date.parse('2026-11-29T12:00:00Z');
const hourMs = 3_600_000;
const tagged = (agoMs: number): LocalImage => ({ taggedMs: nowMs - agoMs });
const unknown: LocalImage = { taggedMs: null };
const digest = `app@sha256:${'a'.repeat(64)}`;

it.each<[string, { image?: string; policy: string | null; local: LocalImage | null }, 'pulled' | 'absent' | 'local']>([
  ['no policy', { policy: null, local: tagged(0) }, 'pulled'],
  ['no policy, no image', { policy: null, local: null }, 'pulled'],
  ['always', { policy: 'always', local: tagged(0) }, 'pulled'],
  ['missing', { policy: 'missing', local: unknown }, 'local'],
  ['missing, no image', { policy: 'missing', local: null }, 'pulled'],
  ['if_not_present', { policy: 'if_not_present', local: unknown }, 'local'],
  ['if_not_present, no image', { policy: 'if_not_present', local: null }, 'pulled'],
  ['never', { policy: 'never', local: unknown }, 'local'],
  ['never, no image', { policy: 'never', local: null }, 'absent'],
  ['a digest', { image: digest, policy: null, local: unknown }, 'local'],
  ['a digest with a tag', { image: digest.replace('@', ':1@'), policy: null, local: unknown }, 'local'],
  ['a digest, always', { image: digest, policy: 'always', local: unknown }, 'local'],
  ['a digest, no image', { image: digest, policy: null, local: null }, 'pulled'],
  ['a digest, never, no image', { image: digest, policy: 'never', local: null }, 'absent'],
  ['daily, recent', { policy: 'daily', local: tagged(24 * hourMs - 1) }, 'local'],
  ['daily, old', { policy: 'daily', local: tagged(24 * hourMs) }, 'pulled'],
  ['daily, of unknown age', { policy: 'daily', local: unknown }, 'pulled'],
  ['daily, of the future', { policy: 'daily', local: tagged(-1) }, 'pulled'],
  ['daily, no image', { policy: 'daily', local: null }, 'pulled'],
  ['weekly, recent', { policy: 'weekly', local: tagged(168 * hourMs - 1) }, 'local'],
  ['weekly, old', { policy: 'weekly', local: tagged(168 * hourMs) }, 'pulled'],
  ['every_1d12h, recent', { policy: 'every_1d12h', local: tagged(36 * hourMs - 1) }, 'local'],
  ['every_1d12h, old', { policy: 'every_1d12h', local: tagged(36 * hourMs) }, 'pulled'],
  ['every_90m30s, recent', { policy: 'every_90m30s', local: tagged(1.5 * hourMs + 29_999) }, 'local'],
  ['every_90m30s, old', { policy: 'every_90m30s', local: tagged(1.5 * hourMs + 30_000) }, 'pulled'],
  ['every_2w, recent', { policy: 'every_2w', local: tagged(335 * hourMs) }, 'local'],
])('decides for %s whether the image is pulled', (_title, { image = 'app:1', policy, local }, expected) => {
  const service = { service: 'web', image, pullPolicy: policy, local };
  expect(pullPlanOf([service], nowMs)).toEqual({
    pulled: expected === 'pulled' ? [service] : [],
    absent: expected === 'absent' ? [service] : [],
  });
});

it('lets a service that never pulls use the image that another service pulls', () => {
  const never = { service: 'web', image: 'app:1', pullPolicy: 'never', local: null };
  const other = { ...never, service: 'other', pullPolicy: null };
  expect(pullPlanOf([never, other], nowMs)).toEqual({ pulled: [other], absent: [] });
});
