import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deployd } from '../../../fixtures/agent.ts';
import { type Commons, isRoot, nobody, openCommons } from '../../../fixtures/users.ts';

let commons: Commons;
beforeAll(() => void (commons = openCommons()));
afterAll(() => commons.remove());

it.each([
  ['nothing', [], /^machine tick\n[^]*\n {2}checkingIn {2}⚙ checkIn\n[^]*offline +exit 75 /],
  ['a name', ['down'], /^machine down\n[^]*composingDown/],
  ['Mermaid', ['apply', '--mermaid'], /^stateDiagram-v2\n/],
  ['Graphviz', ['loop', '--dot'], /^digraph "loop" \{\n[^]*\n\}\n$/],
  ['JSON', ['tick', '--json'], /^\{\n {2}"id": "tick",\n/],
])('shows a machine when asked for %s, without configuration and as anybody', async (_, args, fits) => {
  expect(await shown(...args)).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(fits) as string });
});

it('shows the picture that the docs have', async () => {
  expect((await shown('apply', '--svg')).stdout).toBe(readFileSync('docs/machines/apply.svg', 'utf8'));
});

it.each([
  ['a machine that there is not', ['brew'], 'Allowed choices are tick, apply, down, loop'],
  ['two forms at once', ['tick', '--svg', '--dot'], "'--dot' cannot be used with option '--svg'"],
])('refuses %s', async (_, args, why) => {
  expect(await shown(...args)).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(why) as string });
});

async function shown(...args: string[]) {
  const { node, dir } = commons;
  return deployd(['machine', ...args], {
    node,
    file: join(dir, 'dist', 'deployd.cjs'),
    ...(isRoot && { uid: nobody }),
  });
}
