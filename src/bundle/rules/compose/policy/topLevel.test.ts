import { refusalsOf } from '../../../../../fixtures/corpus/bundleRefusals.ts';

async function findingsOf(line: string) {
  const refusals = await refusalsOf({ compose: `services: {web: {image: app:1}}\n${line}\n`, secrets: ['V'] });
  const ofPolicy = refusals.filter(({ code }) => code !== 'ENV_INCOMPLETE');
  return ofPolicy.flatMap(({ code, detail }) => detail.split('; ').map((finding) => `${code}: ${finding}`));
}

const atLine2 = (code: string, message: string) => [`${code}: ${message} (compose.yaml:2)`];

describe('the top level of a compose file (spec §12)', () => {
  it.each<[string, string]>([
    ['include: a', 'file: include is refused: a bundle names its files in the manifest'],
    ['models: {}', 'file: models is refused: they run outside the project'],
    ['name: "a b"', 'file: name a b must be small letters, digits, "_" and "-"'],
    ['volumes: []', 'file: volumes must be a mapping'],
    ['volumes: {"a b": }', 'file: volumes a b is no name'],
    ['volumes: {"!a": }', 'file: volumes !a is no name'],
    ['volumes: {a: []}', 'volume a: must be a mapping'],
    ['networks: {a: {b: 1}}', 'network a: b is not a known key'],
    ['configs: {c: }', 'config c: must be a mapping'],
    ['secrets: {s: }', 'secret s: must be a mapping'],
    ['configs: {c: {driver: a}}', 'config c: driver is refused: it comes from outside the bundle'],
    ['configs: {c: {template_driver: a}}', 'config c: template_driver is refused: it comes from outside the bundle'],
    ['secrets: {s: {driver_opts: {}}}', 'secret s: driver_opts is refused: it comes from outside the bundle'],
    ['configs: {c: {file: missing}}', 'config c: file missing is not in the bundle'],
    ['configs: {c: {file: conf}}', 'config c: file conf is a directory'],
    ['configs: {c: {file: /etc/a}}', 'config c: file /etc/a is outside the bundle'],
    ['secrets: {s: {file: "${V}"}}', 'secret s: file ${V} is decided by a variable'],
    ...['1A', 'A b', '', 'A!'].map((name): [string, string] => [
      `secrets: {s: {environment: "${name}"}}`,
      `secret s: environment ${name} must be the literal name of a variable`,
    ]),
    ...['true', 'xno', 'nox', '${V}'].map((value): [string, string] => [
      `secrets: {s: {external: "${value}"}}`,
      `secret s: external ${value} must be false, for it would come from outside the bundle`,
    ]),
  ])('refuses %s', async (line, message) => {
    expect(await findingsOf(line)).toEqual(atLine2('COMPOSE_REFUSED', message));
  });

  it.each<[string, string]>([
    ['volumes: {a: {driver: xlocal}}', 'volume a: driver xlocal'],
    ['volumes: {a: {driver: localx}}', 'volume a: driver localx'],
    ['volumes: {a: {driver_opts: {xsize: 1}}}', 'volume a: driver_opts xsize'],
    ['volumes: {a: {driver_opts: {sizex: 1}}}', 'volume a: driver_opts sizex'],
    ['volumes: {a: {driver_opts: {type: nfs}}}', 'volume a: driver_opts.type nfs'],
    ['volumes: {a: {driver_opts: {device: "/etc"}}}', 'volume a: driver_opts.device /etc'],
    ['volumes: {a: {driver_opts: {o: "size=1m,bind"}}}', 'volume a: driver_opts.o bind'],
    ['volumes: {a: {driver_opts: {o: "size=${V}m"}}}', 'volume a: driver_opts.o size=${V}m'],
    [
      'volumes: {a: {driver_opts: {type: none, o: bind, device: /srv}}}',
      'volume a: driver_opts.device /srv is outside the bundle',
    ],
    ['volumes: {a: {external: true}}', 'volume a: external true'],
    ['volumes: {a: {external: {name: b}}}', 'volume a: external true'],
    ['volumes: {a: {name: deployd-eu-1}}', 'volume a: name deployd-eu-1'],
    ['volumes: {a: {name: "deployd-eu-1_a b"}}', 'volume a: name deployd-eu-1_a b'],
    ['volumes: {a: {name: "deployd-eu-1_${V}"}}', 'volume a: name deployd-eu-1_${V}'],
    ['volumes: {a: {name: "b/deployd-eu-1_a"}}', 'volume a: name b/deployd-eu-1_a'],
    ['networks: {a: {driver: xbridge}}', 'network a: driver xbridge'],
    ['networks: {a: {driver: bridgex}}', 'network a: driver bridgex'],
    [
      'networks: {a: {driver_opts: {xcom.docker.network.driver.mtu: 1}}}',
      'network a: driver_opts xcom.docker.network.driver.mtu',
    ],
    [
      'networks: {a: {driver_opts: {com.docker.network.driver.mtux: 1}}}',
      'network a: driver_opts com.docker.network.driver.mtux',
    ],
    ['networks: {a: {ipam: {driver: xdefault}}}', 'network a: ipam.driver xdefault'],
    ['networks: {a: {ipam: {driver: defaultx}}}', 'network a: ipam.driver defaultx'],
    ['networks: {a: {ipam: {options: {b: 1}}}}', 'network a: ipam.options'],
  ])('needs a privilege for %s', async (line, message) => {
    expect(await findingsOf(line)).toEqual(atLine2('PRIVILEGED_REFUSED', message));
  });

  it.each([
    'name: shop',
    'volumes: {a: {name: shop-data}}',
    'name: deployd-eu-1\nversion: "3"\nx-a: {b: [c]}',
    'volumes: {a: {driver: local, driver_opts: {size: 1g}, external: false, labels: [a=b], name: deployd-eu-1_a.b-c}, b: {driver: ""}}',
    'volumes: {a: {driver_opts: {type: tmpfs, device: tmpfs, o: "size=${V},uid=1000,nosuid"}}}',
    'networks: {a: {driver: bridge, driver_opts: {com.docker.network.driver.mtu: 1, com.docker.network.enable_ipv6: "true", com.docker.network.bridge.enable_icc: a}}}',
    'networks: {a: {driver: "", attachable: true, internal: no, enable_ipv6: yes, ipam: {driver: default, config: []}}}',
    'networks: {a: {ipam: {driver: "", options: {}}}}',
    'configs: {c: {content: "a ${V}", external: OFF, labels: {a: b}, name: "${V}"}, d: {file: conf/app.conf}}',
    'secrets: {s: {environment: _aB9}, t: {file: ./tls.pem}}',
  ])('allows %s', async (line) => {
    expect(await findingsOf(line)).toEqual([]);
  });
});
