import { version } from '../../src/version.ts';
import { openReleaseStage, type ReleaseStage } from './stage.ts';
import { judgeTag } from './tag.ts';

let stage: ReleaseStage;
beforeAll(async () => {
  stage = await openReleaseStage();
});
afterAll(() => stage.close());

it('a tag is accepted when it is v and the version', () => {
  expect(judgeTag('v0.2.0', '0.2.0')).toBeNull();
});

it.each(['', '0.2.0', 'v0.2', 'v0.2.01', 'v0.2.0-1', ' v0.2.0', 'V0.2.0', 'v0x2.0', 'v0.2.0\n', 'release-v0.2.0'])(
  'the tag %j is refused',
  (tag) => {
    expect(judgeTag(tag, '0.2.0')).toContain('is not v0.2.0: the agent here is version 0.2.0;');
  },
);

it('the command ends with 0 for the tag of the agent', async () => {
  expect(await stage.run('tag.ts', [`v${version}`])).toEqual({
    code: 0,
    stdout: `tag v${version} is that of the agent\n`,
    stderr: '',
  });
});

it.each([['v9.9.9'], []])('the command ends with 1 for another, or for none', async (...args) => {
  const ended = await stage.run('tag.ts', args);
  expect(ended).toMatchObject({ code: 1, stdout: '' });
  expect(ended.stderr).toBe(
    `tag ${args[0] ?? '(none)'} is not v${version}: the agent here is version ${version}; raise it in package.json, or tag v${version}`,
  );
});
