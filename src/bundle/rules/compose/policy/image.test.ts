import { defaultPolicy } from '../../../../protocol/hostPolicy.ts';
import { nodeFromJson } from '../document/composeNode.ts';
import type { PolicyFacts } from './finding.ts';
import { image } from './image.ts';
import { anyHost } from './policyHost.ts';

const digest = `sha256:${'a'.repeat(64)}`;
const pinned = { ...anyHost, policy: { ...defaultPolicy, images: 'digest' as const } };

function faultsOf(reference: string, facts: Partial<PolicyFacts>) {
  const location = { facts: facts as PolicyFacts, file: 'compose.yaml', owner: 'service web', keyPath: 'image' };
  return image(nodeFromJson(reference), location).map(({ code, text }) => `${code}: ${text}`);
}

it.each([
  ['app:1', { host: anyHost }],
  [`registry.example/app:1@${digest}`, { host: pinned }],
  ['app:${TAG}', { host: pinned }],
  [`app@${digest}`, { host: pinned, rendered: { dir: '/x' } }],
])('%s is allowed by %j', (reference, facts) => {
  expect(faultsOf(reference, facts)).toEqual([]);
});

it.each(['app:1', 'app', `app@${digest}0`, `app@${digest.slice(0, -1)}`, `app@${digest.toUpperCase()}`, `${digest}:1`])(
  '%s is refused where images are pinned',
  (reference) => {
    expect(faultsOf(reference, { host: pinned })).toEqual([
      'COMPOSE_REFUSED: service web: image is not pinned, as policy.images of this host wants (compose.yaml:0)',
    ]);
  },
);

it('a rendered image is judged whatever it was written as, and its text is not told', () => {
  expect(faultsOf('app:$$TAG', { host: pinned, rendered: { dir: '/x' } })).toEqual([
    'COMPOSE_REFUSED: service web: image is not pinned, as policy.images of this host wants, as compose renders it',
  ]);
});
