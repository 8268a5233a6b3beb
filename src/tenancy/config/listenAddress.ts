import { portPattern, textLike } from '../../config/valueTypes.ts';

/** An IP address or `localhost`, and a port. */
export const listenAddress = textLike(
  `^(localhost|(\\d{1,3}\\.){3}\\d{1,3}|\\[[0-9a-fA-F:.]+\\]):${portPattern}$`,
  'an IP address and a port, such as 127.0.0.1:8443 or [::]:443',
);

/** The parts of such an address; `host` is without brackets. */
export function parseListenAddress(listen: string): { host: string; port: number } {
  const colon = listen.lastIndexOf(':');
  return { host: listen.slice(0, colon).replace(/^\[(.*)\]$/, '$1'), port: Number(listen.slice(colon + 1)) };
}
