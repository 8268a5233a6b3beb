import { createProgram } from '../../src/deployctl/cli.ts';
import { exits } from '../../src/deployctl/core/ctlError.ts';
import type { ProgramPage } from './manPages.ts';

/** deployctl(1). */
export const ctlPage: ProgramPage = {
  program: createProgram(() => async () => undefined),
  summary: 'tells a tenancy service what its hosts are to run',
  description: `\`deployctl\` is what people and pipelines use of a tenancy service of deployd. \`login\` keeps address and token; a pipeline
names them by options or variables instead. An option wins over a variable, a variable over the file. A token is never an
option: the list of processes would show it.`,
  exits: [
    [exits.done, 'Done.'],
    [exits.failed, 'Refused or failed.'],
    [exits.usage, 'Wrong usage.'],
    [exits.temporary, 'Try again later.'],
    [exits.notPermitted, 'Not permitted.'],
  ],
  environment: [
    ['DEPLOYCTL_URL', 'Address of the tenancy service.'],
    ['DEPLOYCTL_TOKEN_FILE', 'File of the token; refused where others may read it.'],
    ['DEPLOYCTL_CA_FILE', 'Authority of the service; without it, the system’s.'],
    ['DEPLOYCTL_KEY_PASSWORD', 'Password of the key of `bundle sign`, without --password-file.'],
    ['SIGSTORE_ID_TOKEN', 'OIDC token of whoever signs by `bundle sign` --keyless, without --identity-token.'],
  ],
  files: [
    ['~/.config/deployctl/config.yaml', 'Address, and the names of the other files; XDG_CONFIG_HOME is heeded.'],
    ['~/.config/deployctl/token', 'The token that `login` keeps, mode 0600.'],
  ],
  examples: [
    ['deployctl login https://tenancy.example <token', 'Keep address and token.'],
    ['deployctl push shop.tar.gz', 'Give a bundle to the service.'],
    ['deployctl promote eu-1 3f2a91bc0d14', 'Its hosts are to run it.'],
    ['deployctl wait eu-1 --timeout 600', 'Until they do.'],
  ],
  seeAlso: '`deployd-tenancy`(1)',
};
