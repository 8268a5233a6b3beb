import { grantedPrivilegesOf, parseGrantedPrivileges } from './grantedPrivileges.ts';

const dir = `/releases/${'a'.repeat(64)}`;
const project = { name: 'p', networks: { default: { name: 'p_default' } }, volumes: { data: { name: 'p_data' } } };

it('grants a service the mounts of volumes_from, except at targets of its own', () => {
  const volumesOf = (...targets: string[]) => targets.map((target) => ({ type: 'bind', source: '/s', target }));
  const model = {
    ...project,
    services: {
      web: { volumes_from: ['db:ro'], volumes: [{ type: 'volume', target: '/two' }] },
      db: { volumes: volumesOf('/one', '/two') },
    },
  };
  expect(grantedPrivilegesOf(model, dir).services['web']).toEqual({
    may: ['mount /one bind /s', 'propagation /one rslave'],
    must: [],
  });
});

it('grants a service its configs and secrets', () => {
  const files = { c: { file: `${dir}/c` } };
  const web = { configs: [{ source: 'c' }], secrets: [{ source: 'c', target: 'named' }] };
  const granted = grantedPrivilegesOf({ ...project, configs: files, secrets: files, services: { web } }, dir);
  expect(granted.services['web']?.may).toEqual(['mount /c bind ./c', 'mount /run/secrets/named bind ./c']);
});

it.each(['', '{}', 'null', '{"schema":1,"services":{"web":{}},"networks":{},"volumes":{}}'])(
  'parses no grants from %j',
  (text) => {
    expect(parseGrantedPrivileges(text)).toBeNull();
  },
);
