import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runAgent } from '../../fixtures/world/agentProcess.ts';
import { createPublicCopy, isRoot, nobodyUid, type PublicCopy } from '../../fixtures/world/users.ts';

let publicCopy: PublicCopy;
beforeAll(() => void (publicCopy = createPublicCopy()));
afterAll(() => publicCopy.remove());

it.each([
  ['nothing', [], /^machine tick\n[^]*\n {2}checkingIn {2}⚙ checkIn\n[^]*offline +exit 75 /],
  ['a name', ['down'], /^machine down\n[^]*composingDown/],
  ['Mermaid', ['apply', '--mermaid'], /^stateDiagram-v2\n/],
  ['Graphviz', ['loop', '--dot'], /^digraph "loop" \{\n[^]*\n\}\n$/],
  ['JSON', ['tick', '--json'], /^\{\n {2}"id": "tick",\n/],
])('shows a machine for the arguments: %s, without configuration and as any user', async (_, args, pattern) => {
  expect(await runMachine(...args)).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringMatching(pattern) as string,
  });
});

it('shows the same picture as the docs', async () => {
  expect((await runMachine('apply', '--svg')).stdout).toBe(readFileSync('docs/machines/apply.svg', 'utf8'));
});

it.each([
  ['an unknown machine', ['brew'], 'Allowed choices are tick, apply, down, loop'],
  ['two formats at once', ['tick', '--svg', '--dot'], "'--dot' cannot be used with option '--svg'"],
])('refuses %s', async (_, args, message) => {
  expect(await runMachine(...args)).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining(message) as string,
  });
});

async function runMachine(...args: string[]) {
  const { node, dir } = publicCopy;
  return runAgent(['machine', ...args], {
    node,
    file: join(dir, 'dist', 'deployd.cjs'),
    ...(isRoot && { uid: nobodyUid }),
  });
}
