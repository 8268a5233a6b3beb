import { readFileSync } from 'node:fs';
import { endings, otherEndings } from '../machines/endings.ts';
import { keyNames, keys } from '../src/agent/config/schema.ts';

/** What a unit says, key by key; a key that stands there twice has both. */
function unit(name: string): Record<string, string[]> {
  const lines = readFileSync(`deb/units/${name}`, 'utf8').split('\n');
  const said: Record<string, string[]> = {};
  for (const [, key = '', value = ''] of lines.flatMap((line) => [/^([A-Za-z]+)=(.*)$/.exec(line) ?? []]))
    (said[key] ??= []).push(value);
  return said;
}

describe('deployd.service', () => {
  const service = unit('deployd.service');

  it('is what the specification says', () => {
    expect(service).toMatchObject({
      Type: ['oneshot'],
      User: ['deployd'],
      ExecStart: ['/usr/bin/deployd run --once'],
      NoNewPrivileges: ['yes'],
      ProtectSystem: ['strict'],
      ReadWritePaths: ['-/var/lib/deployd -/etc/deployd -/run/docker.sock'],
      UMask: ['0077'],
      CapabilityBoundingSet: [''],
    });
  });

  it('takes for a success what shall be tried again, and nothing else', () => {
    const exits = [...Object.values(endings), ...Object.values(otherEndings)].map(({ meta }) => meta.exit);
    const temporary = [...new Set(exits)].filter((exit) => ![0, 1, 78].includes(exit));
    expect(service['SuccessExitStatus']).toEqual(temporary.map(String));
  });

  it('lets a tick take all the time that the configuration allows, and a way back after it', () => {
    const wayBack = ['up_timeout_s', 'health_timeout_s', 'settle_s'];
    const limits = keyNames.filter((name) => /_(timeout|stall)_s$/.test(name) || name === 'settle_s');
    const seconds = [...limits, ...wayBack].map((name) => Number(keys[name as keyof typeof keys].default));
    const [, hours = NaN] = /^(\d+)h$/.exec(service['TimeoutStartSec']?.[0] ?? '') ?? [];
    expect(limits).toContain('pull_timeout_s');
    expect(Number(hours) * 3600).toBeGreaterThan(seconds.reduce((sum, each) => sum + each));
  });

  it('gives the agent more than the 15 s in which it ends', () => {
    expect(service['TimeoutStopSec']).toEqual(['30s']);
  });
});

it('deployd.timer is what the specification says', () => {
  expect(unit('deployd.timer')).toMatchObject({
    OnBootSec: ['90s'],
    OnUnitInactiveSec: ['60s'],
    RandomizedDelaySec: ['10s'],
  });
});

it('deployd-proxy.service is what the specification says', () => {
  expect(unit('deployd-proxy.service')).toMatchObject({ User: ['mesh'], EnvironmentFile: ['/etc/deployd/proxy.env'] });
});

it('deployd-identity-acl.path watches the identities, and its service is never stopped for being called often', () => {
  expect(unit('deployd-identity-acl.path')['PathChanged']).toContain('/opt/mesh/etc/identities');
  expect(unit('deployd-identity-acl.service')).toMatchObject({
    StartLimitIntervalSec: ['0'],
    ExecStart: expect.arrayContaining(['/usr/share/deployd/identity-acl.sh']) as string[],
  });
});
