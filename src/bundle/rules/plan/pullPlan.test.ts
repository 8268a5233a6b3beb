import { parseComposeFile } from '../compose/document/composeFile.ts';
import { formatPulls, plannedPulls, pullPlanOf, type LocalImage } from './pullPlan.ts';

const nowMs = Date.parse('2026-11-29T12:00:00Z');
const hourMs = 3_600_000;
const tagged = (agoMs: number): LocalImage => ({ ...unknown, taggedMs: nowMs - agoMs });
const unknown: LocalImage = { taggedMs: null, user: '', architecture: '' };
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

it('plans what is pulled, by image, with the values of known variables', () => {
  const text = `services:
    web: {image: 'app:\${TAG}'}
    other: {image: 'app:2', pull_policy: missing}
    idle: {image: 'idle:1', scale: 0}
    hidden: {image: 'hidden:1', profiles: [debug]}
    here: {image: 'here:1', pull_policy: missing}
    loaded: {image: 'loaded:1', pull_policy: never}
    secret: {image: 'app:\${SECRET}', pull_policy: never}
    policy: {image: 'policy:1', pull_policy: '\${SECRET}'}
  `;
  const parsed = parseComposeFile('compose.yaml', text);
  if (!('file' in parsed)) throw new Error('not parsed');
  const bundle = { sha: null, version: '1', variables: { TAG: '2' }, profiles: [], files: [parsed.file] };
  const local = new Map(['app:2', 'here:1'].map((image) => [image, unknown]));
  const facts = { digests: new Map(), texts: new Map() };
  const pulls = plannedPulls({ ...bundle, ...facts }, { local, nowMs });
  expect(pulls.map(({ image, services, pull }) => `${image} ${services.join()} ${pull}`)).toEqual([
    'app:${SECRET} secret unknown',
    'app:2 web,other pulled',
    'here:1 here local',
    'loaded:1 loaded absent',
    'policy:1 policy unknown',
  ]);
  expect(formatPulls(pulls)).toEqual([
    'pulled: app:2',
    'on this host, not pulled: here:1',
    'not on this host and never pulled (pull_policy), so that the apply fails: loaded:1',
    'known with the value of a variable: app:${SECRET}, policy:1',
  ]);
});
