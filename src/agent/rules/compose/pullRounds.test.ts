import { pullRoundsOf } from './pullRounds.ts';

function roundsOf(images: readonly string[], hosts: readonly string[]) {
  const services = images.map((image, index) => ({ service: `s${index}`, image }));
  const logins = hosts.map((host) => ({ host }));
  return pullRoundsOf(services, logins).map((round) => [
    round.services.join(),
    ...round.logins.map(({ host }) => host),
  ]);
}

describe('the rounds of a pull', () => {
  it.each<[string, string[], string[], string[][]]>([
    ['no login', ['a', 'r.example/b'], [], [['s0,s1']]],
    [
      'a login for each registry',
      ['a', 'r.example/b', 'q.example/c'],
      ['r.example', 'q.example'],
      [['s0,s1,s2', 'r.example', 'q.example']],
    ],
    [
      'two logins for one registry',
      ['r.example/a/x', 'r.example/b/y', 'r.example/a/z'],
      ['r.example/a', 'r.example/b'],
      [
        ['s0,s2', 'r.example/a'],
        ['s1', 'r.example/b'],
      ],
    ],
    [
      'a repository outside the path of the login',
      ['r.example/a/x', 'r.example/open', 'q.example/c'],
      ['r.example/a', 'q.example'],
      [['s0,s2', 'r.example/a', 'q.example'], ['s1']],
    ],
  ])('with %s', (_title, images, hosts, rounds) => {
    expect(roundsOf(images, hosts)).toEqual(rounds);
  });
});
