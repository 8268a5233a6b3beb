import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { ConfigInvalid } from '../../core/config/keyTable.ts';
import { loadSettings } from './loadSettings.ts';
import { configOf, configsOfHost, namedEnvOf } from './namedEnvs.ts';

let etc: string;
beforeEach(() => {
  etc = tempDir();
});

const plain = () => join(etc, 'deployd/config.yaml');
const named = (env: string) => join(etc, 'deployd-envs', env, 'config.yaml');

function write(file: string, env: string, ...more: string[]): string {
  const services = ['transport: system', 'tenancy_url: https://a.example', 'secretstore_url: https://b.example'];
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, [`env: ${env}`, 'site: berlin', ...services, ...more].join('\n'));
  return file;
}

function faultsOf(file: string): string[] {
  try {
    loadSettings(file);
    return [];
  } catch (error) {
    if (error instanceof ConfigInvalid) return error.lines.map((line) => line.replace(`CONFIG_INVALID: ${file}`, ''));
    throw error;
  }
}

describe('a named env', () => {
  it('has its own places by default, and the places that its configuration names', () => {
    write(plain(), 'eu-1');
    expect(loadSettings(write(named('shop'), 'shop'))).toMatchObject({
      state_dir: '/var/lib/deployd-envs/shop',
      bootstrap_file: '/etc/deployd-envs/shop/bootstrap.jwt',
      mesh: { identity_file: '/opt/mesh/etc/identities/deployd-host.shop.json' },
      config_file: named('shop'),
    });
    expect(loadSettings(write(named('shop'), 'shop', 'state_dir: /srv/shop'))).toMatchObject({
      state_dir: '/srv/shop',
    });
    expect(loadSettings(plain())).toMatchObject({ state_dir: '/var/lib/deployd' });
  });

  it('belongs to its directory', () => {
    expect(namedEnvOf(configOf('shop'))).toBe('shop');
    expect(namedEnvOf(`${configOf('shop')}.new`)).toBe('shop');
    expect([plain(), '/srv/shop/config.yaml', '/etc/deployd-envs/Shop/config.yaml'].map(namedEnvOf)).toEqual([
      ...[null, null, null],
    ]);
    expect(faultsOf(write(named('shop'), 'eu-1'))).toEqual([
      ':1: env: must be shop, as the directory of this file and deployd@shop say',
    ]);
  });

  it('is refused if another configuration of the host has the same value, by name, and the plain one never is', () => {
    write(plain(), 'shop', 'metrics: { textfile: /run/m/a.prom }');
    write(named('blog'), 'blog', 'bootstrap_file: /srv/grant');
    const file = write(
      named('shop'),
      ...(['shop', 'state_dir: /var/lib/deployd/shop', 'bootstrap_file: /srv/grant'] as const),
      'metrics: { textfile: /run/m/a.prom }',
    );
    expect(faultsOf(file)).toEqual([
      `:1: env: is also used by ${plain()}`,
      `:6: state_dir: must not be, contain or be in the state_dir of ${plain()}`,
      `:7: bootstrap_file: is also used by ${named('blog')}`,
      `:8: metrics.textfile: is also used by ${plain()}`,
    ]);
    expect(faultsOf(plain())).toEqual([]);
    expect(faultsOf(named('blog'))).toEqual([`:6: bootstrap_file: is also used by ${file}`]);
  });

  it.each([
    ['the same', 'one'],
    ['one below it', 'one/below'],
    ['one above it', '.'],
    ['a link to it', 'link'],
  ])('is refused for a state directory that is %s, and not for one beside it', (_what, name) => {
    mkdirSync(join(etc, 'one'));
    symlinkSync('one', join(etc, 'link'));
    write(named('shop'), 'shop', `state_dir: ${join(etc, 'one')}`);
    const file = write(named('blog'), 'blog', `state_dir: ${join(etc, name)}`);
    expect(faultsOf(file)).toEqual([`:6: state_dir: must not be, contain or be in the state_dir of ${named('shop')}`]);
    write(file, 'blog', `state_dir: ${join(etc, 'one-more')}`);
    expect(faultsOf(file)).toEqual([]);
  });

  it('is not touched by a fault of another configuration', () => {
    write(plain(), 'UPPER');
    mkdirSync(dirname(named('broken')), { recursive: true });
    writeFileSync(named('broken'), '\t:');
    expect(faultsOf(write(named('shop'), 'shop'))).toEqual([]);
  });
});

it('finds the plain configuration of a host and those for its named envs from each of them', () => {
  const files = [write(plain(), 'eu-1'), write(named('blog'), 'blog'), write(named('shop'), 'shop')];
  mkdirSync(join(etc, 'deployd-envs/empty'));
  write(named('No-Env'), 'x');
  for (const file of files) expect(configsOfHost(file)).toEqual(files);
  const elsewhere = write(join(etc, 'elsewhere/config.yaml'), 'eu-1');
  expect(configsOfHost(elsewhere)).toEqual([elsewhere]);
});
