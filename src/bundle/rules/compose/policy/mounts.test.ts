import { refusalsOf, serviceWith } from '../../../../../fixtures/corpus/bundleRefusals.ts';
import { printable } from '../../../../protocol/printable.ts';

async function findingsOf(line: string) {
  const refusals = await refusalsOf({ compose: serviceWith(line), secrets: ['V'] });
  return refusals.flatMap(({ code, detail }) => detail.split('; ').map((finding) => `${code}: ${finding}`));
}

const findings = (code: string, messages: readonly string[]) =>
  messages.map((message) => `${code}: service web: volumes ${message} (compose.yaml:5)`);

describe('mounts of a service (spec §12)', () => {
  it.each<[string, ...string[]]>([
    ['./missing:/x', './missing is not in the bundle'],
    ['.:/x', '. is the release itself, which holds the values of every secret'],
    ['./.env:/x', './.env is the rendered .env, which holds the values of every secret'],
    ['./compose.yaml:/x:ro', './compose.yaml is or holds a compose file, which a container could rewrite'],
    ['relative', 'relative must be SOURCE:/TARGET[:MODE] or /TARGET'],
    ['data:x', 'data:x must be SOURCE:/TARGET[:MODE] or /TARGET'],
    ['data:x/y', 'data:x/y must be SOURCE:/TARGET[:MODE] or /TARGET'],
    ['data:/x:ro:z', 'data:/x:ro:z must be SOURCE:/TARGET[:MODE] or /TARGET'],
    ['/x:', '/x: must be SOURCE:/TARGET[:MODE] or /TARGET'],
    ['V:/x', 'V:/x is a Windows drive to compose'],
    ['-ab:/x', printable('-ab must be the name of a volume, or a path that starts with "./"')],
    ['ab c:/x', printable('ab c must be the name of a volume, or a path that starts with "./"')],
    ['1:/x', printable('1 must be the name of a volume, or a path that starts with "./"')],
    ['data:/x:ro,xz', 'mode xz'],
    ['data:/x:zx,', 'mode zx', 'mode '],
    ['data:/x:rsharedx', 'mode rsharedx'],
    ['data:/x:xslave', 'mode xslave'],
  ])('are refused in the short form: %s', async (mount, ...messages) => {
    expect(await findingsOf(`volumes: [${JSON.stringify(mount)}]`)).toEqual(findings('COMPOSE_REFUSED', messages));
  });

  it.each<[string, ...string[]]>([
    ['/etc:/x', '/etc is outside the bundle'],
    ['~:/x', '~ is outside the bundle'],
    ['./conf/../..:/x', './conf/../.. is outside the bundle'],
    ['./${V}:/x', './${V}:/x is decided by a variable'],
    ['data:/x:shared,rslave,ro', 'mode shared', 'mode rslave'],
  ])('need a privilege in the short form: %s', async (mount, ...messages) => {
    expect(await findingsOf(`volumes: [${JSON.stringify(mount)}]`)).toEqual(findings('PRIVILEGED_REFUSED', messages));
  });

  it.each([
    ...[
      'data:/x',
      'da.ta_-9:/x',
      'data:/x:ro',
      '/anonymous',
      './conf:/x:ro,z',
      'conf:/x:rw,Z,nocopy',
      './conf/app.conf:/x:ro',
    ],
    ...['data:/x:private,rprivate,cached,delegated,consistent'],
  ])('are allowed in the short form: %s', async (mount) => {
    expect(await findingsOf(`volumes: [${JSON.stringify(mount)}]`)).toEqual([]);
  });

  const types = 'bind, volume, tmpfs, npipe, cluster';
  it.each<[string, string, ...string[]]>([
    ['{target: /x}', 'COMPOSE_REFUSED', `type  must be ${types}`],
    ['{type: toString, target: /x}', 'COMPOSE_REFUSED', `type toString must be ${types}`],
    ['{type: volume}', 'COMPOSE_REFUSED', 'lacks target'],
    ['{type: bind}', 'COMPOSE_REFUSED', 'lacks target', 'lacks source'],
    ['{type: npipe, target: /x}', 'PRIVILEGED_REFUSED', 'of type npipe'],
    ['{type: cluster, target: /x}', 'PRIVILEGED_REFUSED', 'of type cluster'],
    ['{type: "${V}", target: /x}', 'PRIVILEGED_REFUSED', 'type ${V}'],
    ['{type: bind, source: "${V}", target: /x}', 'PRIVILEGED_REFUSED', '.source ${V} is decided by a variable'],
    ['{type: tmpfs, target: x}', 'COMPOSE_REFUSED', '.target x must be an absolute path in the container'],
    ['{type: tmpfs, target: x/y}', 'COMPOSE_REFUSED', '.target x/y must be an absolute path in the container'],
    [
      '{type: bind, source: ./conf, target: /x, read_only: true, bind: {selinux: zx}}',
      'COMPOSE_REFUSED',
      '.bind.selinux zx must be z or Z',
    ],
    [
      '{type: bind, source: ./conf, target: /x, read_only: true, bind: {selinux: xz}}',
      'COMPOSE_REFUSED',
      '.bind.selinux xz must be z or Z',
    ],
    [
      '{type: bind, source: ./conf, target: /x, read_only: true, bind: {propagation: xprivate}}',
      'PRIVILEGED_REFUSED',
      '.bind.propagation xprivate',
    ],
    [
      '{type: bind, source: ./conf, target: /x, read_only: true, bind: {propagation: privatex}}',
      'PRIVILEGED_REFUSED',
      '.bind.propagation privatex',
    ],
  ])('are refused in the long form: %s', async (mount, code, ...messages) => {
    const expected = findings(code, messages).map((finding) => finding.replace('volumes .', 'volumes.'));
    expect(await findingsOf(`volumes: [${mount}]`)).toEqual(expected);
  });

  it.each([
    '{type: bind, source: ./conf, target: /x, read_only: true, bind: {propagation: rprivate, create_host_path: false}}',
    '{type: volume, source: data, target: /x, read_only: true, volume: {nocopy: true, labels: [a=b]}, bind: {selinux: z}}',
    '{type: tmpfs, target: /x, consistency: cached, tmpfs: {size: 1m, mode: 0700}}',
    '{type: bind, source: conf, target: "${V}", read_only: yes, bind: {propagation: private, selinux: Z}}',
  ])('are allowed in the long form: %s', async (mount) => {
    expect(await findingsOf(`volumes: [${mount}]`)).toEqual([]);
  });
});

