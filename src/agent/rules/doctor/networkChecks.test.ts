import { checkLines } from '../../../../fixtures/spec/checkLines.ts';
import { checkPeer, skewsOf, type PeerEndpoint, type PeerFacts } from './networkChecks.ts';

const endpoint: PeerEndpoint = { peer: 'tenancy', url: 'https://t', ca: null, laptop: false };
const offline = { code: null, line: 'temporary network failure: x' };
const untrusted = { code: 'TLS_UNTRUSTED', line: 'the certificate is not trusted' };

describe('the response of a service', () => {
  it.each<[string, PeerFacts, Partial<PeerEndpoint>, string[]]>([
    ['is not known', { unknown: 'no configuration' }, {}, ['tenancy service: unknown', 'no configuration']],
    [
      'is missing',
      offline,
      {},
      [
        ...['tenancy service: failed', 'https://t', 'temporary network failure: x'],
        'curl -v --cacert /etc/ssl/certs/ca-certificates.crt https://t/',
      ],
    ],
    [
      'may be missing on a laptop',
      offline,
      { laptop: true },
      ['tenancy service: not applicable', 'offline, which is normal on a laptop: temporary network failure: x'],
    ],
    [
      'may not have an untrusted certificate, on a laptop neither',
      untrusted,
      { laptop: true, peer: 'secretstore', ca: '/a/ca.pem' },
      [
        ...['secretstore: failed', 'https://t', 'the certificate is not trusted'],
        'sudo install -m 0644 THE-RIGHT-CA.pem /a/ca.pem',
      ],
    ],
  ])('%s', (_name, facts, more, lines) => {
    expect(checkLines(checkPeer(facts, { ...endpoint, ...more }))).toEqual(lines);
  });

  it.each([[200], [429], [473], [499]])('with status %i passes', (status) => {
    expect(checkLines(checkPeer({ status, skewS: null }, endpoint))).toEqual(['tenancy service: passed', 'https://t']);
  });

  it.each([[472], [500], [503]])('with status %i fails', (status) => {
    expect(checkLines(checkPeer({ status, skewS: null }, endpoint))).toEqual([
      ...['tenancy service: failed', 'https://t'],
      `https://t answers ${status}: it is sealed, or not at work`,
      'curl -i https://t/v1/sys/health',
    ]);
  });
});

it('tells the skews that services told', () => {
  expect(skewsOf([offline, { unknown: 'x' }, { status: 200, skewS: null }, { status: 500, skewS: -3 }])).toEqual([-3]);
});
