import { parseContainerEvent } from './containerEvent.ts';

describe('an event of a container', () => {
  const event = (Attributes: object, Action = 'die') =>
    JSON.stringify({ Type: 'container', Action, Actor: { ID: 'c1', Attributes } });

  it.each([
    ['of its exit', event({ exitCode: '7', image: 'app:1' }), { id: 'c1', exitCode: 7 }],
    ['of an engine with other names', event({ containerExitCode: '7' }, 'died'), { id: 'c1', exitCode: 7 }],
    ['of its health', event({}, 'health_status: healthy'), { id: 'c1', exitCode: null }],
    [
      'of its health, with a code that Podman puts into each',
      event({ containerExitCode: '0' }, 'health_status'),
      { id: 'c1', exitCode: null },
    ],
    ['of its end without a code', event({}), { id: 'c1', exitCode: null }],
    ['of the end of a probe in it', event({ exitCode: '1' }, 'exec_die'), { id: 'c1', exitCode: null }],
    ['of another action', event({ exitCode: '1' }, 'diet'), { id: 'c1', exitCode: null }],
    [
      'with its time in nanoseconds',
      JSON.stringify({
        Action: 'die',
        Actor: { ID: 'c1', Attributes: { exitCode: '7' } },
        time: 2,
        timeNano: 2_500_000_000,
      }),
      { id: 'c1', exitCode: 7, atMs: 2500 },
    ],
    [
      'with its time in seconds',
      JSON.stringify({ Action: 'start', Actor: { ID: 'c1', Attributes: {} }, time: 2 }),
      { id: 'c1', exitCode: null, atMs: 2000 },
    ],
    ['that is truncated', event({}).slice(0, -4), null],
    ['without a container', '{}', null],
  ])('%s', (_, line, expected) => {
    expect(parseContainerEvent(line)).toEqual(expected);
  });
});
