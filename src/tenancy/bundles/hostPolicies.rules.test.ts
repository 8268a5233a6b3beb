import type { Refusal } from '../../../machines/refusals.ts';
import type { Manifest } from '../../../machines/types.ts';
import { defaultPolicy } from '../../api/hostPolicy.rules.ts';
import { newSigstore } from '../../../fixtures/world/signatures/keyless.ts';
import type { CheckInRequest } from '../../api/checkIn.rules.ts';
import { rootName } from '../../signatures/signatureFiles.ts';
import { expectedSettings } from './bundleList.ts';
import { commonRefusals, policyOf, policyWarnings, settingsDifference } from './hostPolicies.rules.ts';

const fault = (text: string, cure = '') => ({ text, cure });
const privileged = (...texts: string[]): Refusal => {
  return {
    code: 'PRIVILEGED_REFUSED',
    detail: texts.join('; '),
    faults: texts.map((text) => fault(text, `permit ${text}`)),
  };
};
const stale: Refusal = { code: 'MANIFEST_INVALID', detail: 'x' };

it('normalizes a reported policy and drops unknown parts', () => {
  const permit = { networks: ['b', 'a'], capabilities: ['X'], magic: ['y'] };
  expect(policyOf({ permit, deny: ['purge', 'privileged', 'magic'], images: 'signed' })).toEqual({
    permit: { capabilities: ['X'], networks: ['a', 'b'] },
    deny: ['privileged', 'purge'],
    images: 'any',
  });
  expect(policyOf({})).toEqual(defaultPolicy);
  expect(policyOf({ images: 'digest' }).images).toBe('digest');
});

it.each<[string, Refusal[], Refusal[][], Refusal[]]>([
  ['all, if there are no hosts', [privileged('a', 'b'), stale], [], [privileged('a', 'b'), stale]],
  [
    'faults that every host refuses',
    [privileged('a', 'b')],
    [[privileged('b')], [privileged('c', 'b')]],
    [privileged('b')],
  ],
  ['none that some host permits', [privileged('a'), stale], [[stale], []], []],
  ['none with the same text but another code', [stale], [[privileged('x')]], []],
])('finds the refusals of all hosts: %s', (_, first, others, expected) => {
  expect(commonRefusals(first, others)).toEqual(expected);
});

it('warns of all other faults, each with its fix, and of a flag that has no effect', () => {
  const manifest = { agent: { allow_privileged: false, allow_rollback: true } } as Manifest;
  const facts = { manifest, common: [privileged('b')] };
  const warning = { code: 'PRIVILEGED_REFUSED', detail: 'a: permit a' };
  expect(policyWarnings(defaultPolicy, [privileged('a', 'b')], facts)).toEqual([warning]);
  expect(policyWarnings({ ...defaultPolicy, deny: ['rollback'] }, [privileged('b')], facts)).toEqual([
    {
      code: 'ROLLBACK_REFUSED',
      detail: 'agent.allow_rollback does not count (policy.deny: rollback), so a way back is',
    },
  ]);
  expect(policyWarnings(defaultPolicy, [privileged('b')], facts)).toEqual([]);
});

describe('the trust root of a host', () => {
  const root = newSigstore().trustRoot();
  const digest = rootName(root).replace('trust root sha256 ', '');
  const robot = { issuer: 'https://id.example', subject: 'robot@example.com' };
  const differenceWith = (reported: string | null, identities: (typeof robot)[], recorded: string | null) => {
    const names = identities.map(({ subject, issuer }) => `${subject} (${issuer})`);
    const bundles = { threshold: 1, keys: [], identities: names, root: reported };
    const expected = expectedSettings({ threshold: 1, keys: [], identities, root: recorded });
    return settingsDifference({ trust: { bundles, images: null } } as unknown as CheckInRequest, expected!);
  };

  it.each([
    ['the recorded one', digest, null],
    ['another', 'a'.repeat(64), `trust root sha256 ${'a'.repeat(64)} instead of ${digest}`],
    ['not there', null, `trust root sha256 none instead of ${digest}`],
  ])('is %s', (_what, reported, difference) => {
    // White space in the recorded root does not count.
    const recorded = JSON.stringify(JSON.parse(root), null, 2);
    expect(differenceWith(reported, [robot], recorded)).toBe(difference);
  });

  it('is not compared if none was recorded, or only keys', () => {
    expect(differenceWith('a'.repeat(64), [robot], null)).toBeNull();
    expect(differenceWith(null, [], root)).toBeNull();
  });
});
