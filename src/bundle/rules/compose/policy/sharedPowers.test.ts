import { defaultPolicy, type HostPolicy } from '../../../../protocol/hostPolicy.ts';
import type { Manifest } from '../../../../../machines/types.ts';
import { parseComposeFile } from '../document/composeFile.ts';
import { validateComposePolicy, validateModelPolicy } from './composePolicy.ts';
import { anyHost } from './policyHost.ts';

const socket = 'volumes: ["/run/docker.sock:/s:ro"]';
const twoServices = (holder: string, other: string) =>
  `services:\n  traefik: {image: a, ${holder}}\n  other: {image: a, ${other}}\n`;

function contextOf(permit: HostPolicy['permit']) {
  const manifest = { agent: { allow_privileged: false }, compose: ['compose.yaml'] } as Manifest;
  const host = { ...anyHost, policy: { ...defaultPolicy, permit } };
  const releaseFiles = new Set(['compose.yaml']);
  return { manifest, host, projectName: 'deployd-eu-1', releaseFiles, texts: new Map<string, string>() };
}

function detailsOf(texts: string[], permit: HostPolicy['permit']): string[] {
  const files = texts.map((text) => {
    const parsed = parseComposeFile('compose.yaml', text);
    if ('problems' in parsed) throw new Error(parsed.problems.map(({ text: fault }) => fault).join());
    return parsed.file;
  });
  return validateComposePolicy(files, contextOf(permit)).map(({ code, detail }) => `${code}: ${detail}`);
}

it.each<[string, string, HostPolicy['permit'], string]>([
  [socket, 'volumes_from: [traefik]', { engine_socket: ['traefik'] }, 'volumes_from traefik brings engine_socket'],
  [
    socket,
    'volumes_from: ["traefik:ro"]',
    { engine_socket: ['traefik'] },
    'volumes_from traefik:ro brings engine_socket',
  ],
  [socket, 'extends: traefik', { engine_socket: ['traefik'] }, 'extends traefik brings engine_socket'],
  [socket, 'extends: {service: traefik}', { engine_socket: ['traefik'] }, 'extends traefik brings engine_socket'],
  [socket, 'pid: "service:traefik"', { engine_socket: ['traefik'] }, 'pid service:traefik brings engine_socket'],
  ['pid: host', 'pid: "service:traefik"', { host_pid: ['traefik'] }, 'pid service:traefik brings host_pid'],
  ['ipc: host', 'ipc: "service:traefik"', { host_ipc: ['traefik'] }, 'ipc service:traefik brings host_ipc'],
  ['gpus: all', 'extends: traefik', { gpus: ['traefik'] }, 'extends traefik brings gpus'],
  ['privileged: true', 'extends: traefik', { privileged: ['traefik'] }, 'extends traefik brings privileged'],
])('of %s, what says %s is refused though %j', (holder, other, permit, text) => {
  const written = twoServices(holder, other);
  expect(detailsOf([written], permit)).toEqual([`PRIVILEGED_REFUSED: service other: ${text} (compose.yaml:3)`]);
  const both = Object.fromEntries(Object.keys(permit).map((key) => [key, ['traefik', 'other']]));
  expect(detailsOf([written], both)).toEqual([]);
});

it('the network of the host is not shared either', () => {
  const text = twoServices('network_mode: host', 'network_mode: "service:traefik"');
  expect(detailsOf([text], { host_network: ['traefik'] })).toEqual([
    'HOST_NETWORK_REFUSED: service other: network_mode service:traefik brings host_network (compose.yaml:3)',
  ]);
});

it('a power is followed over several services and files', () => {
  const texts = [
    `services: {traefik: {image: a, ${socket}}}`,
    'services: {c: {image: a, volumes_from: [b]}, b: {image: a, pid: "service:traefik"}}',
  ];
  expect(detailsOf(texts, { engine_socket: ['traefik'] })).toEqual([
    'PRIVILEGED_REFUSED: service b: pid service:traefik brings engine_socket (compose.yaml:1); service c: volumes_from b brings engine_socket (compose.yaml:1)',
  ]);
});

it.each([
  ['network_mode: "service:traefik"', { engine_socket: ['traefik'] }],
  ['ipc: "service:traefik"', { engine_socket: ['traefik'] }],
  ['depends_on: [traefik]', { engine_socket: ['traefik'] }],
])('%s brings no socket', (other, permit) => {
  expect(detailsOf([twoServices(socket, other)], permit)).toEqual([]);
});

it('a rendered model is judged by the same rule', () => {
  const volumes = [{ type: 'bind', source: '/run/docker.sock', target: '/s', read_only: true }];
  const services = { traefik: { image: 'a', volumes }, other: { image: 'a', volumes_from: ['traefik'] } };
  const context = { ...contextOf({ engine_socket: ['traefik'] }), openedPaths: { all: [], byCompose: [] } };
  const model = { name: 'deployd-eu-1', services };
  expect(validateModelPolicy(model, '/release', context)).toMatchObject([
    { detail: 'service other: volumes_from, as compose renders it' },
  ]);
});
