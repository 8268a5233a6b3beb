import { keyTableOf, required } from '../../core/config/keyTable.ts';
import { trustBy } from '../../core/config/sharedKeys.ts';
import { anyPath } from '../../core/config/valueTypes.ts';

const { schema, allowed } = trustBy(anyPath);

/** The key of a trust file, that of config.yaml of a host; its paths may be relative to the file. */
export const trustTable = keyTableOf({
  'trust.bundles': required(
    { schema: { ...schema, nullable: false }, allowed },
    'Signers that hosts require for bundles.',
  ),
});
