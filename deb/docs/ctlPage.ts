import { createProgram } from '../../src/deployctl/cli.ts';
import { exits } from '../../src/deployctl/core/ctlError.ts';
import type { ProgramPage } from './manPages.ts';

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
