import { program } from '../../src/tenancy/cli.ts';
import { configTable } from '../../src/tenancy/config/configKeys.ts';
import type { ConfigPage, ProgramPage } from './manPages.ts';

/** deployd-tenancy(1). */
export const tenancyPage: ProgramPage = {
  program,
  summary: 'tells container hosts what to run',
  description: `\`deployd-tenancy\` is the service behind the agents of deployd: it keeps envs, backends and bundles, signs grants and
leases for the secretstore, receives the reports of hosts, and has an API for operators, whose client is \`deployctl\`(1). Its
first start takes four steps: write the configuration, \`init\`, \`systemctl enable --now deployd-tenancy\`, and
\`secretstore apply\`. Started as root, a command that uses the store becomes the user of the service.`,
  exits: [
    [0, 'Done; for `secretstore plan`, nothing differs; for `doctor`, all checks passed.'],
    [1, 'Failed, with one line that says why; `secretstore plan`: something differs; `doctor`: something is wrong.'],
    [2, '`secretstore`: it cannot be used, or an operator has to decide.'],
    [78, 'The configuration is wrong, or the user.'],
  ],
  environment: [
    ['BAO_TOKEN, VAULT_TOKEN', 'An administrator’s token, for `secretstore` and `doctor` without --token-file.'],
  ],
  files: [
    ['/etc/deployd-tenancy/config.yaml', 'The configuration, see `deployd-tenancy.yaml`(5).'],
    ['/usr/share/doc/deployd-tenancy/examples/config.yaml', 'One to begin with.'],
    ['/var/lib/deployd-tenancy/store.sqlite', 'The embedded store.'],
    ['/var/lib/deployd-tenancy/store.key', 'Encrypts the signing keys in the store; keep a copy apart from backups.'],
    ['/var/lib/deployd-tenancy/bundles', 'Bundles that are not in a bucket.'],
  ],
  examples: [
    ['sudo deployd-tenancy init', 'Before the first start; prints the administrator’s token.'],
    ['sudo deployd-tenancy secretstore plan --token-file FILE', 'What differs at OpenBao or Vault?'],
    ['sudo deployd-tenancy doctor', 'What is missing or wrong?'],
    ['journalctl -u deployd-tenancy -o cat', 'The log, in lines of JSON.'],
  ],
  seeAlso: '`deployd-tenancy.yaml`(5), `deployctl`(1), `systemctl`(1), `journalctl`(1)',
};

/** deployd-tenancy.yaml(5), about config.yaml. */
export const tenancyConfigPage: ConfigPage = {
  name: 'deployd-tenancy.yaml',
  summary: 'config.yaml, the configuration of the tenancy service of deployd',
  description: `One YAML 1.2 document: \`true\` and \`false\` are the only booleans, no key is given twice, aliases are not allowed. A key
with a dot stands in a section: \`tls.key_file\` is written as key_file under tls. Everything that is wrong is told at once, one
line each, and the program exits 78. The file holds no secret: it names files that do, which are read when the service starts.`,
  table: configTable,
  example: `public_url: https://tenancy.example
listen: '[::]:443'
tls:
  certificate_file: /etc/deployd-tenancy/tls/certificate.pem
  key_file: /etc/deployd-tenancy/tls/key.pem
secretstore_url: https://secretstore.example:8200`,
  file: ['/etc/deployd-tenancy/config.yaml', 'Owned by root and group deployd-tenancy, mode 0640.'],
  seeAlso: '`deployd-tenancy`(1)',
};
