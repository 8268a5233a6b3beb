import { may } from './pages.rules.ts';

const ann = {
  permissions: [
    { role: 'deployer', envs: ['eu-1'] },
    { role: 'viewer', envs: null },
  ],
} satisfies Parameters<typeof may>[0];

it.each([
  ['viewer', 'us-1', true],
  ['deployer', 'eu-1', true],
  ['deployer', 'us-1', false],
  ['deployer', null, false],
  ['viewer', null, true],
  ['admin', 'eu-1', false],
] as const)('a %s in %s: %s', (role, env, permitted) => expect(may(ann, role, env)).toBe(permitted));
