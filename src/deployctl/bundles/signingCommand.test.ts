import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { type SignCommand, signerByCommand } from './bundleSign.ts';

const publicKey = join(tempDir(), 'key.pub');
writeFileSync(publicKey, 'public');

function signer(argv: SignCommand['argv'], timeoutMs = 60_000) {
  const stderr = new PassThrough();
  const io = { env: { WORD: 'from the environment' }, stdin: new PassThrough(), stdout: new PassThrough(), stderr };
  const { sign } = signerByCommand({ argv, publicKey, timeoutMs }, io);
  return { sign: (text = 'bytes') => sign(Buffer.from(text)), stderr };
}

const shell = (script: string, timeoutMs?: number) => signer(['sh', '-c', script], timeoutMs);

it('gives the bytes to the command, and takes what it writes', async () => {
  expect((await signer(['cat']).sign('\0 bytes\n')).toString()).toBe('\0 bytes\n');
  expect((await shell('printf "%s." "$WORD"').sign()).toString()).toBe('from the environment.');
});

it('takes base64, in lines too', async () => {
  expect((await shell('printf "c2lnbm\\nF0dXJl\\n"').sign()).toString()).toBe('signature');
});

it('passes arguments as they are, without a shell', async () => {
  expect((await signer(['printf', '%s.', '$WORD; exit 1']).sign()).toString()).toBe('$WORD; exit 1.');
});

it('takes a signature of a command that does not read what it signs', async () => {
  expect((await shell('exec <&-; printf .').sign('a'.repeat(1_000_000))).toString()).toBe('.');
});

it('shows the output of the command, and reports how it ended', async () => {
  const { sign, stderr } = shell('echo the token is locked >&2; exit 3');
  await expect(sign()).rejects.toThrow('COMMAND_FAILED: sh ended with exit code 3');
  expect(String(stderr.read())).toBe('the token is locked\n');
  await expect(shell('kill -9 $$').sign()).rejects.toThrow('COMMAND_FAILED: sh ended by SIGKILL');
});

it.each([
  ['is missing', ['/nowhere/sign'], 'COMMAND_FAILED: /nowhere/sign cannot be run (ENOENT)'],
  ['is not a program', [publicKey], `COMMAND_FAILED: ${publicKey} cannot be run (EACCES)`],
  ['writes without end', ['yes'], 'COMMAND_FAILED: yes wrote more than a signature'],
] as [string, SignCommand['argv'], string][])('reports a command that %s', async (_what, argv, message) => {
  await expect(signer(argv).sign()).rejects.toThrow(message);
});

it('ends a command that takes too long, even if its child process continues', async () => {
  await expect(shell('sleep 600 | cat', 200).sign()).rejects.toThrow('COMMAND_FAILED: sh took longer than 0.2 s');
});
