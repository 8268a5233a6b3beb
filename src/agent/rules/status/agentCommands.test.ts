import { withCommandsOf } from './agentCommands.ts';

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
  expect(withCommandsOf({ env: 'shop-eu' }, text)).toBe(named);
  expect(withCommandsOf('plain', text)).toBe(text);
});

it.each([
  ['sudo deployd run --once', 'deployd --user run --once'],
  ['sudo systemctl enable --now deployd.timer', 'systemctl --user enable --now deployd.timer'],
  ['journalctl -u deployd.service | grep x', 'journalctl --user -u deployd.service | grep x'],
  ['sudo systemctl restart podman.socket', 'systemctl --user restart podman.socket'],
  ['sudo chmod 640 /home/ann/x', 'chmod 640 /home/ann/x'],
  ['sudoedit /home/ann/x', '${EDITOR:-vi} /home/ann/x'],
  ['sudo install -o ann X Y && sudo deployd bootstrap', 'install -o ann X Y && deployd --user bootstrap'],
  ['sudo docker system prune', 'podman system prune'],
  ['sudo systemctl enable --now deployd-identity-acl.path', 'sudo systemctl enable --now deployd-identity-acl.path'],
  ['sudo loginctl enable-linger ann', 'sudo loginctl enable-linger ann'],
  ['sudo apt-get install docker-compose-plugin', 'sudo apt-get install docker-compose-plugin'],
  ['deployd.timer is masked', 'deployd.timer is masked'],
])("names the command of a user's agent: %s", (text, named) => {
  expect(withCommandsOf('user', text)).toBe(named);
});
