import {
  type CauseName,
  causePrinted,
  causeSaid,
  causeTold,
  codeOfFailure,
  describeCause,
  failureCauses,
} from './failureCauses.rules.ts';

const id = '3679ce6ae732ce6fdf9903b95b7a3775344651d29275b6ae3b4c2886e5466971';
const daemon = (text: string) => `Error response from daemon: ${text}`;
const oci = (text: string) =>
  daemon(`failed to create shim task: OCI runtime create failed: runc create failed: ${text}`);
const started = (text: string) => oci(`unable to start container process: ${text}`);

/** Messages of engines and compose, from public reports and our own runs. */
const said: [CauseName, string | null, string][] = [
  [
    'port-in-use',
    '80',
    daemon(
      'driver failed programming external connectivity on endpoint web (1f): Bind for 0.0.0.0:80 failed: port is already allocated',
    ),
  ],
  [
    'port-in-use',
    '33012',
    daemon(
      'driver failed programming external connectivity on endpoint web (1f): Error starting userland proxy: listen tcp4 0.0.0.0:33012: bind: address already in use',
    ),
  ],
  [
    'port-in-use',
    '53',
    daemon(
      'Ports are not available: exposing port UDP [::]:53 -> 0.0.0.0:0: listen udp [::]:53: bind: address already in use',
    ),
  ],
  ['port-in-use', '8080', 'Error: rootlessport listen tcp 0.0.0.0:8080: bind: address already in use'],
  [
    'port-denied',
    '80',
    'Error: rootlessport cannot expose privileged port 80, you can add net.ipv4.ip_unprivileged_port_start=80',
  ],
  ['address-in-use', null, daemon('Address already in use')],
  [
    'address-unknown',
    '10.0.0.9:443',
    daemon(
      'driver failed programming external connectivity on endpoint web (1f): Error starting userland proxy: listen tcp4 10.0.0.9:443: bind: cannot assign requested address',
    ),
  ],
  ['network-ambiguous', 'shop_default', daemon('network shop_default is ambiguous (16 matches found on name)')],
  ['network-ambiguous', 'pi_bridge', 'ERROR: 2 matches found based on name: network pi_bridge is ambiguous'],
  ['network-foreign', 'front', 'network front was found but has incorrect label com.docker.compose.network set to ""'],
  ['network-foreign', 'front', daemon('network with name front already exists')],
  ['network-missing', id, daemon(`network ${id} not found`)],
  ['network-missing', 'proxy', 'network proxy declared as external, but could not be found'],
  [
    'subnets-exhausted',
    null,
    'failed to create network shop_default: Error response from daemon: could not find an available, non-overlapping IPv4 address pool among the defaults to assign to the network',
  ],
  ['subnets-exhausted', null, daemon('all predefined address pools have been fully subnetted')],
  ['subnet-overlaps', null, daemon('Pool overlaps with other one on this address space')],
  ['addresses-exhausted', null, daemon("no available IPv4 addresses on this network's address pools: front (1f)")],
  ['endpoint-exists', 'shop-web-1', daemon('endpoint with name shop-web-1 already exists in network shop_default')],
  [
    'removal-in-progress',
    '21136ea8655a',
    daemon(
      'removal of container 21136ea8655aba78b4a259809b256fafd22dbd8cb3c9f94694605a9add7af70a is already in progress',
    ),
  ],
  ['removal-in-progress', null, daemon('container is marked for removal and cannot be started')],
  [
    'removal-failed',
    null,
    daemon(
      `container ${id}: driver "overlay2" failed to remove root filesystem: unlinkat /var/lib/docker/overlay2/1f/merged: device or resource busy`,
    ),
  ],
  [
    'removal-failed',
    null,
    daemon(`Unable to remove filesystem for ${id}: remove /var/lib/docker/containers/1f/shm: device or resource busy`),
  ],
  [
    'kill-failed',
    null,
    daemon('cannot stop container: web: tried to kill container, but did not receive an exit event'),
  ],
  [
    'kill-failed',
    null,
    daemon(
      `Could not kill running container ${id}, cannot remove - tried to kill container, but did not receive an exit event`,
    ),
  ],
  ...['join session keyring: create session key', 'unable to join session keyring: unable to create session key'].map(
    (said): [CauseName, null, string] => [
      'keys-exhausted',
      null,
      daemon(`OCI runtime create failed: ${said}: disk quota exceeded`),
    ],
  ),
  [
    'cgroups-exhausted',
    null,
    daemon(`OCI runtime create failed: mkdir /sys/fs/cgroup/memory/docker/${id}: no space left on device: unknown`),
  ],
  ['watches-exhausted', null, daemon('failed to create fsnotify watcher: no space left on device')],
  [
    'disk-full',
    null,
    'failed to register layer: Error processing tar file(exit status 1): write /app/x: no space left on device',
  ],
  [
    'disk-read-only',
    '/var/lib/docker/containers/1f',
    daemon('mkdir /var/lib/docker/containers/1f: read-only file system'),
  ],
  ['host-exhausted', null, daemon('fork/exec /usr/bin/containerd-shim-runc-v2: resource temporarily unavailable')],
  ['exec-format', '/app/run', started('exec /app/run: exec format error')],
  [
    'program-missing',
    '/no/such/program',
    started('exec: "/no/such/program": stat /no/such/program: no such file or directory: unknown'),
  ],
  ['program-missing', 'serve', started('exec: "serve": executable file not found in $PATH: unknown')],
  ['program-missing', 'serve', 'Error: crun: executable file `serve` not found in $PATH: No such file or directory'],
  ['program-denied', './run.sh', started('exec: "./run.sh": permission denied: unknown')],
  [
    'mount-kind',
    null,
    oci(
      'error mounting "/srv/a" to rootfs at "/etc/a.conf": not a directory: unknown: Are you trying to mount a directory onto a file (or vice-versa)?',
    ),
  ],
  [
    'mount-missing',
    '/srv/data',
    daemon('invalid mount config for type "bind": bind source path does not exist: /srv/data'),
  ],
  ['mount-missing', '/srv/data', 'Error: statfs /srv/data: no such file or directory'],
  ['mount-denied', null, daemon('Mounts denied: The path /srv is not shared from the host')],
  [
    'volume-unmountable',
    null,
    daemon(
      'failed to mount local volume: mount :/export:/var/lib/docker/volumes/a/_data, data: addr=10.0.0.1: connection refused',
    ),
  ],
  ['container-paused', null, daemon('cannot start a paused container, try unpause instead')],
  ['service-missing', 'cfg', 'cannot share volume with service cfg: container missing'],
  ['service-missing', 'init', 'service "app" is missing dependency init'],
  ['volume-in-use', null, daemon('remove shop_data: volume is in use - [1f]')],
  [
    'device-missing',
    '/dev/ttyUSB0',
    daemon('error gathering device information while adding custom device "/dev/ttyUSB0": no such file or directory'),
  ],
  ['device-driver', 'nvidia', daemon('could not select device driver "nvidia" with capabilities: [[gpu]]')],
  ['device-busy', '/dev/sda1', oci('error setting up device /dev/sda1: device or resource busy')],
  ['runtime-missing', 'nope', daemon('Unknown runtime specified nope')],
  ['runtime-missing', 'nope', daemon('unknown or invalid runtime name: nope')],
  ['namespace-gone', null, daemon(`cannot join network of a non running container: ${id}`)],
  ['namespace-gone', null, daemon(`joining network namespace of container: No such container: ${id}`)],
  ['container-exists', null, oci(`container with given ID already exists: unknown`)],
  ['container-exists', null, daemon('mount already exists with name')],
  [
    'log-driver',
    null,
    daemon('failed to initialize logging driver: dial tcp 127.0.0.1:24224: connect: connection refused'),
  ],
  [
    'firewall',
    null,
    daemon(
      'driver failed programming external connectivity on endpoint web (1f):  (iptables failed: iptables --wait -t nat -A DOCKER: iptables: No chain/target/match by that name.',
    ),
  ],
  [
    'kernel-network',
    null,
    daemon(
      'failed to create endpoint web on network bridge: failed to add the host (veth1) <=> sandbox (veth2) pair interfaces: operation not supported',
    ),
  ],
  ['security-profile', null, daemon('AppArmor enabled on system but the docker-default profile could not be loaded')],
  ['cgroup', null, daemon('cgroups: cgroup mountpoint does not exist: unknown')],
  ['registry-limit', null, 'toomanyrequests: You have reached your pull rate limit'],
  [
    'registry-refused',
    null,
    daemon("pull access denied for shop, repository does not exist or may require 'docker login'"),
  ],
  ['image-platform', 'linux/arm64/v8', 'no matching manifest for linux/arm64/v8 in the manifest list entries'],
  [
    'image-unknown',
    'registry.example/app:absent',
    daemon('manifest for registry.example/app:absent not found: manifest unknown: manifest unknown'),
  ],
  [
    'image-unknown',
    'docker.io/library/a:b',
    'failed to resolve reference "docker.io/library/a:b": docker.io/library/a:b: not found',
  ],
  ['registry-untrusted', null, 'Get "https://registry.example/v2/": x509: certificate signed by unknown authority'],
  [
    'network-away',
    'registry.example',
    'Get "https://registry.example/v2/": dial tcp: lookup registry.example on 10.0.0.2:53: no such host',
  ],
  ['network-away', null, 'Get "https://registry.example/v2/": net/http: TLS handshake timeout'],
  ['image-gone', 'shop:1', daemon('No such image: shop:1')],
  ['image-damaged', null, daemon('layer does not exist')],
  ['dependency-failed', null, 'dependency failed to start: container shop-db-1 exited (1)'],
  ['dependency-failed', null, 'service "migrate" didn\'t complete successfully: exit 3'],
  ['storage-driver', null, daemon('error creating overlay2 mount: failed')],
  ['runtime', null, oci('unable to apply cgroup? no: something new')],
];

