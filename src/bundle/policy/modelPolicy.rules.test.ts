import { corpusFiles } from '../../../fixtures/suites/corpus/corpus.ts';
import type { Manifest } from '../../../machines/types.ts';
import { parseSubnet } from '../compose/networks.rules.ts';
import { validateModelPolicy } from './composePolicy.rules.ts';

const manifest = { agent: { allow_privileged: false }, compose: ['compose.yaml'] } as unknown as Manifest;
const context = {
  releaseFiles: new Set(['compose.yaml', 'conf', ...Object.keys(corpusFiles)]),
  projectName: 'deployd-eu-1',
  manifest,
  openedPaths: { all: [], byCompose: [] },
};

describe('the compose policy for a rendered model', () => {
  const dir = '/var/lib/deployd/eu-1/staging/$abc';
  const refusalsOfModel = (web: object, more: object = {}) =>
    validateModelPolicy({ services: { web }, ...more }, dir, context);

  it.each<[string, object, object]>([
    [
      'paths of the release',
      { volumes: [{ type: 'bind', source: `${doubled(dir)}/conf`, target: '/c', read_only: true }] },
      {},
    ],
    ['files of the release', {}, { configs: { c: { name: 'deployd-eu-1_c', file: `${doubled(dir)}/app.env` } } }],
    ['numbers, booleans and null', { init: true, cpus: 0.5, command: null, privileged: false }, {}],
    ['names that compose generates', {}, { networks: { default: { name: 'deployd-eu-1_default', ipam: {} } } }],
    ['the name of the project', {}, { name: 'deployd-eu-1' }],
    ['any dollar sign in a value', { environment: { A: '$$${x' } }, {}],
  ])('allows %s', (_title, web, more) => {
    expect(refusalsOfModel(web, more)).toMatchObject([]);
  });

  it.each<[string, object, string]>([
    ['PRIVILEGED_REFUSED', { privileged: true }, 'privileged'],
    ['PRIVILEGED_REFUSED', { volumes: [{ type: 'bind', source: '/hunter2', target: '/c' }] }, 'volumes'],
    ['PRIVILEGED_REFUSED', { volumes: [{ type: 'bind', source: `${dir}x/conf`, target: '/c' }] }, 'volumes'],
    ['COMPOSE_REFUSED', { volumes: [{ type: 'bind', source: doubled(dir), target: '/c' }] }, 'volumes'],
    ['COMPOSE_REFUSED', { volumes: [{ type: 'bind', source: `${doubled(dir)}/conf`, target: '/c' }] }, 'volumes'],
    ['COMPOSE_REFUSED', { volumes: [{ type: 'bind', source: `${doubled(dir)}/.env`, target: '/c' }] }, 'volumes'],
    ['COMPOSE_REFUSED', { hostname: null }, 'hostname'],
    ['HOST_NETWORK_REFUSED', { network_mode: 'host' }, 'network_mode'],
    ['COMPOSE_REFUSED', { labels: { 'com.docker.compose.hunter2': 'x' } }, 'labels'],
  ])('refuses with %s for %j, naming service and key but no value', (code, web, key) => {
    expect(refusalsOfModel(web)).toMatchObject([{ code, detail: `service web: ${key}, as compose renders it` }]);
  });

  it.each([null, [], 'text', {}, { services: {} }, { services: { web: 1 } }])('refuses the model %j', (model) => {
    expect(validateModelPolicy(model, dir, context).map(({ code }) => code)).toMatchObject(['COMPOSE_REFUSED']);
  });

  it('names the route of the host but no address of the model', () => {
    const networks = { n: { ipam: { config: [{ subnet: '10.1.2.0/24' }] } } };
    const routes = [{ subnet: parseSubnet('10.1.0.0/16')!, cidr: '10.1.0.0/16', device: 'eth1' }];
    expect(validateModelPolicy({ services: { web: {} }, networks }, dir, { ...context, routes })).toMatchObject([
      {
        code: 'PRIVILEGED_REFUSED',
        detail: "network n: ipam takes addresses of the host's route 10.1.0.0/16 (eth1), as compose renders it",
      },
    ]);
  });

  it.each([
    [{ a: 1 }, 'model: a, as compose renders it'],
    [{ volumes: { a: { labels: null } } }, 'volume a: labels, as compose renders it'],
    [{ name: 'b\n' }, 'model: name, as compose renders it'],
    [{ networks: { n: { driver: 'a\n' } } }, 'network n: driver, as compose renders it'],
  ])('refuses %j beside the services', (more, detail) => {
    expect(refusalsOfModel({}, more)).toContainEqual(expect.objectContaining({ code: 'COMPOSE_REFUSED', detail }));
  });

  it('allows free text with any character, because it may be the value of a secret', () => {
    expect(refusalsOfModel({ command: ['a\0'], environment: { A: 'b\0' } })).toMatchObject([]);
  });
});

function doubled(text: string): string {
  return text.replaceAll('$', '$$$$');
}
