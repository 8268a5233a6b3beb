import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempDir } from '../../../fixtures/tempDir.ts';
import { loadSettings } from './loadSettings.ts';
import { scopeOf } from './scopeOf.ts';
import { userConfigIn } from './userConfig.ts';

const services = ['transport: system', 'tenancy_url: https://a.example', 'secretstore_url: https://b.example'];

/** Writes a configuration into the home directory of a user. */
function write(home: string, ...more: string[]): string {
  const directory = join(home, '.config/deployd');
  mkdirSync(directory, { recursive: true });
  const file = join(directory, 'config.yaml');
  writeFileSync(file, ['env: eu-1', 'site: berlin', ...services, ...more].join('\n'));
  return file;
}

describe('the configuration of a user (spec §24)', () => {
  it('has the places of its user by default, and those that it names', () => {
    const home = tempDir();
    expect(loadSettings(write(home))).toMatchObject({
      state_dir: join(home, '.local/state/deployd'),
      bootstrap_file: join(home, '.config/deployd/bootstrap.jwt'),
      secretstore_ca: null,
      container_host: `unix:///run/user/${process.getuid?.()}/podman/podman.sock`,
    });
    expect(loadSettings(write(home, 'container_host: unix:///run/user/7/docker.sock'))).toMatchObject({
      container_host: 'unix:///run/user/7/docker.sock',
    });
  });

  it('is told by its place, however the file was named', () => {
    expect(userConfigIn('/home/ann')).toBe('/home/ann/.config/deployd/config.yaml');
    expect(scopeOf(userConfigIn('/home/ann'))).toBe('user');
    expect(scopeOf(`${userConfigIn('/home/ann')}.new`)).toBe('user');
    expect(['/etc/deployd/config.yaml', '/srv/.config/config.yaml'].map(scopeOf)).toEqual(['plain', 'plain']);
    expect(scopeOf('/etc/deployd-envs/shop/config.yaml')).toEqual({ env: 'shop' });
  });
});
