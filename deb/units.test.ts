import { readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { tempDir } from '../fixtures/world/tempDir.ts';
import { commandEndings, endings } from '../machines/endings.ts';
import { configTable } from '../src/agent/config/configKeys.ts';
import { configOf, configTableOf } from '../src/agent/config/namedEnvs.ts';
import { configTable as tenancyTable } from '../src/tenancy/config/configKeys.ts';
import { loadSettings } from '../src/tenancy/config/loadSettings.ts';
import { httpLimits } from '../src/tenancy/http/httpServer.ts';

/** The settings of a unit by key; a repeated key has all its values. */
function readUnit(name: string, directory = 'deb/units'): Record<string, string[]> {
  const lines = readFileSync(`${directory}/${name}`, 'utf8').split('\n');
  const settings: Record<string, string[]> = {};
  for (const [, key = '', value = ''] of lines.flatMap((line) => [/^([A-Za-z]+)=(.*)$/.exec(line) ?? []]))
    (settings[key] ??= []).push(value);
  return settings;
}

describe('deployd.service', () => {
  const service = readUnit('deployd.service');

  it('is as the specification says', () => {
    expect(service).toMatchObject({
      Type: ['oneshot'],
      User: ['deployd'],
      ExecStart: ['/usr/bin/deployd run --once'],
      NoNewPrivileges: ['yes'],
      ProtectSystem: ['strict'],
      ReadWritePaths: ['-/var/lib/deployd -/etc/deployd -/run/deployd-metrics -/run/docker.sock'],
      UMask: ['0077'],
      CapabilityBoundingSet: [''],
    });
  });

  it('counts exactly the exit codes of temporary failures as success', () => {
    const exits = [...Object.values(endings), ...Object.values(commandEndings)].map(({ meta }) => meta.exit);
    const temporary = [...new Set(exits)].filter((exit) => ![0, 1, 78].includes(exit));
    expect(service['SuccessExitStatus']).toEqual(temporary.map(String));
  });

  it('gives a tick the sum of all configured time limits, including the limits of a revert', () => {
    const revertLimits = ['up_timeout_s', 'health_timeout_s', 'settle_s'];
    const limits = configTable.names.filter((name) => /_(timeout|stall)_s$/.test(name) || name === 'settle_s');
    const seconds = [...limits, ...revertLimits].map((name) =>
      Number(configTable.keys[name as keyof typeof configTable.keys].default),
    );
    const [, hours = NaN] = /^(\d+)h$/.exec(service['TimeoutStartSec']?.[0] ?? '') ?? [];
    expect(limits).toContain('pull_timeout_s');
    expect(Number(hours) * 3600).toBeGreaterThan(seconds.reduce((sum, each) => sum + each));
  });

  it('gives the agent more time to stop than the 15 s that it takes', () => {
    expect(service['TimeoutStopSec']).toEqual(['30s']);
  });
});

it('deployd.timer is as the specification says', () => {
  expect(readUnit('deployd.timer')).toMatchObject({
    OnBootSec: ['90s'],
    OnUnitInactiveSec: ['60s'],
    RandomizedDelaySec: ['10s'],
  });
});

describe('the units of a named env', () => {
  it('differ from the plain ones in their env and their places alone, so that none can write what is another’s', () => {
    const plain = readUnit('deployd.service');
    expect(readUnit('deployd@.service')).toEqual({
      ...plain,
      Description: ['One tick of the deploy agent for %i'],
      ExecStart: ['/usr/bin/deployd run --once --env %i'],
      SyslogIdentifier: ['deployd@%i'],
      StateDirectory: ['deployd-envs/%i'],
      StateDirectoryMode: ['0700'],
      ReadWritePaths: ['-/etc/deployd-envs/%i -/run/deployd-metrics -/run/docker.sock'],
    });
    const timer = { ...readUnit('deployd.timer'), Description: ['Ticks of the deploy agent for %i'] };
    expect(readUnit('deployd@.timer')).toEqual(timer);
  });

  it('keep the places that the agent takes for them', () => {
    const table = configTableOf(configOf('shop')).keys;
    const unit = readUnit('deployd@.service');
    const placeOf = (text = '') => text.replace('%i', 'shop');
    expect(table.state_dir.default).toBe(`/var/lib/${placeOf(unit['StateDirectory']?.[0])}`);
    const [directory = ''] = (unit['ReadWritePaths']?.[0] ?? '').split(' ');
    expect(dirname(String(table.bootstrap_file.default))).toBe(placeOf(directory.replace('-', '')));
    expect(dirname(configOf('shop'))).toBe(placeOf(directory.replace('-', '')));
  });
});

describe('the units of a user', () => {
  const plain = readUnit('deployd.service');
  const service = readUnit('deployd.service', 'deb/user-units');

  it('have the times of the plain ones', () => {
    const times = ['Type', 'SuccessExitStatus', 'SyslogIdentifier', 'TimeoutStartSec', 'TimeoutStopSec', 'KillMode'];
    for (const key of times) expect([key, service[key]]).toEqual([key, plain[key]]);
    const timer = { ...readUnit('deployd.timer'), Description: ['Ticks of the deploy agent of this user'] };
    expect(readUnit('deployd.timer', 'deb/user-units')).toEqual(timer);
  });

  it('run the agent of the user, with each restriction of the plain ones that needs no mount namespace', () => {
    expect(service['ExecStart']).toEqual(['/usr/bin/deployd run --once --user']);
    const restrictions = Object.keys(plain).filter((key) => /^(Restrict|Lock|NoNew|System|UMask|LimitCORE)/.test(key));
    for (const key of restrictions) expect([key, service[key]]).toEqual([key, plain[key]]);
    expect(Object.keys(service).filter((key) => /^(User|Group|Protect|Private|ReadWritePaths)/.test(key))).toEqual([]);
  });
});

it('deployd-proxy.service is as the specification says', () => {
  expect(readUnit('deployd-proxy.service')).toMatchObject({
    User: ['mesh'],
    EnvironmentFile: ['/etc/deployd/proxy.env'],
  });
});

it('deployd-identity-acl.path watches the identities, and its service has no start limit', () => {
  expect(readUnit('deployd-identity-acl.path')['PathChanged']).toContain('/opt/mesh/etc/identities');
  expect(readUnit('deployd-identity-acl.service')).toMatchObject({
    StartLimitIntervalSec: ['0'],
    ExecStart: expect.arrayContaining(['/usr/share/deployd/identity-acl.sh']) as string[],
  });
});

describe('deployd-tenancy.service', () => {
  const service = readUnit('deployd-tenancy.service', 'deb/tenancy/units');

  it('migrates the store and serves as a separate user, which owns only its state directory', () => {
    expect(service).toMatchObject({
      User: ['deployd-tenancy'],
      ExecStartPre: ['/usr/bin/deployd-tenancy migrate'],
      ExecStart: ['/usr/bin/deployd-tenancy serve'],
      ProtectSystem: ['strict'],
      StateDirectory: [basename(String(tenancyTable.keys.state_dir.default))],
      CapabilityBoundingSet: ['CAP_NET_BIND_SERVICE'],
    });
    expect(Object.keys(service)).not.toContain('ReadWritePaths');
  });

  it('is as closed as the agent’s', () => {
    const agent = readUnit('deployd.service');
    const closing = Object.keys(agent).filter((key) =>
      /^(Protect|Private|Restrict|Lock|NoNew|System|UMask|Device)/.test(key),
    );
    const itsOwn = ['ProtectHome', 'TimeoutStartSec'];
    for (const key of closing.filter((each) => !itsOwn.includes(each)))
      // Threads that check archives lower their priority.
      expect([key, service[key]?.filter((value) => value !== 'setpriority')]).toEqual([key, agent[key]]);
  });

  it('has more open files than connections, and more time to stop than requests have to end', () => {
    expect(Number(service['LimitNOFILE'])).toBeGreaterThan(2 * httpLimits.connections);
    expect(Number.parseInt(service['TimeoutStopSec']?.[0] ?? '')).toBeGreaterThan(20);
  });
});

it('the example of the tenancy service’s configuration is valid, and so it is without its comments', () => {
  const text = readFileSync('deb/tenancy/config.yaml', 'utf8');
  const file = join(tempDir(), 'config.yaml');
  const [, optional = ''] = text.split('differ from the defaults:\n');
  writeFileSync(file, text + optional.replaceAll(/^# /gm, '').replace(/^secretstore_ca.*\n/, ''));
  expect(loadSettings(file)).toMatchObject({ listen: '[::]:443', s3: { bucket: 'deployd-bundles' } });
});
