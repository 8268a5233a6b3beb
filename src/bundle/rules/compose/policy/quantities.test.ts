import { refusalsOf, serviceWith } from '../../../../../fixtures/corpus/bundleRefusals.ts';

const codesOf = async (line: string) => (await refusalsOf({ compose: serviceWith(line) })).map(({ code }) => code);

describe('a duration (in the grammar of compose)', () => {
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
    'stop_grace_period: 1000000000µs',
    'stop_grace_period: 5m1s',
    'stop_grace_period: 1d',
    'stop_grace_period: -5s',
    'stop_grace_period: .1h',
    'stop_grace_period: "1.5.5h"',
  ])('is refused: %s', async (line) => {
    expect(await codesOf(line)).toEqual(['COMPOSE_REFUSED']);
  });

  it.each([
    'stop_grace_period: 1000000μs',
    'stop_grace_period: 1000000µs',
    'stop_grace_period: "0"',
    'stop_grace_period: +1m30.5s',
    'stop_grace_period: 5m',
    'stop_grace_period: ${X:-1m}',
    'healthcheck: {interval: 1h30m, timeout: 1.5s, start_period: 500ms, start_interval: 1us}',
    'deploy: {restart_policy: {delay: 5s, window: 1m}}',
  ])('is allowed: %s', async (line) => {
    expect(await codesOf(line)).toEqual([]);
  });
});

describe('a size (in the grammar of compose)', () => {
  it.each([
    'mem_limit: abc',
    'mem_limit: 1x',
    'mem_limit: -1g',
    'shm_size: 1gig',
    'mem_reservation: "1 2"',
    'deploy: {resources: {limits: {memory: lots}}}',
  ])('is refused: %s', async (line) => {
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
  ])('is allowed: %s', async (line) => {
    expect(await codesOf(line)).toEqual([]);
  });
});