describe('the time of the host', () => {
  it.each([
    '/etc/localtime:/etc/localtime:ro',
    '/etc//timezone:/x:ro,z',
    '{type: bind, source: /etc/localtime, target: /x, read_only: true}',
  ])('may be mounted read-only: %s', async (mount) => {
    expect(await findingsOf(`volumes: [${mount.startsWith('{') ? mount : JSON.stringify(mount)}]`)).toEqual([]);
  });

  it.each([
    ['/etc/localtime:/x', '/etc/localtime is outside the bundle'],
    ['/etc/localtime/../shadow:/x:ro', '/etc/localtime/../shadow is outside the bundle'],
    ['/etc/timezones:/x:ro', '/etc/timezones is outside the bundle'],
    ['/etc/timezone:/x:ro,rslave', 'mode rslave'],
  ])('is a privilege in another way: %s', async (mount, message) => {
    expect(await findingsOf(`volumes: [${JSON.stringify(mount)}]`)).toEqual(findings('PRIVILEGED_REFUSED', [message]));
  });
});

describe('a mount of the bundle that a container may write to', () => {
  it.each([
    ['volumes: ["./conf:/x"]', './conf'],
    ['volumes: ["./conf/app.conf:/x"]', './conf/app.conf'],
    ['volumes: ["./conf/:/x:rw,z"]', './conf/'],
    ['volumes: ["./conf:/x:ro,rw"]', './conf'],
    ['volumes: [{type: bind, source: conf, target: /x}]', 'conf'],
    ['volumes: [{type: bind, source: ./conf, target: /x, read_only: off}]', './conf'],
    ['volumes: ["./conf:/x"]\n    tmpfs: ["/x/cache"]', './conf'],
    ['volumes: ["./conf:/x:ro", "./conf:/y"]', './conf'],
    // compose 2.20 keeps both mounts
    ['volumes: ["./conf:/x", "./conf:/x:ro"]', './conf'],
  ])('is refused: %s', async (lines, source) => {
    expect(await findingsOf(lines)).toEqual([
      `COMPOSE_REFUSED: service web: volumes ${source} is part of the bundle, and the container can write to it (compose.yaml:5)`,
    ]);
  });

  it.each([
    'volumes: ["./app.env:/x:ro", {type: bind, source: app.env, target: /y, read_only: YES}]\n    env_file: app.env',
    'volumes: ["./conf:/x:ro", "./conf/app.conf:/y:z,ro"]',
    'volumes: ["conf:/x", "./conf/app.conf:/y:ro"]',
    'volumes: [{type: bind, source: conf, target: /x, read_only: "${V}"}]',
    'volumes: ["./conf:/x:ro"]\n    tmpfs: ["/x/cache"]',
    'volumes: ["./conf:/x:ro"]\n    volumes_from: ["other:rw"]',
  ])('is none, since it only reads: %s', async (lines) => {
    expect(await findingsOf(lines)).toEqual([]);
  });

  it('is refused with its cures', async () => {
    const compose = serviceWith('volumes: ["./conf:/x", {type: bind, source: ./conf/app.conf, target: /y}]');
    const refusals = await refusalsOf({ compose, allowPrivileged: true });
    expect(refusals.flatMap(({ faults = [] }) => faults.map(({ cure }) => cure))).toEqual([
      'mount it with :ro, or for data write conf for it and name conf under the top-level volumes',
      'set read_only: true, or for data write app.conf for it and name app.conf under the top-level volumes',
    ]);
  });

  it('is judged after the files are merged, and after extends', async () => {
    const base = 'services: {web: {image: app:1, volumes: ["./conf:/x"]}}\n';
    const compose = (volumes: string) => `services: {web: {volumes: ["${volumes}"]}}\n`;
    const codesOf = async (more: string) =>
      (
        await refusalsOf({ compose: base, files: { 'more.yaml': more }, composeFiles: ['compose.yaml', 'more.yaml'] })
      ).map(({ code }) => code);
    expect(await codesOf(compose('./conf:/x:ro'))).toEqual([]);
    expect(await codesOf(compose('./conf:/y:ro'))).toEqual(['COMPOSE_REFUSED']);
    const extending =
      'services: {web: {extends: b, image: a, volumes: ["./conf:/x:ro"]}, b: {image: a, volumes: ["./conf:/x"]}}';
    expect(await refusalsOf({ compose: extending })).toMatchObject([{ code: 'COMPOSE_REFUSED' }]);
  });

  it('is refused as a volume whose device is a path of the bundle', async () => {
    const options = (more: string) => `volumes: {data: {driver_opts: {type: none, ${more}}}}`;
    const compose = (more: string) => `services: {web: {image: a, volumes: ["data:/x"]}}\n${options(more)}\n`;
    const codesOf = async (more: string) =>
      (await refusalsOf({ compose: compose(more), allowPrivileged: true })).map(({ code }) => code);
    expect(await codesOf('o: bind, device: ./conf')).toEqual(['COMPOSE_REFUSED']);
    expect(await codesOf('o: "ro,rbind", device: conf')).toEqual(['COMPOSE_REFUSED']);
    expect(await codesOf('o: bind, device: /srv')).toEqual([]);
  });
});

