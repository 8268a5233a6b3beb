import type { Manifest } from '../../../../machines/types.ts';
import { parseComposeFile } from '../compose/document/composeFile.ts';
import { verdictOf } from './importVerdict.ts';

function verdictOn(service: string, more = '') {
  const parsed = parseComposeFile('compose.yaml', `services: {web: {image: a:1, ${service}}}\n${more}`);
  if ('problems' in parsed) throw new Error(parsed.problems.map(({ text }) => text).join('\n'));
  const manifest: Manifest = {
    ...{
      schema: 1,
      name: 'shop',
      env: 'eu-1',
      version: '1',
      sequence: 0,
      production: false,
      compose: ['compose.yaml'],
    },
    ...{ agent: { allow_privileged: false, allow_rollback: false }, disk_need_bytes: null },
    ...{ profiles: [], variables: {}, secrets: [], registries: [] },
  };
  return verdictOf({
    ...{ manifest, sha: null, version: '1', variables: {}, profiles: [], refusals: [] },
    ...{ files: [parsed.file], releaseFiles: new Set(['compose.yaml']), digests: new Map(), texts: new Map() },
  });
}

it('a host that permits what a bundle asks for, and no more, would apply it', () => {
  const { permits, plan } = verdictOn('volumes: [/srv/a:/a, /srv/b:/b:ro], cap_add: [NET_ADMIN], network_mode: host');
  expect(permits).toEqual({ binds: ['/srv/a', '/srv/b:ro'], capabilities: ['NET_ADMIN'], host_network: ['web'] });
  expect(plan.refusals).toEqual([]);
});

it('a volume may have the name that the project gives it', () => {
  const { permits, plan } = verdictOn('tty: true', 'volumes: {a: {name: deployd-eu-1_a}}\n');
  expect([permits, plan.refusals]).toEqual([{}, []]);
});

it('what no permit lifts is refused', () => {
  const { permits, plan } = verdictOn('cgroup_parent: x, name: [y], volumes: [deployd-eu-1_x:/x]');
  expect(permits).toEqual({});
  expect(plan.refusals.map(({ code }) => code)).toEqual(['COMPOSE_REFUSED', 'PRIVILEGED_REFUSED']);
});
