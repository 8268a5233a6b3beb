import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { readDockerLogins } from './bundleImport.ts';

const encoded = (text: string) => ({ auth: Buffer.from(text).toString('base64') });

function loginsOf(text: string) {
  const dir = tempDir();
  writeFileSync(join(dir, 'config.json'), text);
  return readDockerLogins({ DOCKER_CONFIG: dir });
}

it('finds a login by the registry, and the login of Docker under its old address', () => {
  const auths = { 'r.example:5000': encoded('ann:a:b'), 'https://index.docker.io/v1/': encoded('hub:x') };
  const loginOf = loginsOf(JSON.stringify({ auths }));
  expect(loginOf('r.example:5000')).toEqual({ user: 'ann', password: 'a:b' });
  expect(loginOf('docker.io')).toEqual({ user: 'hub', password: 'x' });
  expect(loginOf('r.example')).toBeNull();
});

it.each([
  'no JSON',
  'null',
  '{"auths":null}',
  '{"auths":{"r.example":{}}}',
  '{"auths":{"r.example":null}}',
  '{"auths":{"r.example":{"auth":"eA=="}}}',
  '{"credsStore":"desktop"}',
])('has no login in %s', (text) => {
  expect(loginsOf(text)('r.example')).toBeNull();
});

it('has none without the file', () => {
  expect(readDockerLogins({ DOCKER_CONFIG: tempDir() })('r.example')).toBeNull();
});
