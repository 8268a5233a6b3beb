import { defaultPolicy, type HostPolicy } from '../../../../protocol/hostPolicy.ts';
import type { Manifest } from '../../../../../machines/types.ts';
import { parseComposeFile } from '../document/composeFile.ts';
import { parseSubnet } from '../../network/subnet.ts';
import { judgeComposePolicy, validateModelPolicy } from './composePolicy.ts';
import { anyHost, type HostPaths, type NamesOutside } from './policyHost.ts';

interface Host extends Partial<HostPolicy> {
  flag?: boolean;
  resolved?: Record<string, string>;
  outside?: NamesOutside;
  mountsSubpaths?: boolean;
}

function contextOf({ flag = false, resolved, outside, mountsSubpaths, ...policy }: Host) {
  const manifest = { agent: { allow_privileged: flag }, compose: ['compose.yaml'] } as Manifest;
  const paths: HostPaths | null = resolved
    ? { resolved: new Map(Object.entries(resolved)), protectedPaths: ['/var/lib/deployd'], mountedNow: [] }
    : null;
  const host = { ...anyHost, policy: { ...defaultPolicy, ...policy }, paths };
  const release = { projectName: 'deployd-eu-1', releaseFiles: new Set(['compose.yaml']) };
  return {
    manifest,
    host,
    ...release,
    ...(outside && { outside }),
    ...(mountsSubpaths !== undefined && { mountsSubpaths }),
  };
}

function judged(text: string, host: Host = {}) {
  const parsed = parseComposeFile('compose.yaml', text);
  if ('problems' in parsed) throw new Error(parsed.problems.map((problem) => problem.text).join());
  const { refusals, permitted } = judgeComposePolicy([parsed.file], contextOf(host));
  return {
    permitted,
    faults: refusals.flatMap(({ faults = [] }) => faults.map((fault) => `${fault.text}: ${fault.cure}`)),
  };
}

const web = (keys: string) => `services: {web: {image: a, ${keys}}}\n`;
const faultsOf = (text: string, host: Host = {}) => judged(text, host).faults;

describe('the socket of an engine', () => {
  const sockets = ['/run', '/var/run'].flatMap((run) =>
    ['docker.sock', 'podman/podman.sock', 'containerd/containerd.sock', 'crio/crio.sock'].map(
      (name) => `${run}/${name}`,
    ),
  );

  it.each(sockets)('is %s', (path) => {
    const text = web(`volumes: ["${path}:/s"]`);
    expect(judged(text, { permit: { engine_socket: ['web'] } })).toStrictEqual({
      permitted: [{ permit: 'engine_socket', entry: 'web', service: 'web' }],
      faults: [],
    });
    expect(faultsOf(text, { permit: { binds: ['/**'] } })).toHaveLength(1);
  });

  it.each(['/run', '/srv/link', '/srv/run', '/'])('is denied to the flag where %s holds it', (path) => {
    const host: Host = {
      ...{ flag: true, deny: ['engine_socket'] },
      resolved: { '/run': '/run', '/srv/link': '/run/docker.sock', '/srv/run': '/run', '/': '/' },
    };
    expect(faultsOf(web(`volumes: ["${path}:/s"]`), host)).toEqual([
      expect.stringContaining('policy.deny: engine_socket of this host outlives the flags of the bundle'),
    ]);
    expect(faultsOf(web('volumes: ["/srv/data:/s"]'), { ...host, resolved: { '/srv/data': '/srv/data' } })).toEqual([]);
  });

  it('is denied where a link is written that lies on it', () => {
    const host: Host = { flag: true, deny: ['engine_socket'], resolved: { '/run': '/mnt/other' } };
    expect(faultsOf(web('volumes: ["/run:/s"]'), host)).toHaveLength(1);
  });

  it('is denied as the device of a volume', () => {
    const text = `${web('tty: true')}volumes: {v: {driver_opts: {type: none, o: bind, device: /run}}}\n`;
    expect(faultsOf(text, { flag: true, deny: ['engine_socket'] }).length).toBeGreaterThan(0);
    expect(faultsOf(text.replace('/run', '/srv'), { flag: true, deny: ['engine_socket'] })).toEqual([]);
  });
});

describe('a denial', () => {
  it('is told beside the flag that it outlives, and to no other bundle', () => {
    const cure = 'permit it by policy: {permit: {capabilities: ["NET_ADMIN"]}} in config.yaml of the host';
    const text = web('cap_add: [NET_ADMIN]');
    const fault = 'service web: cap_add NET_ADMIN (compose.yaml:1)';
    expect(faultsOf(text, { deny: ['privileged'] })).toEqual([`${fault}: ${cure}`]);
    expect(faultsOf(text, { deny: ['privileged'], flag: true })).toEqual([
      `${fault}: policy.deny: privileged of this host outlives the flags of the bundle, ${cure}`,
    ]);
  });
});

