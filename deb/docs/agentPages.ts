import { endings, commandEndings } from '../../machines/endings.ts';
import { program } from '../../src/agent/cli.ts';
import { configTable } from '../../src/agent/config/configKeys.ts';
import type { ConfigPage, ProgramPage } from './manPages.ts';

/** deployd(1); exit codes come from the table of endings. */
export const agentPage: ProgramPage = {
  program,
  summary: 'converges a container host to the bundle that its tenancy service announces',
  description: `\`deployd\` runs on a container host. Each tick asks the tenancy service what should run here and makes it so: it
downloads and verifies the bundle, refuses what is not allowed, reads the secrets, and brings the release up with compose.
The unit \`deployd.timer\` starts a tick 60 to 70 seconds after the end of the last one; the package itself enables nothing.`,
  exits: exitsOf(Object.entries({ ...endings, ...commandEndings })),
  files: [
    ['/etc/deployd/config.yaml', 'The configuration, see `deployd.yaml`(5).'],
    ['/etc/deployd/bootstrap.jwt', 'The bootstrap grant; it is there only until the first login.'],
    ['/var/lib/deployd/store.token', 'The secretstore token, the only credential that is kept.'],
    ['/var/lib/deployd/state.json', 'What is applied, and how the last tick ended.'],
    ['/var/lib/deployd/hold.json', 'The hold of an operator, while there is one.'],
    ['/var/lib/deployd/history.jsonl', 'What happened on this host (deployd history).'],
    ['/var/lib/deployd/<env>/current', 'The release in force.'],
  ],
  examples: [
    ['deployd status', 'Is this host in sync?'],
    ['sudo deployd run --once', 'One tick now.'],
    ['sudo deployd bootstrap', 'After a new grant was put in place.'],
    ['journalctl -u deployd', 'What the ticks did.'],
  ],
  seeAlso: '`deployd.yaml`(5), `systemctl`(1), `journalctl`(1)',
};

/** deployd.yaml(5), about config.yaml. */
export const agentConfigPage: ConfigPage = {
  name: 'deployd.yaml',
  summary: 'config.yaml, the configuration of the deploy agent deployd',
  description: `One YAML 1.2 document: \`true\` and \`false\` are the only booleans, no key is given twice, aliases are not allowed. A key
with a dot stands in a section: \`disk.headroom_bytes\` is written as headroom_bytes under disk. Everything that is wrong is
told at once, one line each, and the agent exits 78. The file holds no secret, and no environment variable changes what
the agent does.`,
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
