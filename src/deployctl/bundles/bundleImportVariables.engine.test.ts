import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { deployctl } from '../../../fixtures/world/ctl/deployctl.ts';
import { sharedEngine } from '../../../fixtures/world/harness.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';

/** Imports a project; the outcome, and the compose file of the bundle. */
async function bring(files: Record<string, string>) {
  const dir = tempDir();
  const source = join(dir, 'shop');
  mkdirSync(source);
  for (const [path, text] of Object.entries(files)) writeFileSync(join(source, path), text);
  const out = join(dir, 'out');
  const { compose } = sharedEngine();
  const outcome = await deployctl(['bundle', 'import', source, '--env', 'eu-1', '--out', out, '--compose', compose]);
  return { ...outcome, compose: parse(readFileSync(join(out, 'compose.yaml'), 'utf8')) as unknown };
}

it('finds the places of variables, and writes out values where compose takes no other kind', async () => {
  const { exit, stdout, compose } = await bring({
    '.env':
      'TAG=1.29\nURL=http://h:80/?a=$$b\nRO=true\nEMPTY=\nMEM=64m\nDB_PASSWORD=hunter2 x\nEVERY=5s\nIP=127.0.0.1\n',
    'compose.yaml': [
      'services:',
      '  web:',
      '    image: ${REGISTRY:-docker.io}/nginx:${TAG}',
      '    ports: ["${IP}:${PORT:-8080}:80"]',
      '    read_only: ${RO}',
      '    mem_limit: ${MEM}',
      '    healthcheck: {test: [CMD, a, "${TAG}"], interval: "${EVERY}", retries: "${RETRIES:-3}"}',
      '    command: run --tag ${TAG} ${EMPTY:-none} $$HOME',
      '    environment: {URL: "$URL", A: "${OPTION:-${TAG}-x}", B: "${TAG:+set}", P: "$DB_PASSWORD", EVERY: }',
    ].join('\n'),
  });
  expect([exit, stdout]).toEqual([0, expect.stringContaining('project: variables: RO is written out')]);
  expect(compose).toEqual({
    services: {
      web: {
        image: '${REGISTRY:-docker.io}/nginx:${TAG}',
        ports: ['${IP}:${PORT:-8080}:80'],
        ...{ read_only: true, mem_limit: '67108864' },
        healthcheck: { test: ['CMD', 'a', '${TAG}'], interval: '5s', retries: '${RETRIES:-3}' },
        command: ['run', '--tag', '${TAG}', '${EMPTY:-none}', '$$HOME'],
        environment: {
          ...{ URL: '${URL}', A: '${OPTION:-${TAG}-x}', B: 'set', P: '${DB_PASSWORD}', EVERY: '${EVERY}' },
        },
      },
    },
  });
});

it('leaves a password of several words in a command to decide, and writes it nowhere', async () => {
  const { exit, stdout, compose } = await bring({
    'compose.yaml': 'services: {a: {image: x, command: run $DB_PASSWORD}}\n',
    '.env': 'DB_PASSWORD=a b-hunter2\n',
  });
  expect([exit, stdout]).toEqual([1, expect.stringContaining('${DB_PASSWORD} is several words → write each word as')]);
  expect(compose).toEqual({ services: { a: { image: 'x', command: ['run', '${DB_PASSWORD}'] } } });
});
