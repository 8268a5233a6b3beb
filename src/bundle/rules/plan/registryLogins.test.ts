import { validateSwarmLogins } from './registryLogins.ts';

it.each([
  [[], []],
  [['r.example', 'q.example/team'], []],
  [
    ['r.example/a', 'q.example', 'r.example/b'],
    ['registries[2].host is refused in a swarm: it has one login for each registry'],
  ],
])('refuses a second login for a registry in a swarm: %j', (hosts, faults) => {
  const registries = hosts.map((host) => ({ host, username_var: 'U', password_var: 'P' }));
  expect((validateSwarmLogins({ registries })?.faults ?? []).map(({ text }) => text)).toEqual(faults);
});
