import { keyTableOf, required } from '../../config/keyTable.ts';
import { trustBy } from '../../config/trustType.ts';
import { anyPath } from '../../config/valueTypes.ts';

const { schema, allowed } = trustBy(anyPath);

/** The key of a trust file, that of config.yaml of a host; its paths may be relative to the file. */
export const trustTable = keyTableOf({
  'trust.bundles': required(
    { schema: { ...schema, nullable: false }, allowed },
    'Whose signatures hosts demand of a bundle.',
  ),
});
