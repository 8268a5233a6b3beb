import { parseComposeFile } from '../compose/composeFile.rules.ts';
import { serviceLayers } from '../compose/services.rules.ts';
import {
  awaitedServicesOf,
  describeChain,
  longestChain,
  secondsUntilLastStart,
  validateHealthWait,
} from './waitPlan.rules.ts';
import { engineHealthcheckOf, healthDemandOf, mergeHealthcheck, writtenServicesOf } from './writtenServices.rules.ts';

function written(services: string) {
  const parsed = parseComposeFile('compose.yaml', `services:\n  ${services.trim().replaceAll('\n', '\n  ')}\n`);
  if (!('file' in parsed)) throw new Error('no compose file');
  return writtenServicesOf(serviceLayers([parsed.file]));
}

const awaited = (services: string) => awaitedServicesOf(written(services), new Map());

describe('the kind of a service', () => {
  it.each([
    ['{image: a}', 'once', null],
    ['{image: a, restart: ""}', 'once', null],
    ['{image: a, restart: always}', 'service', null],
    ['{image: a, restart: on-failure:3}', 'service', null],
    ['{image: a, restart: "no"}', 'job', 'restart'],
    ['{image: a, restart: no}', 'job', 'restart'],
    ['{image: a, restart: "no", healthcheck: {test: x}}', 'service', null],
    ['{image: a, restart: "no", healthcheck: {disable: true}}', 'job', 'restart'],
    ['{image: a, restart: "no", healthcheck: {test: [NONE]}}', 'job', 'restart'],
    ['{image: a, deploy: {restart_policy: {condition: none}}}', 'job', 'restart'],
    ['{image: a, restart: "no", deploy: {restart_policy: {condition: any}}}', 'service', null],
    ['{image: a, deploy: {restart_policy: {delay: 5s}}}', 'service', null],
    ['{image: a, deploy: {mode: replicated-job}, restart: always}', 'job', 'mode'],
    ['{image: a, deploy: {mode: global-job}}', 'job', 'mode'],
    ['{image: a, deploy: {mode: global}}', 'once', null],
  ])('%s is %s', (service, kind, jobReason) => {
    expect(written(`web: ${service}`)[0]).toMatchObject({ kind, jobReason });
  });

  it('is a job when another service waits for its end, whatever its policy and healthcheck', () => {
    const services = `
web: {image: a, depends_on: {job: {condition: service_completed_successfully}, db: {condition: service_healthy}}}
job: {image: a, restart: always, healthcheck: {test: x}}
db: {image: a}
cache: {image: a, depends_on: [db]}`;
    expect(written(services)).toMatchObject([
      {
        kind: 'once',
        after: [
          { name: 'job', condition: 'completed' },
          { name: 'db', condition: 'healthy' },
        ],
      },
      { kind: 'job', jobReason: 'awaited' },
      { kind: 'once' },
      { after: [{ name: 'db', condition: 'started' }] },
    ]);
  });
});

describe('the demand of a healthcheck', () => {
  const demand = (healthcheck: string, image: object | null = null) =>
    healthDemandOf(
      mergeHealthcheck(
        written(`web: {image: a, healthcheck: ${healthcheck}}`)[0]!.healthcheck,
        image && engineHealthcheckOf(image),
      ),
    );
  const ofImage = { Test: ['CMD', 'x'], Interval: 5e9, Timeout: 2e9, Retries: 4, StartPeriod: 60e9 };

  it.each([
    ['{test: x}', 90, '3 × interval 30s'],
    ['{test: x, interval: 10s, retries: 6}', 60, '6 × interval 10s'],
    ['{test: x, interval: 1m30s, retries: 2, start_period: 1h}', 3780, 'start_period 3600s + 2 × interval 90s'],
    ['{test: x, interval: 500ms, retries: 5}', 2.5, '5 × interval 0.5s'],
    ['{test: x, interval: 5s, timeout: 20s, retries: 3}', 60, '3 × timeout 20s'],
    ['{test: x, interval: 20s, timeout: 5s}', 60, '3 × interval 20s'],
    ['{test: x, interval: 0s, retries: 0}', 90, '3 × interval 30s'],
    ['{test: x, disable: true, interval: 1h}', 0, ''],
    ['{test: [NONE], interval: 1h}', 0, ''],
    ['{test: x, interval: "$PERIOD"}', 90, '3 × interval 30s'],
  ])('%s is %d s', (healthcheck, seconds, why) => {
    expect(demand(healthcheck)).toEqual({ seconds, why });
  });

  it('comes from the image if the file does not have it', () => {
    expect(demand('{}', ofImage)).toEqual({ seconds: 80, why: 'start_period 60s + 4 × interval 5s' });
    expect(demand('{interval: 30s}', ofImage)).toEqual({ seconds: 180, why: 'start_period 60s + 4 × interval 30s' });
    expect(demand('{disable: true}', ofImage).seconds).toBe(0);
    expect(demand('{interval: 1h}', { Test: ['NONE'] }).seconds).toBe(0);
    expect(healthDemandOf(engineHealthcheckOf(null)).seconds).toBe(0);
  });
});

