import { trustsOf, trustSummary } from './trustSummary.ts';

const release = '/etc/deployd/trust/release.pub';
const ops = { issuer: 'https://id.example', subject: 'ops@example.com' };

it.each([
  [{ keys: [release] }, `bundles signed by all of ${release}`],
  [{ keys: [release], identities: [ops] }, `bundles signed by 1 of ${release}, ops@example.com (https://id.example)`],
  [{ identities: [ops] }, 'bundles signed by all of ops@example.com (https://id.example)'],
  [
    { threshold: 2, identities: [ops], keys: [release] },
    `bundles signed by all of ${release}, ops@example.com (https://id.example)`,
  ],
])('%j', (trust, text) => {
  expect(trustSummary('bundles', trust)).toBe(text);
});

it('tells what of the two has to be signed', () => {
  const images = { keys: [release] };
  expect(trustsOf({ bundles: null, images: null })).toEqual([]);
  expect(trustsOf({ bundles: null, images })).toEqual([['images', images]]);
  expect(trustsOf({ bundles: images, images }).map(([signed]) => signed)).toEqual(['bundles', 'images']);
});
