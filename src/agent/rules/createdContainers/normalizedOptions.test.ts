import { normalizeCapability, normalizeSecurityOption } from './normalizedOptions.ts';

it.each([
  ['cap_net_admin', 'NET_ADMIN'],
  ['NET_ADMIN', 'NET_ADMIN'],
  ['all', 'ALL'],
  ['NET_CAP_X', 'NET_CAP_X'],
])('the capability %s is %s', (name, normalized) => {
  expect(normalizeCapability(name)).toBe(normalized);
});

it.each([
  ['no-new-privileges', 'no-new-privileges'],
  ['no-new-privileges:true', 'no-new-privileges'],
  ['no-new-privileges=false', 'no-new-privileges=false'],
  ['seccomp:unconfined', 'seccomp=unconfined'],
  ['seccomp=builtin', 'seccomp=builtin'],
  ['seccomp', 'seccomp=profile'],
  ['seccomp=./unconfined', 'seccomp=profile'],
  ['seccomp=unconfined.json', 'seccomp=profile'],
  ['seccomp={\n"a": "b=c"}', 'seccomp=profile'],
  ['label:user:x', 'label=user:x'],
  ['label=a\nb', 'label=a\nb'],
  ['apparmor', 'apparmor='],
])('the security option %j is %j', (option, normalized) => {
  expect(normalizeSecurityOption(option)).toBe(normalized);
});
