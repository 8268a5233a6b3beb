import type { Ending } from '../../../../machines/endings.ts';
import { refusals } from '../../../../machines/refusals.ts';
import { describeDecision, reasonsOf } from './reasons.ts';
import type { Decision, RecordedDecision, Trace } from './trace.ts';

const [one, two] = ['1'.repeat(64), '2'.repeat(64)];
const [short1, short2] = ['1'.repeat(12), '2'.repeat(12)];

const desired = (reason: string, more: object = {}): Decision => ({
  ...{ word: 'desired', action: 'apply', desired: two, applied: one, reason },
  ...more,
});
const started = (more: object): Decision => ({ word: 'started', services: [], untouched: [], gone: [], ...more });

it.each<[Decision, string]>([
  [desired('sha_changed'), `the wanted bundle changed from ${short1} to ${short2}`],
  [desired('sha_changed', { applied: null }), `the wanted bundle is ${short2}, and none was applied`],
  [desired('sha_changed', { desired: null }), `the wanted bundle changed from ${short1} to nothing`],
  [desired('retry:2'), `${short2} is tried again, failed tries so far: 2`],
  [desired('retry'), `${short2} is tried again, failed tries so far: `],
  [desired('resume:starting'), `an apply of ${short2} that was cut short goes on (starting)`],
  [desired('reapply'), `${short2} is applied and was ordered again`],
  [desired('drift:web,db,api'), 'services were unhealthy: web, db, api'],
  [desired('retired', { action: 'down' }), 'the backend is retired, so the project goes down'],
  [desired('', { action: 'none' }), 'nothing new is wanted'],
  [desired('new_reason', { action: 'down' }), 'ordered was down'],
  [{ word: 'paused', seconds: 90 }, 'the wanted bundle failed before; it is not tried again for another 90 s'],
  [{ word: 'deferred', by: 'hold' }, 'an operator holds this host'],
  [{ word: 'deferred', by: 'window' }, 'no window of this host is open'],
  [{ word: 'deferred', by: 'leader' }, 'another manager of the swarm leads, and acts'],
  [desired('leader:manager-1', { action: 'apply' }), 'manager-1 leads the swarm'],
  [{ word: 'unhealthy', services: ['web', 'db'] }, 'unhealthy: web, db'],
  [
    { word: 'unhealthy', services: ['web'], nodes: ['worker-1', 'manager-2'] },
    'unhealthy: web; on worker-1, manager-2',
  ],
  [{ word: 'attempt-found', sha: one, phase: 'promoted' }, `an apply of ${short1} was cut short earlier (promoted)`],
  [{ word: 'engine-unreachable' }, 'the container engine did not answer'],
  [{ word: 'call-failed', peer: 'storage', error: 'HTTP_503' }, 'storage host: HTTP_503'],
  [{ word: 'ailing' } as unknown as Decision, 'ailing'],
  [{ word: 'downloaded', bytes: 7 }, '7 bytes of the bundle arrived'],
  [{ word: 'signed', signers: ['key SHA256:a', 'b'] }, 'signed by key SHA256:a, b'],
  [
    { word: 'image-signed', service: 'web', digest: 'sha256:d', signers: ['a', 'b'] },
    'image of web signed by a, b (sha256:d)',
  ],
  [{ word: 'secrets-read', count: 3 }, 'secrets read: 3'],
  [started({}), 'there was nothing to start'],
  [
    started({ services: ['web', 'api'], untouched: ['db'], gone: ['old'] }),
    'in new containers: web, api; untouched: db; gone: old',
  ],
  [{ word: 'current-restored', sha: null }, 'no container was touched; in force is again nothing'],
  [{ word: 'current-restored', sha: one }, `no container was touched; in force is again ${short1}`],
  [{ word: 'not-reverted' }, 'what failed is left as it is: there is no release before it, or on_failure is leave'],
  [{ word: 'reverted', sha: one }, `the release before, ${short1}, was restored and is healthy`],
  [
    { word: 'revert-failed', sha: one },
    `the release before, ${short1}, could not be brought back yet; the next tick goes on`,
  ],
  [{ word: 'interrupted-reverted', sha: one }, `the half-made apply was undone; ${short1} is in force`],
  [{ word: 'token-replaced' }, 'the token was leased anew before its maximum'],
])('the decision %j is a sentence', (decision, sentence) => {
  expect(describeDecision(decision)).toBe(sentence);
});