it.each(said)('%s (%s) is the cause of: %s', (name, what, text) => {
  expect(causeSaid(text)).toEqual({ name, what });
});

it('the first cause of an output is reported, and names of resources are not causes', () => {
  const output = [
    daemon('network shop_default is ambiguous (2 matches found on name)'),
    daemon('Bind for 0.0.0.0:80 failed: port is already allocated'),
  ];
  expect(causeSaid(output.join('\n'))?.name).toBe('network-ambiguous');
  expect(causeSaid(' Container crunch-1  Starting\n Container runc-1  Error failed')).toBeNull();
  expect(causeSaid('all is well')).toBeNull();
});

it.each([
  ['write /app/x: no space left on device', 'DISK_INSUFFICIENT'],
  ['all is well\nwrite /var/lib/docker/tmp/GetImageBlob1: No space left on device\n', 'DISK_INSUFFICIENT'],
  ['mkdir /sys/fs/cgroup/memory/docker/1f: no space left on device', 'PULL_FAILED'],
  ['create session key: disk quota exceeded', 'PULL_FAILED'],
  ['manifest unknown', 'PULL_FAILED'],
])('the failure "%s" has the code %s', (text, code) => {
  expect(codeOfFailure(text, 'PULL_FAILED')).toBe(code);
});

