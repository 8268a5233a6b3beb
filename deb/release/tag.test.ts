import { version } from '../../src/core/commandLine.ts';
import { openReleaseWorkspace, type ReleaseWorkspace } from './workspace.ts';
import { validateTag } from './tag.ts';

let workspace: ReleaseWorkspace;
beforeAll(async () => {
  workspace = await openReleaseWorkspace();
});
afterAll(() => workspace.close());

it('a tag is accepted when it is v and the version', () => {
  expect(validateTag('v0.2.0', '0.2.0')).toBeNull();
});

it.each(['', '0.2.0', 'v0.2', 'v0.2.01', 'v0.2.0-1', ' v0.2.0', 'V0.2.0', 'v0x2.0', 'v0.2.0\n', 'release-v0.2.0'])(
  'the tag %j is refused',
  (tag) => {
    expect(validateTag(tag, '0.2.0')).toContain('is not v0.2.0: the agent here is version 0.2.0;');
  },
);

it('the command exits with 0 for the tag of this version', async () => {
  expect(await workspace.run('tag.ts', [`v${version}`])).toEqual({
    code: 0,
    stdout: `tag v${version} is the version of the agent\n`,
    stderr: '',
  });
});

it.each([['v9.9.9'], []])('the command exits with 1 for another tag, or none', async (...args) => {
  const result = await workspace.run('tag.ts', args);
  expect(result).toMatchObject({ code: 1, stdout: '' });
  expect(result.stderr).toBe(
    `tag ${args[0] ?? '(none)'} is not v${version}: the agent here is version ${version}; raise it in package.json, or tag v${version}`,
  );
});
