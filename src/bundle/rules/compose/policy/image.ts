import { refuseWithoutValue } from './finding.ts';
import { textValidator } from './validators.ts';

/** `image`: pinned by its sha256 where the host says so. A variable is judged when compose has rendered it. */
export const image = textValidator((reference, value, location) => {
  const { host, rendered } = location.facts;
  const isDecidedLater = rendered === undefined && reference.includes('$');
  if (host.policy.images === 'any' || isDecidedLater || /@sha256:[0-9a-f]{64}$/.test(reference)) return [];
  return refuseWithoutValue(value, location, { message: 'is not pinned, as policy.images of this host wants', cure });
});

const cure = 'write IMAGE@sha256:DIGEST, which deployctl bundle import --pin does';
