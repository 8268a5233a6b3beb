import {
  describeUntrusted,
  falseFieldOf,
  judgeClaims,
  signatureRefusal,
  signersOf,
  type SignedRelease,
  type SignersNow,
  type TrustNow,
  untrustedNow,
} from './judgement.rules.ts';

const claim = { name: 'shop', env: 'eu-1', version: '1.2', sequence: 3 };

it.each(['name', 'env', 'version', 'sequence'] as const)('a claim of another %s is false', (field) => {
  expect(falseFieldOf({ ...claim, [field]: 'other' }, claim)).toBe(field);
  expect(signersOf([{ signer: 'a', claim: { ...claim, [field]: 'other' } }], claim)).toEqual([]);
});

it('counts a signer once, however often he signed', () => {
  const by = (signer: string) => ({ signer, claim });
  expect(falseFieldOf(claim, { ...claim })).toBeNull();
  expect(signersOf([by('b'), by('a'), by('b')], claim)).toEqual(['a', 'b']);
});

it('reports only the false claims of several signatures', () => {
  const verified = [
    { signer: 'a', claim },
    { signer: 'b', claim: { ...claim, env: 'eu-2' } },
  ];
  expect(judgeClaims({ verified, faults: [] }, claim, 2).refusal?.detail).toBe(
    "only a signed, and signatures by 2 of trust.bundles must be; b signed another env than the manifest's",
  );
  expect(judgeClaims({ verified, faults: [] }, claim, 1)).toEqual({ signers: ['a'], refusal: null });
});

const verdict = { threshold: 1, signers: [], count: 0, faults: [] };

it.each([
  [verdict, 'there is no signature, and a signature by one of trust.bundles must be'],
  [
    { ...verdict, count: 1, faults: ['signature 1: it is of another archive'] },
    'nobody who is trusted has signed, and a signature by one of trust.bundles must be; signature 1: it is of another archive',
  ],
  [
    { ...verdict, threshold: 2, count: 2, signers: ['key SHA256:a'] },
    'only key SHA256:a signed, and signatures by 2 of trust.bundles must be',
  ],
  [
    { ...verdict, threshold: 3, count: 2, signers: ['a', 'b'] },
    'only a, b signed, and signatures by 3 of trust.bundles must be',
  ],
])('%j', (given, detail) => {
  expect(signatureRefusal(given)).toEqual({ code: 'SIGNATURE_REFUSED', detail });
});

it('accepts as many signers as are demanded, whatever else there is', () => {
  expect(signatureRefusal({ threshold: 2, signers: ['a', 'b'], count: 3, faults: ['signature 3: x'] })).toBeNull();
});

it('reports ten faults, and the number of further ones', () => {
  const faults = Array.from({ length: 12 }, (_, at) => `signature ${at + 1}: x`);
  const detailOf = (count: number) => signatureRefusal({ ...verdict, count, faults: faults.slice(0, count) })?.detail;
  expect(detailOf(12)).toMatch(/; signature 10: x; and 2 more$/);
  expect(detailOf(10)).toMatch(/; signature 10: x$/);
});

