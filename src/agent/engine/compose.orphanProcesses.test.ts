import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { terminateOrphans } from './composeProgram.ts';

const home = tempDir();
const argvs = { compose: ['-p', 'deployd-eu-1', 'up'], docker: ['stack', 'deploy', 'deployd-eu-1'] };

it.each(Object.entries(argvs))('ends a %s of the same project that a killed tick left', async (program, argv) => {
  const left = spawn('/bin/sh', ['-c', 'echo; read line', program, ...argv], { env: { HOME: home } });
  await once(left.stdout, 'data');
  const ended = once(left, 'exit');
  expect(await terminateOrphans('deployd-eu-2', home)).toBe(false);
  expect(await terminateOrphans('deployd-eu-1', home)).toBe(true);
  expect(await ended).toEqual([null, 'SIGKILL']);
});
