import { defaultPolicy, type HostPolicy, isDefaultPolicy } from './hostPolicy.rules.ts';

it('a host says nothing of its own without permits, denials and a demand on images', () => {
  expect(isDefaultPolicy(defaultPolicy)).toBe(true);
});

it.each<Partial<HostPolicy>>([{ permit: { gpus: ['web'] } }, { deny: ['rollback'] }, { images: 'digest' }])(
  'a host says something by %j',
  (own) => {
    expect(isDefaultPolicy({ ...defaultPolicy, ...own })).toBe(false);
  },
);
