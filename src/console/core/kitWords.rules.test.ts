import type { InstallKit } from '../api/types.ts';
import { kitFiles, supersedes } from './forms.rules.ts';

it('has the files that there are', () => {
  const kit = {
    bootstrap_jwt: 'ey',
    download_token: null,
    mesh_enrolment_jwt: 'mesh',
    tenancy_ca: 'PEM',
    secretstore_ca: null,
    trust: null,
  };
  expect(kitFiles(kit as InstallKit).map(({ name }) => name)).toEqual([
    'bootstrap.jwt',
    'mesh-enrolment.jwt',
    'tenancy-ca.pem',
  ]);
});

it.each([
  [0, null, /No kit/],
  [1, null, /once before.*grant is void\.$/],
  [3, '2026-11-26T08:00:00Z', /3 times.*refused until/],
])(
  'a kit after %i others, of a host that was seen at %s, shows what it supersedes',
  (kits_revealed, last_seen_at, words) => {
    expect(supersedes({ kits_revealed, last_seen_at })).toMatch(words);
  },
);
