import { printable } from '../../../protocol/printable.ts';
import { refuse } from './finding.ts';
import { either, keys, list, onText, text } from './shapes.ts';
import { at, textOf, type Tree } from './tree.ts';

/** How many ports an entry of `ports` or `expose` stands for, once compose has expanded its ranges. */
export function portsOf(entry: Tree): number {
  const written = [entry, at(entry, 'target'), at(entry, 'published')].flatMap((one) => textOf(one) ?? []);
  const ranges = written.flatMap((one) => [...one.matchAll(/(?<!\d)(\d+)-(\d+)/g)]);
  return Math.max(1, ...ranges.map(([, first, last]) => Number(last) - Number(first) + 1));
}

/** Ports that are written out behind an address, which no variable of the address can change. */
const behindAddress = /:[\d-]+:[\d-]+(?:\/\w+)?$/;

/** A port or a range of them; compose expands a range before anybody could judge what a variable made of it. */
const portText = onText((written, value, place) => {
  const filledIn = written.replace(/(\$\{\w+):?(\?[^}]*|[-+])/g, '$1');
  const isOpen = written.includes('$') && filledIn.includes('-') && !behindAddress.test(written);
  return isOpen ? refuse(value, place, `${printable(written)} has a range that must be written out`) : [];
});

const port = keys({
  app_protocol: text,
  host_ip: text,
  mode: text,
  name: text,
  protocol: text,
  published: portText,
  target: portText,
});

/** `ports` of a service. */
export const ports = list(either({ scalar: portText, map: port }));

/** `expose` of a service. */
export const exposed = list(portText);
