import { expectImport, resultOf, type ExpectedImport } from '../../../../fixtures/import/importing.ts';
import type { ImportChoices } from './importReport.ts';

describe('what a host does not do', () => {
  it.each<[string, string, ExpectedImport, Partial<ImportChoices>?]>([
    [
      'a build is left out where there is an image',
      '{image: x, build: .}',
      { a: { image: 'x' }, changes: [/build: is left out; push the image x/] },
    ],
    ['a build without an image is left open', '{build: .}', { a: { build: '.' }, undecided: [/--image a=REFERENCE/] }],
    ['an image can be chosen', '{build: .}', { a: { image: 'r/x:1' } }, { images: new Map([['a', 'r/x:1']]) }],
    ['empty profiles are left out', '{image: x, profiles: ["", p]}', { a: { image: 'x', profiles: ['p'] } }],
    [
      'keys without a value are left out, but for those that compose lets be null',
      '{image: x, environment: , ports: ~, command: }',
      { a: { image: 'x', command: null }, changes: [/environment: is left out/, /ports: is left out/] },
    ],
    [
      'logs stay on the host',
      '{image: x, logging: {driver: syslog, options: {syslog-address: "tcp://log:514"}}}',
      { a: { image: 'x' }, changes: [/^service a: logging: the driver syslog is left out$/] },
    ],
    [
      'as those of a driver of the host do',
      '{image: x, logging: {driver: journald, options: {tag: t}}}',
      { a: { image: 'x', logging: { driver: 'journald', options: { tag: 't' } } } },
    ],
    [
      'nobody waits for more than five minutes',
      '{image: x, stop_grace_period: 1h}',
      { a: { stop_grace_period: '300s' }, changes: [/stop_grace_period: 1h is 300s now/] },
    ],
    [
      'a container of the project is joined by its service',
      '{image: x, network_mode: "container:vpn", pid: "container:other"}, b: {image: x, container_name: vpn}',
      { a: { network_mode: 'service:b', pid: 'container:other' }, changes: [/container:vpn is written as service:b/] },
    ],
  ])('%s', (_, service, expected, choices = {}) => {
    expectImport([service, {}], expected, choices);
  });

  it('has no network of a swarm', () => {
    const networks =
      'networks: {n: {driver: overlay, driver_opts: {encrypted: ""}, attachable: true}, m: {driver: bridge}}';
    const found = resultOf({ 'compose.yaml': `services: {a: {image: x}}\n${networks}\n` });
    expect(found.top).toEqual({ networks: { n: { attachable: true }, m: { driver: 'bridge' } } });
    expect(found.changes).toEqual(['network n: driver: overlay is left out']);
  });

  it('names no bridge of the host', () => {
    const [named, mtu] = ['com.docker.network.bridge.name', 'com.docker.network.driver.mtu'];
    const networks = `networks: {n: {driver_opts: {${named}: br0}}, m: {driver_opts: {${named}: br1, ${mtu}: 1400}}}`;
    const found = resultOf({ 'compose.yaml': `services: {a: {image: x}}\n${networks}\n` });
    expect(found.top).toEqual({ networks: { n: {}, m: { driver_opts: { [mtu]: 1400 } } } });
    expect(found.changes).toContain(`network n: driver_opts: ${named} is left out`);
  });

  it('joins the network of its project instead of the bridge that all share', () => {
    expectImport(['{image: x, network_mode: bridge}', {}], {
      a: { image: 'x' },
      changes: [/^service a: network_mode: bridge is left out$/],
    });
  });

  it('reads secrets from the secretstore, and brings configs along', () => {
    const sections =
      'configs: {c: {file: c.conf}, k: {file: k.pem}, e: {external: true}}\nsecrets: {s: {file: s.txt}, t: {external: true, name: n}}\n';
    const files = { 'c.conf': 'x', 'k.pem': '-----BEGIN RSA PRIVATE KEY-----', 's.txt': 'hunter2' };
    const found = resultOf({ 'compose.yaml': `services: {a: {image: x}}\n${sections}`, ...files });
    expect(found).toMatchObject({
      top: {
        configs: { c: { file: 'c.conf' }, k: { environment: 'K' }, e: { external: true } },
        secrets: { s: { environment: 'S' }, t: { environment: 'T' } },
      },
      ...{ secrets: ['K', 'S', 'T'], copies: ['c.conf'] },
    });
    expect(found.undecided).toEqual([expect.stringContaining('config e: file: comes from outside the project')]);
  });
});
