import { createProgram } from '../../src/deployctl/cli.ts';
import { exits } from '../../src/deployctl/core/ctlError.ts';
import { program } from '../../src/tenancy/cli.ts';
import { configTable } from '../../src/tenancy/config/configKeys.ts';
import type { ConfigPage, ProgramPage } from './manPages.ts';

/** deployd-tenancy(1). */
export const tenancyPage: ProgramPage = {
  program,
  summary: 'tenancy service for fleets of deployd hosts',
  description: `\`deployd-tenancy\` stores environments, hosts and bundles, announces the desired bundle to the agents, and receives
their reports. It signs grants and leases for the secretstore, and has an API for operators, whose client is \`deployctl\`(1).
\`setup\` does all that the first start needs. By hand it takes four steps: write the configuration, \`init\`, \`systemctl
enable --now deployd-tenancy\`, and \`secretstore apply\`. A command that uses the store, started as root, switches to the user of the service.`,
  exits: [
    [0, 'Done; for `secretstore plan`, nothing differs; for `doctor`, all checks passed.'],
    [
      1,
      'Failed, with one line that gives the reason; `secretstore plan`: something differs; `doctor`: a check failed.',
    ],
    [2, '`secretstore`: the secretstore cannot be used, or an operator has to decide.'],
    [78, 'The configuration or the user is wrong.'],
  ],
  environment: [
    ['BAO_TOKEN, VAULT_TOKEN', 'An administrator’s token, for `secretstore` and `doctor` without --token-file.'],
  ],
  files: [
    ['/etc/deployd-tenancy/config.yaml', 'The configuration, see `deployd-tenancy.yaml`(5).'],
    ['/usr/share/doc/deployd-tenancy/examples/config.yaml', 'An example configuration.'],
    ['/var/lib/deployd-tenancy/store.sqlite', 'The embedded store.'],
    ['/var/lib/deployd-tenancy/store.key', 'Encrypts the signing keys in the store; keep a copy apart from backups.'],
    ['/var/lib/deployd-tenancy/bundles', 'Stored bundles, if no bucket is configured.'],
  ],
  examples: [
    ['sudo deployd-tenancy setup https://tenancy.example', 'Set the service up, and start it.'],
    ['sudo deployd-tenancy init', 'Before the first start; prints the administrator’s token.'],
    ['sudo deployd-tenancy secretstore plan --token-file FILE', 'Show what OpenBao or Vault lacks.'],
    ['sudo deployd-tenancy doctor', 'Check the service for problems.'],
    ['journalctl -u deployd-tenancy -o cat', 'The log, in lines of JSON.'],
  ],
  seeAlso: '`deployd-tenancy.yaml`(5), `deployctl`(1), `systemctl`(1), `journalctl`(1)',
};

/** deployd-tenancy.yaml(5), about config.yaml. */
export const tenancyConfigPage: ConfigPage = {
  name: 'deployd-tenancy.yaml',
  summary: 'config.yaml, the configuration of the tenancy service of deployd',
  description: `One YAML 1.2 document: \`true\` and \`false\` are the only booleans, no key is given twice, aliases are not allowed. A key
with a dot is written in a section: \`tls.key_file\` is key_file under tls. The program prints all errors at once, one line
each, and exits 78. The file contains no secrets; it names files that contain them. The service reads these files when it starts.`,
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

/** deployctl(1). */
export const ctlPage: ProgramPage = {
  program: createProgram(() => async () => undefined),
  summary: 'manages bundles, hosts and secrets at a tenancy service of deployd',
  description: `\`deployctl\` is the command line client of the tenancy service, for people and pipelines. \`login\` saves the address and
the token; pipelines set them with options or variables instead. Options take precedence over variables, and variables over
the file. There is no option for the token itself, because the process list would show it.`,
  exits: [
    [exits.done, 'Done.'],
    [exits.failed, 'Refused or failed.'],
    [exits.usage, 'Wrong usage.'],
    [exits.temporary, 'Try again later.'],
    [exits.notPermitted, 'Not permitted.'],
  ],
  environment: [
    ['DEPLOYCTL_URL', 'Address of the tenancy service.'],
    ['DEPLOYCTL_TOKEN_FILE', 'File that contains the token; refused if other users may read it.'],
    ['DEPLOYCTL_CA_FILE', 'Certificate authority of the service; default: the system’s.'],
    ['DEPLOYCTL_KEY_PASSWORD', 'Password of the key for `bundle sign`, without --password-file.'],
    ['SIGSTORE_ID_TOKEN', 'OIDC token for `bundle sign` --keyless, without --identity-token.'],
  ],
  files: [
    ['~/.config/deployctl/config.yaml', 'Address, and paths of the other files. `XDG_CONFIG_HOME` is respected.'],
    ['~/.config/deployctl/token', 'The token that `login` saves, mode 0600.'],
  ],
  examples: [
    ['deployctl login https://tenancy.example <token', 'Log in; save address and token.'],
    ['deployctl push shop.tar.gz', 'Upload a bundle.'],
    ['deployctl promote eu-1 3f2a91bc0d14', 'Deploy it to all hosts of eu-1.'],
    ['deployctl wait eu-1 --timeout 600', 'Wait until all hosts run it.'],
  ],
  seeAlso: '`deployd-tenancy`(1)',
};
