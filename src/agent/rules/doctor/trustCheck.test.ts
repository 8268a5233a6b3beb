import { checkLines } from '../../../../fixtures/spec/checkLines.ts';
import { checkTrust, type TrustCheckFacts } from './trustCheck.ts';

const [release, old] = ['/etc/deployd/trust/release.pub', '/etc/deployd/trust/old.pub'];
const now = new Date('2026-06-01T00:00:00Z');
const facts: TrustCheckFacts = {
  signed: 'bundles',
  settings: { keys: [release, old] },
  configPath: '/etc/deployd/config.yaml',
  problems: [],
  keySigners: new Map([
    [release, 'key SHA256:r'],
    [old, 'key SHA256:o'],
  ]),
  rootEnds: [],
  appliedSigners: null,
  now,
};
const end = (what: string, at: string) => ({ what, end: new Date(at) });

it('passes, and names the key that did not sign what is applied', () => {
  expect(checkTrust([facts]).detail).toBe(`bundles signed by 1 of ${release}, ${old}`);
  const check = checkTrust([{ ...facts, appliedSigners: ['key SHA256:r'] }]);
  expect(check).toMatchObject({ name: 'trust', status: 'passed', findings: [] });
  expect(check.detail).toBe(`bundles signed by 1 of ${release}, ${old}; ${old} did not sign what is applied`);
});

it.each<[string, Partial<TrustCheckFacts>, string[]]>([
  ['a file that cannot be used', { problems: [`${old} is missing`] }, [`trust.bundles: ${old} is missing`]],
  [
    'one key in two files, and a threshold of two',
    {
      settings: { threshold: 2, keys: [release, old] },
      keySigners: new Map([
        [release, 'k'],
        [old, 'k'],
      ]),
    },
    ['trust.bundles: the threshold of 2 cannot be met: 1 different signers can be verified'],
  ],
  [
    'a root that ends soon, or has ended, or has no authority',
    {
      rootEnds: [
        end('certificate authority', '2026-07-01T00:00:00Z'),
        end('authority of the day', '2026-06-01T00:00:00Z'),
        end('transparency log', '2026-05-31T23:59:59.999Z'),
        end('certificate log', '1970-01-01T00:00:00Z'),
      ],
    },
    [
      'trust.bundles: the last certificate authority of the trust root ends at 2026-07-01T00:00:00.000Z',
      'trust.bundles: the last authority of the day of the trust root ends at 2026-06-01T00:00:00.000Z',
      'trust.bundles: the last transparency log of the trust root ended at 2026-05-31T23:59:59.999Z',
      'trust.bundles: the trust root has no certificate log',
    ],
  ],
])('fails for %s', (_what, differing, problems) => {
  const check = checkTrust([{ ...facts, ...differing }]);
  expect(check.findings.map(({ problem }) => problem)).toEqual(problems);
  expect(checkLines(check)[0]).toMatch(/failed/);
});

it('names the command that cures each problem', () => {
  const settings = { keys: [release], root: '/etc/deployd/trust/root.json' };
  const rootEnds = [end('transparency log', '1970-01-01T00:00:00Z')];
  const { findings } = checkTrust([{ ...facts, settings, rootEnds, problems: ['x is missing'] }]);
  expect(findings.map(({ fix }) => fix)).toEqual([
    'sudoedit /etc/deployd/config.yaml',
    'sudo install -m 0644 trusted_root.json /etc/deployd/trust/root.json',
  ]);
});

it('an identity counts as a signer, and a root that ends in a month and a day is no problem', () => {
  const settings = {
    threshold: 2,
    keys: [release],
    identities: [{ issuer: 'https://id.example', subject: 'a@b.example' }],
    root: '/r',
  };
  const rootEnds = [end('certificate authority', '2026-07-02T00:00:00Z'), { what: 'transparency log', end: null }];
  expect(checkTrust([{ ...facts, settings, keySigners: new Map([[release, 'k']]), rootEnds }]).findings).toEqual([]);
});

it('tells of bundles and of images each what is wrong with it', () => {
  const images: TrustCheckFacts = {
    ...facts,
    signed: 'images',
    problems: ['x is missing'],
    appliedSigners: ['key SHA256:o'],
  };
  const { findings } = checkTrust([facts, images]);
  expect(findings.map(({ problem }) => problem)).toEqual(['trust.images: x is missing']);
  expect(checkTrust([facts, { ...images, problems: [] }]).detail).toBe(
    `bundles signed by 1 of ${release}, ${old}; images signed by 1 of ${release}, ${old}; ${release} did not sign an image of what is applied`,
  );
});
