import type { Refusal } from '../../../machines/refusals.ts';
import type { Manifest } from '../../../machines/types.ts';
import { defaultPolicy } from '../../api/hostPolicy.rules.ts';
import { commonRefusals, policyOf, policyWarnings } from './hostPolicies.rules.ts';

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
