import type { FailureCause } from './failureCause.ts';

/** What makes a pull fail, or an image that was pulled. */
export const imageCauses = {
  'registry-limit': {
    cause: 'the registry limits how often this host may pull',
    cure: 'wait, log in to the registry, or use a mirror',
    said: [/toomanyrequests|pull rate limit/i],
  },
  'registry-refused': {
    cause: 'the registry refuses this host',
    cure: 'correct name of the image and registries in the manifest of the bundle',
    said: [/unauthorized:|authentication required|pull access denied|no basic auth credentials|denied: requested/i],
  },
  'image-platform': {
    cause: 'an image does not exist for the processor of this host',
    cure: 'build it for this platform',
    said: [/no matching manifest for (?<what>\S+)|does not match the (?:specified|detected host) platform/i],
  },
  'image-unknown': {
    cause: 'the registry does not have an image',
    cure: 'correct its name and tag, or push it',
    said: [
      /manifest for (?<what>\S+) not found|manifest unknown|repository name not known/i,
      /failed to resolve reference "(?<what>[^"]+)".*: not found/i,
    ],
  },
  'registry-untrusted': {
    cause: 'the certificate of a registry is not trusted',
    cure: 'give its authority to the engine, below certs.d of its configuration',
    said: [/x509:|server gave HTTP response to HTTPS client/i],
  },
  'image-gone': {
    cause: 'an image is gone from this host',
    cure: 'load it (docker load), or promote a bundle again, which pulls it',
    said: [/no such image: (?<what>\S+)/i],
  },
  'image-damaged': {
    cause: 'an image on this host is damaged',
    cure: 'remove it with docker image rm; the next apply pulls it again',
    said: [
      /layer does not exist|failed to register layer|failed to get digest|invalid diffID|error creating overlay mount/i,
    ],
  },
} as const satisfies Record<string, FailureCause>;
