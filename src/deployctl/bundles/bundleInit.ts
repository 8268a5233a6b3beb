import { mkdir, rm } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { parseManifest } from '../../api/manifest.rules.ts';
import type { Result, Run, Session } from '../config/session.ts';
import { usageError } from '../core/ctlError.ts';
import { createNewFile, fileUnwritable } from '../core/files.ts';
import { formatFacts } from '../core/table.ts';

/** `deployctl bundle init`. */
export function addBundleInit(bundle: Command, run: Run): void {
  bundle
    .command('init')
    .description('Create a directory with an example manifest.json and compose.yaml; overwrite nothing')
    .argument('<directory>', 'directory to create; its name becomes the name of the bundle')
    .requiredOption('--env <env>', 'environment of the bundle')
    .action(run(init));
}

async function init(_: Session, [directory]: [string], { env }: { env: string }): Promise<Result> {
  const dir = resolve(directory);
  const name = basename(dir);
  const manifest = { schema: 1, name, env, version: '1', sequence: 0, compose: ['compose.yaml'], secrets: [] };
  const text = `${JSON.stringify(manifest, null, 2)}\n`;
  const parsed = parseManifest(text, env);
  if ('refusal' in parsed) throw usageError(parsed.refusal.code, parsed.refusal.detail);
  const files = { 'manifest.json': text, 'compose.yaml': compose };
  await createFiles(dir, files);
  const names = Object.keys(files);
  const facts: [string, string][] = [
    ['bundle', `${name}, for env ${env}`],
    ['directory', dir],
    ['files', names.join(', ')],
  ];
  return { json: { directory: dir, env, name, files: names }, text: formatFacts(facts) };
}

const compose = `services:
  web:
    image: nginx:1.29-alpine
    restart: unless-stopped
    ports: ['8080:80']
    healthcheck:
      test: [CMD, wget, -q, --spider, http://127.0.0.1/]
      interval: 10s
`;

/** Creates all files or none; the directory is made where it is missing. */
async function createFiles(dir: string, files: Record<string, string>): Promise<void> {
  await mkdir(dir, { recursive: true }).catch((error: unknown) => {
    throw fileUnwritable(dir, error);
  });
  const created: string[] = [];
  try {
    for (const [name, text] of Object.entries(files)) {
      const file = join(dir, name);
      await using opened = await createNewFile(file);
      created.push(file);
      await opened.writeFile(text);
    }
  } catch (error) {
    for (const file of created) await rm(file, { force: true });
    throw fileUnwritable(dir, error);
  }
}
