import { textOf, valueAt, type ComposeNode } from '../document/composeNode.ts';
import { nodesAt, type KeyGap } from '../effect/keyGap.ts';

/** A port of which the address or the range matters: the parts of its short or long form. */
function publishedAt(port: ComposeNode): { hasAddress: boolean; published: string; target: string } {
  if (port.kind === 'map') {
    const at = (key: string) => textOf(valueAt(port, key)) ?? '';
    return { hasAddress: at('host_ip') !== '', published: at('published'), target: at('target') };
  }
  const written = (textOf(port) ?? '').replace(/\$\{[^}]*\}/g, '$').replace(/\/\w*$/, '');
  const [target = '', published = '', ...address] = written.split(':').toReversed();
  return { hasAddress: address.length > 0, published, target };
}

const portGap =
  (isRefused: (port: ReturnType<typeof publishedAt>) => boolean): KeyGap['find'] =>
  (service) =>
    nodesAt(service, ['ports[]']).filter((port) => isRefused(publishedAt(port)));

/** A port that one address of the host would have. */
export const withoutHostIp: KeyGap = {
  key: 'ports[].host_ip',
  why: 'a swarm publishes on every address of its nodes',
  cure: 'leave the address out, or let a firewall keep others away',
  example: 'ports: ["127.0.0.1:80:80"]',
  find: portGap(({ hasAddress }) => hasAddress),
};

/** A range out of which compose would take one port. */
export const publishedRange: KeyGap = {
  key: 'ports[].published',
  why: 'a swarm publishes one port, not one of a range',
  cure: 'write one port',
  example: 'ports: ["8000-8010:80"]',
  find: portGap(({ published, target }) => published.includes('-') && !target.includes('-')),
};
