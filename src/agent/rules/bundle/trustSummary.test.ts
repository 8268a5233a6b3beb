import { trustSummary } from './trustSummary.ts';

const release = '/etc/deployd/trust/release.pub';
const ops = { issuer: 'https://id.example', subject: 'ops@example.com' };

it.each([
  [{ keys: [release] }, `bundles signed by all of ${release}`],
  [{ keys: [release], identities: [ops] }, `bundles signed by 1 of ${release}, ops@example.com (https://id.example)`],
  [
    { threshold: 2, identities: [ops], keys: [release] },
    `bundles signed by all of ${release}, ops@example.com (https://id.example)`,
  ],
])('%j', (trust, text) => {
  expect(trustSummary(trust)).toBe(text);
});
