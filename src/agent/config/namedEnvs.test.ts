import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { loadSettings } from './loadSettings.ts';
import { scopeOf, userConfigIn, withCommandsOf } from './namedEnvs.ts';

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
  it("has its user's places by default, and the places that it names", () => {
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

  it('is recognised by its place, whatever name the file was opened with', () => {
    expect(userConfigIn('/home/ann')).toBe('/home/ann/.config/deployd/config.yaml');
    expect(scopeOf(userConfigIn('/home/ann'))).toBe('user');
    expect(scopeOf(`${userConfigIn('/home/ann')}.new`)).toBe('user');
    expect(['/etc/deployd/config.yaml', '/srv/.config/config.yaml'].map(scopeOf)).toEqual(['plain', 'plain']);
    expect(scopeOf('/etc/deployd-envs/shop/config.yaml')).toEqual({ env: 'shop' });
  });
});

it.each([
  ['sudo deployd run --once', 'sudo deployd --env shop-eu run --once'],
  ['deployd.timer is masked', 'deployd@shop-eu.timer is masked'],
  ['journalctl -u deployd.service | grep x', 'journalctl -u deployd@shop-eu.service | grep x'],
  [
    'install -o deployd -g deployd A && sudo deployd bootstrap',
    'install -o deployd -g deployd A && sudo deployd --env shop-eu bootstrap',
  ],
  ['deployd cannot read /etc/deployd/x', 'deployd cannot read /etc/deployd/x'],
  ['deployd-proxy.service', 'deployd-proxy.service'],
])('names the command or unit of a named env: %s', (text, named) => {
  expect(withCommandsOf({ env: 'shop-eu' }, text)).toBe(named);
  expect(withCommandsOf('plain', text)).toBe(text);
});

it.each([
  ['sudo deployd run --once', 'deployd --user run --once'],
  ['sudo systemctl enable --now deployd.timer', 'systemctl --user enable --now deployd.timer'],
  ['journalctl -u deployd.service | grep x', 'journalctl --user -u deployd.service | grep x'],
  ['sudo systemctl restart podman.socket', 'systemctl --user restart podman.socket'],
  ['sudo chmod 640 /home/ann/x', 'chmod 640 /home/ann/x'],
  ['sudoedit /home/ann/x', '${EDITOR:-vi} /home/ann/x'],
  ['sudo install -o ann X Y && sudo deployd bootstrap', 'install -o ann X Y && deployd --user bootstrap'],
  ['sudo docker image prune --all', 'podman image prune --all'],
  ['sudo docker network create shop', 'podman network create shop'],
  ['docker compose pull failed', 'docker compose pull failed'],
  ['sudo tee --append /home/ann/ca.pem <A', 'tee --append /home/ann/ca.pem <A'],
  [
    'sudo install -m 0644 A /usr/local/share/A && sudo update-ca-certificates',
    'sudo install -m 0644 A /usr/local/share/A && sudo update-ca-certificates',
  ],
  ['sudo systemctl enable --now deployd-identity-acl.path', 'sudo systemctl enable --now deployd-identity-acl.path'],
  ['sudo loginctl enable-linger ann', 'sudo loginctl enable-linger ann'],
  ['sudo apt-get install docker-compose-plugin', 'sudo apt-get install docker-compose-plugin'],
  ['deployd.timer is masked', 'deployd.timer is masked'],
])("names the command of a user's agent: %s", (text, named) => {
  expect(withCommandsOf('user', text)).toBe(named);
});