describe('the wait for services', () => {
  const chain = `
web: {image: a, healthcheck: {test: x}, depends_on: {api: {condition: service_healthy}, job: {condition: service_completed_successfully}}}
api: {image: a, healthcheck: {test: x, interval: 100s}, depends_on: {db: {condition: service_started}}}
db: {image: a, healthcheck: {test: x, interval: 60s}, depends_on: {seed: {condition: service_completed_successfully}}}
seed: {image: a}
job: {image: a}`;

  it('is the time of the longest chain, in which only healthy dependencies count', () => {
    const longest = longestChain(awaited(chain));
    expect(longest.seconds).toBe(390);
    expect(describeChain(longest)).toBe('api 300s (3 × interval 100s), then web 90s (3 × interval 30s)');
  });

  it('lets jobs add up for the start alone', () => {
    expect(secondsUntilLastStart(awaited(chain), 1000)).toBe(1300);
    expect(secondsUntilLastStart(awaited('web: {image: a, healthcheck: {test: x}}'), 1000)).toBe(0);
  });

  it('ends in a circle', () => {
    const circle =
      'a: {image: a, depends_on: {b: {condition: service_healthy}}}\nb: {image: a, depends_on: {a: {condition: service_healthy}}}';
    expect(longestChain(awaited(circle)).seconds).toBe(0);
  });

  it('counts a chain of ten thousand services', () => {
    const after = (at: number) => [{ name: `s${at + 1}`, condition: 'healthy' as const }];
    const demand = { seconds: 1, why: '1 × interval 1s' };
    const services = Array.from({ length: 10_000 }, (_, at) => ({
      name: `s${at}`,
      isJob: false,
      demand,
      after: after(at),
    }));
    const longest = longestChain(services);
    expect([longest.seconds, longest.links.length, secondsUntilLastStart(services, 1)]).toEqual([
      10_000, 10_000, 9_999,
    ]);
    expect(describeChain(longest)).toMatch(/^s9999 1s .* then s9950 1s \(1 × interval 1s\), then 9950 more$/);
  });

  it('takes a service whose image has a healthcheck for no job by its policy alone', () => {
    const services = written('job: {image: a, restart: "no"}');
    const images = new Map([['a', engineHealthcheckOf({ Test: ['CMD', 'x'] })]]);
    expect(awaitedServicesOf(services, images)).toMatchObject([{ isJob: false, demand: { seconds: 90 } }]);
    expect(awaitedServicesOf(services, new Map())).toMatchObject([{ isJob: true, demand: { seconds: 0 } }]);
  });

  it('is not refused for timeouts that are longer than the intervals', () => {
    const hanging = 'web: {image: a, healthcheck: {test: x, interval: 1s, timeout: 30s}}';
    expect(longestChain(awaited(hanging)).seconds).toBe(90);
    expect(validateHealthWait(written(hanging), new Map(), 3)).toBeNull();
  });

  it('is refused beyond the limit, with its numbers and a cure', () => {
    const slow = written('web: {image: a, healthcheck: {test: x, start_period: 2h}}');
    expect(validateHealthWait(slow, new Map(), 7290)).toBeNull();
    expect(validateHealthWait(slow, new Map(), 3600)).toMatchObject({
      code: 'COMPOSE_REFUSED',
      detail:
        'service web may take 7290s to become healthy, more than 3600s (health_timeout_max_s): web 7290s (start_period 7200s + 3 × interval 30s)',
      faults: [{ cure: expect.stringContaining('health_timeout_max_s') as string }],
    });
    expect(validateHealthWait(written(chain), new Map(), 100)?.detail).toContain(
      'services that wait for each other may take 390s',
    );
  });
});
