import { commandsOfEnv } from './commandsOfEnv.ts';

it.each([
  ['sudo deployd run --once', 'sudo deployd --env shop-eu run --once'],
  ['deployd.timer is masked', 'deployd@shop-eu.timer is masked'],
  ['journalctl -u deployd.service | grep x', 'journalctl -u deployd@shop-eu.service | grep x'],
  [
    'install -o deployd -g deployd A && sudo deployd bootstrap',
    'install -o deployd -g deployd A && sudo deployd --env shop-eu bootstrap',
  ],
  ['deployd cannot read /etc/deployd/x', 'deployd cannot read /etc/deployd/x'],
  ['deployd-proxy.service', 'deployd-proxy.service'],
])('names the command or unit of a named env: %s', (text, named) => {
  expect(commandsOfEnv(text, 'shop-eu')).toBe(named);
  expect(commandsOfEnv(text, null)).toBe(text);
});