it.each([
  ['exec /app/run: exec format error', 'exec-format'],
  ['exec /run.sh: no such file or directory', 'program-missing'],
  ['mysqld: write failed: No space left on device', 'disk-full'],
  ['Error: listen tcp 0.0.0.0:80: bind: address already in use', null],
  ['dial tcp 10.0.0.1:5432: connect: connection refused', null],
])('a container that printed "%s" is explained by %s', (text, name) => {
  expect(causePrinted(text)?.name ?? null).toBe(name);
});

it('a cause is reported with its culprit and cure, without control characters, and found again in the line', () => {
  const line = `failed: docker compose up failed (rc=1): ${describeCause({ name: 'port-in-use', what: '8\u00070' })}`;
  expect(line).toMatch(/: a port of this host is in use \(8\ufffd0\); find its user with sudo ss -ltnup and stop it/);
  expect(causeTold(line)).toBe('port-in-use');
  expect(causeTold('failed: docker compose up failed (rc=1)')).toBeNull();
});

it('no cause has the text of another one in its own', () => {
  const texts = Object.values(failureCauses).map(({ cause }) => cause);
  expect(texts.filter((one) => texts.some((other) => other !== one && one.includes(other)))).toEqual([]);
});

it('every cause is said by something in the table', () => {
  const untried = Object.keys(failureCauses).filter((name) => !said.some(([each]) => each === name));
  expect(untried).toEqual([]);
});