const callFailed = (error: string): Decision => ({ word: 'call-failed', peer: 'secretstore', error });
const explanatory: Decision[] = [
  ...[
    { word: 'paused', seconds: 90 } as const,
    { word: 'deferred', by: 'hold' } as const,
    { word: 'engine-unreachable' } as const,
    started({}),
  ],
  ...(['current-restored', 'reverted', 'revert-failed', 'interrupted-reverted'] as const).map((word) => ({
    word,
    sha: one,
  })),
  { word: 'not-reverted' },
];

describe('the reasons of a tick', () => {
  it.each<[string, Ending, string[], Decision[], string[]]>([
    ['of nothing are none', 'converged', [], [], []],
    [
      'are its first decision, when no other explains it',
      'converged',
      [],
      [desired(''), callFailed('E')],
      ['ordered was apply'],
    ],
    [
      'are what was ordered, then the codes, then what happened',
      'failed',
      ['PULL_FAILED', 'BRAND_NEW'],
      [{ word: 'engine-unreachable' }, desired('retired'), { word: 'downloaded', bytes: 1 }],
      [
        'the backend is retired, so the project goes down',
        ...['PULL_FAILED: an image cannot be had from its registry', 'BRAND_NEW'],
        'the container engine did not answer',
      ],
    ],
    ['are all events that explain it', 'failed', [], explanatory, explanatory.map(describeDecision)],
    [
      'name each sentence once',
      'failed',
      [],
      [{ word: 'not-reverted' }, { word: 'not-reverted' }],
      [describeDecision({ word: 'not-reverted' })],
    ],
    [
      'are the failed calls while it was offline',
      'offline',
      [],
      [callFailed('HTTP_503'), callFailed('ECONNRESET'), callFailed('HTTP_503'), { word: 'downloaded', bytes: 1 }],
      ['secretstore: HTTP_503, 2 times', 'secretstore: ECONNRESET'],
    ],
    [
      'are the failed calls on a laptop too',
      'offlineLaptop',
      [],
      [callFailed('HTTP_503'), callFailed('HTTP_503')],
      ['secretstore: HTTP_503, 2 times'],
    ],
    ['do not name an order without a reason', 'failed', ['BRAND_NEW'], [desired('')], ['BRAND_NEW']],
    [
      'are no failed calls that did not end it',
      'failed',
      ['UP_FAILED'],
      [callFailed('HTTP_503')],
      ['UP_FAILED: docker compose up failed'],
    ],
  ])('%s', (_name, ending, codes, decisions, reasons) => {
    const noted = decisions.map((each, at_ms): RecordedDecision => ({ ...each, state: 'checkingIn', at_ms }));
    expect(reasonsOf({ ending, codes, decisions: noted } as unknown as Trace)).toEqual(reasons);
  });

  it.each([
    ['PULL_FAILED', 'an image cannot be had from its registry'],
    ['UP_FAILED', 'docker compose up failed'],
    ['DOWN_FAILED', 'docker compose down failed'],
    ['UNHEALTHY', 'containers did not become healthy in time'],
    ['RUNTIME_UNAVAILABLE', 'the container engine does not answer'],
    ['ENGINE_ERROR', 'the container engine answers, but cannot do what was asked'],
    ['AGENT_UNAUTHENTICATED', 'the tenancy service or the mesh refuses this agent; a new grant is needed'],
    ['AGENT_ENV_MISMATCH', 'the token belongs to another env than config.yaml says'],
    ['TLS_UNTRUSTED', 'the certificate of a service is not trusted'],
    ['CLOCK_SKEW', 'the clock of this host is wrong'],
    ['DISK_WRITE_FAILED', 'the state directory cannot be written to'],
    ['DISK_INSUFFICIENT', refusals.DISK_INSUFFICIENT.meaning],
  ])('explain the code %s', (code, meaning) => {
    const trace = { ending: 'failed', codes: [code], decisions: [] } as unknown as Trace;
    expect(reasonsOf(trace)).toEqual([`${code}: ${meaning}`]);
  });
});
