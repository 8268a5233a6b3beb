import { endings, commandEndings } from '../../machines/endings.ts';
import { program } from '../../src/agent/cli.ts';
import { configTable } from '../../src/agent/config/configKeys.ts';
import type { ConfigPage, ProgramPage } from './manPages.ts';

/** deployd(1); exit codes come from the table of endings. */
export const agentPage: ProgramPage = {
  program,
  summary: 'runs the bundle that the tenancy service announces to this host',
  description: `\`deployd\` runs on a container host. Each run (tick) asks the tenancy service which bundle this host should run. It
downloads and verifies a new bundle, refuses it if the host does not permit it, reads the secrets, and starts the release
with compose. The unit \`deployd.timer\` starts a tick 60 to 70 seconds after the end of the previous one. The package itself
enables nothing.`,
  exits: exitsOf(Object.entries({ ...endings, ...commandEndings })),
  files: [
    ['/etc/deployd/config.yaml', 'The configuration, see `deployd.yaml`(5).'],
    ['/etc/deployd/bootstrap.jwt', 'The bootstrap grant; removed after the first login.'],
    ['/var/lib/deployd/store.token', 'The secretstore token, the only stored credential.'],
    ['/var/lib/deployd/state.json', 'The applied bundle, and the outcome of the last tick.'],
    ['/var/lib/deployd/hold.json', 'The current hold, if there is one.'],
    ['/var/lib/deployd/history.jsonl', 'Releases, failures and holds of this host (`deployd history`).'],
    ['/var/lib/deployd/<env>/current', 'The current release.'],
  ],
  examples: [
    ['deployd status', 'Check whether this host is in sync.'],
    ['sudo deployd run --once', 'Run one tick now.'],
    ['sudo deployd bootstrap', 'Use a new bootstrap grant.'],
    ['journalctl -u deployd', 'Show the log of the agent.'],
  ],
  seeAlso: '`deployd.yaml`(5), `systemctl`(1), `journalctl`(1)',
};

/** deployd.yaml(5), about config.yaml. */
export const agentConfigPage: ConfigPage = {
  name: 'deployd.yaml',
  summary: 'config.yaml, the configuration of the deploy agent deployd',
  description: `One YAML 1.2 document: \`true\` and \`false\` are the only booleans, no key may occur twice, aliases are not allowed. A dot
in a key means a section: \`disk.headroom_bytes\` is written as headroom_bytes under disk. The agent prints all errors at once,
one line each, and exits 78. The file contains no secrets, and no environment variable changes the behaviour of the agent.`,
  table: configTable,
  example: `env: eu-1
site: berlin
transport: proxy
tenancy_url: https://tenancy.deploy
secretstore_url: https://secretstore
disk:
  headroom_bytes: 4294967296`,
  file: ['/etc/deployd/config.yaml', 'Owned by root and group deployd, mode 0640.'],
  seeAlso: '`deployd`(1)',
};

function exitsOf(all: [string, (typeof endings)[keyof typeof endings]][]): ProgramPage['exits'] {
  const codes = [...new Set(all.map(([, { meta }]) => meta.exit))].sort((a, b) => a - b);
  return codes.map((code) => {
    const meanings = all.filter(([, { meta }]) => meta.exit === code);
    return [code, ...meanings.map(([name, { description: meaning }]) => `${name}: ${meaning}`)];
  });
}
