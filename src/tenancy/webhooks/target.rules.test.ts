import { targetFault } from './message.rules.ts';

const key = 'https://events.pagerduty.com/v2/enqueue?routing_key=R0123456789ABCDEF0123456789ABCDE';

it.each([
  ['https://hooks.slack.com/services/T0/B0/x', 'slack', null],
  ['https://[2001:db8::1]:8443/a?b=c', 'standard', null],
  ['http://127.0.0.1:8080/hook', 'standard', null],
  ['http://localhost/hook', 'teams', null],
  ['http://[::1]/hook', 'standard', null],
  [key, 'pagerduty', null],
  ['http://hooks.example/', 'standard', 'it must begin with https://; http:// is allowed to loopback'],
  ['http://127.0.0.1.hooks.example/', 'standard', 'it must begin with https://; http:// is allowed to loopback'],
  ['file:///etc/passwd', 'standard', 'it must begin with https://; http:// is allowed to loopback'],
  ['ftp://127.0.0.1/', 'standard', 'it must begin with https://; http:// is allowed to loopback'],
  ['https://user@hooks.example/', 'standard', 'it must not hold a user or a password'],
  ['https://:pass@hooks.example/', 'standard', 'it must not hold a user or a password'],
  ['https://hooks.example/#a', 'standard', 'it must not hold a fragment'],
  ['hooks.example/a', 'standard', 'it is no URL'],
  ['', 'standard', 'it is no URL'],
  [key.replace(/\?.*/, ''), 'pagerduty', 'it must hold the integration key: ?routing_key=…'],
  [`${key}&x`.replace('R0', 'R-'), 'pagerduty', 'it must hold the integration key: ?routing_key=…'],
] as const)('%s for %s: %s', (url, format, fault) => {
  expect(targetFault(url, format)).toBe(fault);
});