describe('what runs without enough signers who are trusted now', () => {
  const issuer = 'https://issuer.example';
  const tags = 'https://forge.example/acme/.github/workflows/release.yml@refs/tags/';
  const trusted = (signers: Partial<SignersNow>): SignersNow => ({
    ...{ threshold: 1, keys: [], identities: [], root: null },
    ...signers,
  });
  const [oldKey, newKey] = ['old', 'new'].map((name) => ({ path: `/t/${name}.pub`, signer: `key SHA256:${name}` }));
  const byNew = trusted({ keys: [newKey!] });
  const byBoth = (threshold: number) => trusted({ threshold, keys: [oldKey!, newKey!] });
  const bundles = (now: SignersNow): TrustNow => ({ bundles: now, images: null });
  const images = (
    now: SignersNow,
    ...rules: (SignersNow & { repository: string; signed_as?: string })[]
  ): TrustNow => ({
    bundles: null,
    images: { ...now, rules },
  });
  const applied: SignedRelease = {
    signers: [oldKey!.signer],
    services: [{ name: 'web' }],
    verified_images: [{ service: 'web', repository: 'ghcr.io/acme/web', signers: [oldKey!.signer] }],
  };
  const theft = 'is signed by key SHA256:old, no longer trusted here; 1 signature required, from';

  it.each<[string, SignedRelease, TrustNow, string[]]>([
    ['nothing without a trust', { services: [{ name: 'web' }] }, { bundles: null, images: null }, []],
    ['nothing while a signer is trusted', applied, bundles(byBoth(1)), []],
    [
      'a bundle of a removed key',
      applied,
      bundles(byNew),
      ['the applied bundle is signed by key SHA256:old, no longer trusted here; missing: /t/new.pub (key SHA256:new)'],
    ],
    [
      'a bundle of a removed key, where several signers are trusted',
      applied,
      bundles(trusted({ keys: [newKey!], identities: [{ issuer, subject: 'kim@acme.example' }] })),
      [`the applied bundle ${theft} /t/new.pub (key SHA256:new), kim@acme.example (${issuer})`],
    ],
    [
      'a bundle with fewer signers than a raised threshold',
      applied,
      bundles(byBoth(2)),
      ['the applied bundle is signed by key SHA256:old, and that is not enough; missing: /t/new.pub (key SHA256:new)'],
    ],
    [
      'a bundle that was applied before signatures were required',
      { services: [] },
      bundles(byBoth(1)),
      [
        'the applied bundle was applied without a verified signature; 1 signature required, from /t/old.pub (key SHA256:old), /t/new.pub (key SHA256:new)',
      ],
    ],
    [
      'a bundle where no signer can be verified any more',
      applied,
      bundles(trusted({})),
      ['the applied bundle is signed by key SHA256:old, no longer trusted here; no other signer is trusted here'],
    ],
    [
      'nothing of a tag that a wildcard still covers',
      { services: [], signers: [`${tags}v2 (${issuer})`] },
      bundles(trusted({ identities: [{ issuer, subject: `${tags}*` }] })),
      [],
    ],
    [
      'nothing of a wildcard that is still trusted',
      { services: [], signers: [`${tags}* (${issuer})`] },
      bundles(trusted({ identities: [{ issuer, subject: `${tags}*` }] })),
      [],
    ],
    [
      'a wildcard that was narrowed',
      { services: [], signers: [`${tags}* (${issuer})`] },
      bundles(trusted({ identities: [{ issuer, subject: `${tags}v*` }] })),
      [`the applied bundle is signed by ${tags}* (${issuer}), no longer trusted here; missing: ${tags}v* (${issuer})`],
    ],
    [
      'an identity of another issuer',
      { services: [], signers: ['kim@acme.example (https://other.example)'] },
      bundles(trusted({ identities: [{ issuer, subject: 'kim@acme.example' }] })),
      [
        `the applied bundle is signed by kim@acme.example (https://other.example), no longer trusted here; missing: kim@acme.example (${issuer})`,
      ],
    ],
    ...(
      [
        ['nothing while the trust root is the same', [{ id: 'ca', end: null }], true],
        ['nothing of a trust root with a new part', [...'ca new'.split(' ')].map((id) => ({ id, end: null })), true],
        ['nothing of a part that ended later than the apply', [{ id: 'ca', end: '2026-06-02T00:00:00Z' }], true],
        ['an identity of a part that ended before the apply', [{ id: 'ca', end: '2026-05-31T00:00:00Z' }], false],
        ['an identity of a trust root without its part', [{ id: 'new', end: null }], false],
      ] as const
    ).map(([title, parts, isTrusted]): [string, SignedRelease, TrustNow, string[]] => [
      title,
      {
        services: [],
        signers: [`kim@acme.example (${issuer})`],
        trust_root: { at: '2026-06-01T00:00:00Z', parts: ['ca'] },
      },
      bundles(
        trusted({
          identities: [{ issuer, subject: 'kim@acme.example' }],
          root: { path: '/t/root.json', sha256: '', parts },
        }),
      ),
      isTrusted
        ? []
        : [
            `the applied bundle is signed by kim@acme.example (${issuer}), no longer trusted here by the changed trust root /t/root.json; missing: kim@acme.example (${issuer})`,
          ],
    ]),
    [
      'nothing of an image whose rule trusts its signer',
      applied,
      images(byNew, { ...byBoth(1), repository: 'ghcr.io/acme' }),
      [],
    ],
    [
      'an image whose rule no longer trusts its signer',
      applied,
      images(byBoth(1), { ...byNew, repository: 'ghcr.io/acme' }),
      ['the image of web is signed by key SHA256:old, no longer trusted here; missing: /t/new.pub (key SHA256:new)'],
    ],
    [
      'an image that was applied before signatures were required',
      { services: [{ name: 'web' }] },
      images(byNew),
      ['the image of web was applied without a verified signature; missing: /t/new.pub (key SHA256:new)'],
    ],
    ...(
      [
        ['nothing of an image that was signed for its own repository', undefined, undefined, null],
        ['an image that was signed for any repository', null, undefined, 'any repository'],
        ['nothing of an image whose rule permits any repository', 'copied.example/web', '*', null],
        ['an image that was signed for another repository', 'copied.example/web', undefined, 'copied.example/web'],
      ] as const
    ).map(([title, signed_as, rule, signed]): [string, SignedRelease, TrustNow, string[]] => [
      title,
      {
        services: applied.services,
        verified_images: [{ ...applied.verified_images![0]!, ...(signed_as !== undefined && { signed_as }) }],
      },
      images(byBoth(1), { ...byBoth(1), repository: 'ghcr.io/acme', ...(rule && { signed_as: rule }) }),
      signed === null ? [] : [`the image of web is signed for ${signed}, and must be for ghcr.io/acme/web`],
    ]),
  ])('is %s', (_what, release, trust, sentences) => {
    expect(untrustedNow(release, trust).map(describeUntrusted)).toEqual(sentences);
  });
});
