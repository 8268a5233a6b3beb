import { refusalsOf, serviceWith } from '../../../../fixtures/corpus/judged.ts';

const codesOf = async (line: string) => (await refusalsOf({ compose: serviceWith(line) })).map(({ code }) => code);
const ofFile = async (text: string) =>
  (await refusalsOf({ compose: `services: {web: {image: app:1}}\n${text}\n` })).map(({ code }) => code);

describe('what an escape puts into a text that YAML lets pass (spec §12.2)', () => {
  it.each([
    'volumes: ["./conf/a\\0/../app.conf\\0/../../app.env:/t"]',
    'hostname: "a\\nb"',
    'user: "1000\\t"',
    'working_dir: "/a\\x7fb"',
    'mem_limit: "1g\\x85"',
    'networks: {n: {ipv4_address: "10.0.0.2\\n"}}',
    'labels: {"a\\nb": c}',
    'environment: {"A\\x01": b}',
    'environment: ["A\\x1b=b"]',
    'environment: {A: "b\\0"}',
    'command: ["a\\0"]',
    'command: ["a\\x08"]',
    'healthcheck: {test: "a\\e"}',
    'healthcheck: {interval: "1s\\n"}',
    'dns_search: ["a\\u2028b"]',
    'hostname: "\\ufeffa"',
    'hostname: "\\ud83d\\ude00"',
    'x-a: {"b\\0": c}',
  ])('%s', async (line) => {
    expect(await codesOf(line)).toEqual(['COMPOSE_REFUSED']);
  });

  it.each(['volumes: {data: {labels: {"a\\tb": c}}}', 'configs: {c: {content: "a\\0"}}'])('%s', async (line) => {
    expect(await ofFile(line)).toEqual(['COMPOSE_REFUSED']);
  });

  it.each([
    'command: ["sh", "-c", "a\\n\\tb\\r\\n"]',
    'command: |\n      a\n      b',
    'environment: {A: "b\\n\\tc"}',
    'environment: ["A=b\\nc"]',
    'healthcheck: {test: "a\\nb"}',
    'labels: {a: "b\\nc"}',
    'post_start: [{command: "a\\nb", environment: {A: "b\\n"}}]',
    'x-note: "a\\nb\\tc"',
  ])('but lines and tabs of what is free text stay: %s', async (line) => {
    expect(await codesOf(line)).toEqual([]);
  });

  it('lets a config have lines and tabs', async () => {
    expect(await ofFile('configs: {c: {content: "a\\r\\n\\tb \\u2028\\n"}}')).toEqual([]);
  });
});

describe('a duration is read as compose reads it', () => {
  it.each([
    'stop_grace_period: 1000000000μs',
    'stop_grace_period: 1y',
    'stop_grace_period: 300',
    'stop_grace_period: 1 h',
    'stop_grace_period: 1H',
    'stop_grace_period: "5"',
    'healthcheck: {interval: fast}',
    'healthcheck: {timeout: 5}',
    'healthcheck: {start_period: 1μ}',
    'deploy: {restart_policy: {delay: 5}}',
    'deploy: {update_config: {monitor: a}}',
  ])('%s', async (line) => {
    expect(await codesOf(line)).toEqual(['COMPOSE_REFUSED']);
  });

  it.each([
    'stop_grace_period: 1000000000µs',
    'stop_grace_period: 5m',
    'stop_grace_period: 1d',
    'stop_grace_period: -5s',
    'stop_grace_period: .1h',
    'stop_grace_period: "1.5.5h"',
  ])('refused before too: %s', async (line) => {
    expect(await codesOf(line)).toEqual(['COMPOSE_REFUSED']);
  });

  it.each([
    'stop_grace_period: 1000000μs',
    'stop_grace_period: 1000000µs',
    'stop_grace_period: "0"',
    'stop_grace_period: +1m30.5s',
    'stop_grace_period: ${X:-1m}',
    'healthcheck: {interval: 1h30m, timeout: 1.5s, start_period: 500ms, start_interval: 1us}',
    'deploy: {restart_policy: {delay: 5s, window: 1m}}',
  ])('passes: %s', async (line) => {
    expect(await codesOf(line)).toEqual([]);
  });
});

describe('a size is read as compose reads it', () => {
  it.each([
    'mem_limit: abc',
    'mem_limit: 1x',
    'mem_limit: -1g',
    'shm_size: 1gig',
    'mem_reservation: "1 2"',
    'deploy: {resources: {limits: {memory: lots}}}',
  ])('%s', async (line) => {
    expect(await codesOf(line)).toEqual(['COMPOSE_REFUSED']);
  });

  it.each([
    'mem_limit: 512m',
    'mem_limit: 1.5GiB',
    'mem_limit: 1073741824',
    'memswap_limit: -1',
    'shm_size: "64 mb"',
    'deploy: {resources: {limits: {memory: 50M}}}',
    'mem_limit: ${M:-1g}',
  ])('passes: %s', async (line) => {
    expect(await codesOf(line)).toEqual([]);
  });
});
