import { defaultPolicy, type Denial, type HostPolicy } from '../../../../protocol/hostPolicy.ts';
import type { Finding } from './finding.ts';
import { judge } from './judge.ts';
import { defaultEngineSockets } from './policyHost.ts';
import type { Power } from './power.ts';

const finding = (power?: Power, code: Finding['code'] = 'PRIVILEGED_REFUSED'): Finding => {
  return { code, text: 'x', cure: 'permit it', ...(power && { power }) };
};
const cap = finding({ permit: 'capabilities', entry: 'NET_ADMIN' });
const flagOnly = finding();
const hostNetwork = finding({ permit: 'host_network', entry: 'web' }, 'HOST_NETWORK_REFUSED');
const socket = finding({ permit: 'engine_socket', entry: 'traefik' });
const run = finding({ permit: 'binds', entry: '/run', isWritable: true });
const device = { ...finding(), hostPath: '/run/docker.sock' };
const invalid = finding(undefined, 'COMPOSE_REFUSED');

function cures(one: Finding, { flag = false, ...policy }: Partial<HostPolicy> & { flag?: boolean } = {}) {
  const host = { policy: { ...defaultPolicy, ...policy }, engineSockets: defaultEngineSockets, paths: null };
  const agent = { allow_privileged: flag, allow_rollback: false };
  const { refusals } = judge([one], { agent, host });
  return refusals.flatMap(({ faults = [] }) => faults.map(({ cure }) => cure));
}

const protectedCure = 'belongs to deployd or to the container engine, or holds what does: no permit reaches it';

it.each([cap, flagOnly, hostNetwork, socket, run, device, invalid])('%j is refused without flag and policy', (one) => {
  expect(cures(one)).toEqual([one === run ? protectedCure : 'permit it']);
});

it.each([cap, flagOnly, hostNetwork, socket, run, device])('the flag lifts %j', (one) => {
  expect(cures(one, { flag: true })).toEqual([]);
});

it('nothing lifts what is no privilege', () => {
  expect(cures(invalid, { flag: true, permit: { privileged: ['web'] } })).toEqual(['permit it']);
});

it.each<[Finding, Denial, boolean]>([
  [cap, 'privileged', true],
  [flagOnly, 'privileged', true],
  [hostNetwork, 'privileged', false],
  [hostNetwork, 'host_network', true],
  [socket, 'engine_socket', true],
  [socket, 'privileged', true],
  [run, 'engine_socket', true],
  [device, 'engine_socket', true],
  [{ ...device, hostPath: '/srv' }, 'engine_socket', false],
  [cap, 'engine_socket', false],
  [cap, 'rollback', false],
  [cap, 'purge', false],
])('the flag and %j: a denial of %s outlives it: %j', (one, denial, isRefused) => {
  const cure = `policy.deny: ${denial} of this host outlives the flags of the bundle, ${one === run ? protectedCure : 'permit it'}`;
  expect(cures(one, { flag: true, deny: [denial] })).toEqual(isRefused ? [cure] : []);
});

it.each<[Finding, HostPolicy['permit'], boolean]>([
  [cap, { capabilities: ['NET_ADMIN'] }, true],
  [finding({ permit: 'capabilities', entry: 'cap_net_admin' }), { capabilities: ['NET_ADMIN'] }, true],
  [cap, { capabilities: ['NET_ADMI', 'SYS_ADMIN'] }, false],
  [hostNetwork, { host_network: ['web'] }, true],
  [hostNetwork, { host_network: ['db'], privileged: ['web'] }, false],
  [socket, { engine_socket: ['traefik'] }, true],
  [socket, { binds: ['/run/**'] }, false],
  [finding({ permit: 'devices', entry: '/dev/ttyUSB0' }), { devices: ['/dev/ttyUSB*'] }, true],
  [finding({ permit: 'devices', entry: '/dev/ttyUSB0/x' }), { devices: ['/dev/ttyUSB*'] }, false],
  [finding({ permit: 'security_opt', entry: 'apparmor=unconfined' }), { security_opt: ['apparmor:unconfined'] }, true],
  [finding({ permit: 'security_opt', entry: 'apparmor=unconfined' }), { security_opt: ['apparmor=x'] }, false],
  [finding({ permit: 'capabilities', entry: 'XCAP_A' }), { capabilities: ['XA'] }, false],
])('%j is permitted by %j: %j, whatever is denied to flags', (one, permit, isPermitted) => {
  expect(cures(one, { permit, deny: ['privileged', 'host_network', 'engine_socket'] })).toHaveLength(
    isPermitted ? 0 : 1,
  );
});

it('names once what only the policy lets through', () => {
  const policy = { ...defaultPolicy, permit: { capabilities: ['NET_ADMIN'], binds: ['/srv/**'] } };
  const host = { policy, engineSockets: defaultEngineSockets, paths: null };
  const ofWeb = finding({ permit: 'capabilities', entry: 'NET_ADMIN', service: 'web' });
  const bind = finding({ permit: 'binds', entry: '/srv/a', isWritable: false, service: 'web' });
  const findings = [cap, ofWeb, ofWeb, bind, socket];
  const agent = { allow_privileged: false, allow_rollback: false };
  expect(judge(findings, { agent, host }).permitted).toStrictEqual([
    { permit: 'capabilities', entry: 'NET_ADMIN' },
    { permit: 'capabilities', entry: 'NET_ADMIN', service: 'web' },
    { permit: 'binds', entry: '/srv/a:ro', service: 'web' },
  ]);
  expect(judge(findings, { agent: { ...agent, allow_privileged: true }, host }).permitted).toEqual([]);
});