describe('tmpfs of a service', () => {
  it.each<[string, ...string[]]>([
    ['a', 'a is not /PATH[:OPTIONS]'],
    ['a/b', 'a/b is not /PATH[:OPTIONS]'],
    ['/a:rw:x', '/a:rw:x is not /PATH[:OPTIONS]'],
    ['/${V}', '/${V}'],
    ['/a:suid,dev,rw', 'suid', 'dev'],
    ['/a:xro,rox,size=,size=1!', 'xro', 'rox', 'size=', 'size=1!'],
    ['/a:mode=${V}', 'mode=${V}'],
    ['/a:size=${V}m,xsize=${V}', 'size=${V}m', 'xsize=${V}'],
  ])('needs a privilege: %s', async (mount, ...messages) => {
    const expected = findings('PRIVILEGED_REFUSED', messages).map((one) => one.replace('volumes', 'tmpfs'));
    expect(await findingsOf(`tmpfs: ${JSON.stringify(mount)}`)).toEqual(expected);
    expect(await findingsOf(`tmpfs: [${JSON.stringify(mount)}]`)).toEqual(expected);
  });

  it.each(['/a', '/a:', '/a:ro,noexec,size=64m,,mode=1777', '/a:size=${V},ro', '/a:ro,size=${V:-64m}', '/a:size=$V'])(
    'is allowed: %s',
    async (mount) => {
      expect(await findingsOf(`tmpfs: ${JSON.stringify(mount)}`)).toEqual([]);
    },
  );
});