describe('a permitted path', () => {
  const permit = { binds: ['/srv/**'] };

  it('is none below what another service may write to', () => {
    const below = 'is below a directory that a container of the project may write to';
    const two = (modes: string) =>
      `services: {a: {image: x, volumes: ["/srv/d:/d${modes}"]}, b: {image: x, volumes: ["/srv/d/e:/e"]}}\n`;
    expect(faultsOf(two(''), { permit })).toEqual([
      `service b: volumes /srv/d/e is outside the bundle (compose.yaml:1): ${below}`,
    ]);
    expect(faultsOf(two(':ro'), { permit })).toEqual([]);
    expect(faultsOf(web('volumes: ["/srv/d:/d"], cap_add: [NET_ADMIN]'), { permit })).toHaveLength(1);
  });

  it('is named with the service that has it, a network without one', () => {
    const text = `${web('volumes: ["/srv/d:/d:ro"]')}networks: {n: {external: true, name: proxy}}\n`;
    expect(judged(text, { permit: { ...permit, networks: ['proxy'] } }).permitted).toStrictEqual([
      { permit: 'binds', entry: '/srv/d:ro', service: 'web' },
      { permit: 'networks', entry: 'proxy' },
    ]);
  });
});

describe('names on the engine', () => {
  const outside = { containers: new Set(['db']), networks: new Set(['proxy']), volumes: new Set(['media']) };

  it.each([
    `${web('tty: true')}networks: {n: {name: bridge-x}, m: {name: xhost}, o: {name: x-deployd-a}}\n`,
    `${web('tty: true')}volumes: {v: {name: bridge}, w: {name: 0123456789abcdef}, x: {name: x-deployd-a}}\n`,
    web('container_name: x0123456789ab_web'),
    web('container_name: shop, scale: 1'),
    web('container_name: shop, deploy: {replicas: 1}'),
  ])('are allowed: %s', (text) => {
    expect(faultsOf(text, { outside })).toEqual([]);
    expect(faultsOf(text)).toEqual([]);
  });

  it('are powers that a permit grants, where something outside the project has them', () => {
    const text = `${web('tty: true')}networks: {n: {name: proxy}}\nvolumes: {v: {name: media}}\n`;
    expect(faultsOf(text, { outside })).toHaveLength(2);
    expect(judged(text, { outside, permit: { networks: ['proxy'], volumes: ['media'] } })).toEqual({
      permitted: [
        { permit: 'networks', entry: 'proxy' },
        { permit: 'volumes', entry: 'media' },
      ],
      faults: [],
    });
  });
});

it('a subnet that a route of the host has is a privilege', () => {
  const subnet = parseSubnet('10.1.0.0/24')!;
  const parsed = parseComposeFile(
    'compose.yaml',
    `${web('tty: true')}networks: {n: {ipam: {config: [{subnet: 10.1.0.0/16}]}}}\n`,
  );
  const files = 'file' in parsed ? [parsed.file] : [];
  const routes = [{ subnet, cidr: '10.1.0.0/24', device: 'eth0' }];
  expect(judgeComposePolicy(files, { ...contextOf({}), routes }).refusals.flatMap(({ faults = [] }) => faults)).toEqual(
    [
      {
        text: "network n: ipam.config takes addresses of the host's route 10.1.0.0/24 (eth0) (compose.yaml:2)",
        cure: 'leave it out, or set agent.allow_privileged in manifest.json',
      },
    ],
  );
});

it('an image that is not pinned is told what to write', () => {
  expect(faultsOf(web('tty: true'), { images: 'digest' })).toEqual([
    'service web: image is not pinned, as policy.images of this host wants (compose.yaml:1): write IMAGE@sha256:DIGEST, which deployctl bundle import --pin does',
  ]);
});

it('a rendered model tells no entry of a permit, which may be a secret', () => {
  const context = { ...contextOf({}), openedPaths: { all: [], byCompose: [] } };
  const model = { services: { web: { image: 'a', cap_add: ['NET_ADMIN'] } } };
  expect(validateModelPolicy(model, '/release', context)).toMatchObject([
    {
      faults: [
        {
          text: 'service web: cap_add, as compose renders it',
          cure: 'permit it by policy.permit.capabilities in config.yaml of the host',
        },
      ],
    },
  ]);
});

it('two hundred faults are listed, with what to do about the others', () => {
  const many = Array.from({ length: 202 }, (_, at) => `k${at}: 1`).join(', ');
  expect(faultsOf(web(many)).at(-1)).toBe('and 2 more: correct these first');
});

it('a part of a volume is refused where the engine is known to mount the whole', () => {
  const text = web('volumes: [{type: volume, source: data, target: /x, volume: {subpath: a}}]');
  const fault =
    'service web: volumes.volume.subpath is ignored by this engine, which would mount the whole volume (compose.yaml:1): give the service a volume of its own, or the host Docker 26 or newer';
  expect(faultsOf(text, { mountsSubpaths: false })).toEqual([fault]);
  expect([faultsOf(text), faultsOf(text, { mountsSubpaths: true })]).toEqual([[], []]);
});

it('what a variable decides is no power that a permit could name', () => {
  const [fault, ...more] = faultsOf(web('security_opt: ["$V"]'), { permit: { security_opt: ['$V'] } });
  expect(more).toEqual([]);
  expect(fault).toContain('service web: security_opt $V is decided by a variable');
});

it('a volume that is a directory of the host may not have the name of one outside the project', () => {
  const outside = { containers: new Set<string>(), networks: new Set<string>(), volumes: new Set(['media']) };
  const bound = 'driver_opts: {type: none, o: bind, device: /srv/a}';
  const text = `${web('volumes: ["data:/x"]')}volumes: {data: {name: media, ${bound}}}\n`;
  expect(faultsOf(text, { outside, permit: { binds: ['/srv/**'] } })).toEqual([
    expect.stringContaining('volume data: name media is one outside the project'),
  ]);
});
