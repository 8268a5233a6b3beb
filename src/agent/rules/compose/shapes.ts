import { printable } from '../../../protocol/printable.ts';
import { power, refuse, type Finding, type Judge, type Place } from './finding.ts';
import { entriesOf, itemsOf, type Scalar, type Tree } from './tree.ts';

/** What may stand under each key; a key that is not in the table is refused, except `x-*`. */
export type Table = Readonly<Record<string, Judge>>;

/** A mapping of known keys. */
export function keys(table: Table): Judge {
  const judgeEntry = (key: string, value: Tree, place: Place): Finding[] => {
    if (key.startsWith('x-')) return [];
    const judge = Object.hasOwn(table, key) ? table[key] : undefined;
    return judge ? judge(value, within(place, key)) : refuse(value, within(place, key), 'is not a known key');
  };
  return either({
    map: (value, place) => entriesOf(value).flatMap(([key, inner]) => judgeEntry(key, inner, place)),
  });
}

/** A mapping with keys of the bundle's own choice, which must at least be something. */
export function map(judge: Judge): Judge {
  return keyed(/./, judge);
}

/** A mapping by the names of parts of the bundle. */
export function named(judge: Judge): Judge {
  return keyed(isName, judge);
}

function keyed(pattern: RegExp, judge: Judge): Judge {
  const judgeEntry = (key: string, value: Tree, place: Place): Finding[] =>
    pattern.test(key) ? judge(value, within(place, key)) : refuse(value, place, `${printable(key) || '""'} is no name`);
  return either({
    map: (value, place) => entriesOf(value).flatMap(([key, inner]) => judgeEntry(key, inner, place)),
  });
}

/** A list whose items are all judged alike. */
export function list(judge: Judge): Judge {
  return either({ list: (value, place) => itemsOf(value).flatMap((item) => judge(item, place)) });
}

/** The place of what stands under a key. */
export function within(place: Place, key: string): Place {
  return { ...place, key: place.key === '' ? printable(key) : `${place.key}.${printable(key)}` };
}

const kinds = { scalar: 'text', list: 'a list', map: 'a mapping' } as const;

/** A value of one of several YAML kinds, each with its own judge; null is of none of them. */
export function either(judges: Partial<Record<Tree['kind'], Judge>>): Judge {
  return (value, place) => {
    const isNull = value.kind === 'scalar' && value.isNull;
    const judge = isNull ? undefined : judges[value.kind];
    if (judge) return judge(value, place);
    const wanted = (['scalar', 'list', 'map'] as const).filter((kind) => judges[kind]).map((kind) => kinds[kind]);
    return refuse(value, place, `must be ${wanted.join(' or ')}`);
  };
}

/** Null may stand too. */
export function nullable(judge: Judge): Judge {
  return (value, place) => (value.kind === 'scalar' && value.isNull ? [] : judge(value, place));
}

/** A text that is not null, judged by what is written. */
export function onText(judge: (text: string, value: Scalar, place: Place) => Finding[]): Judge {
  return either({ scalar: (value, place) => (value.kind === 'scalar' ? judge(value.text, value, place) : []) });
}

/** Text that holds no power: a variable may stand in it, or stand for it. */
export function plain(pattern: RegExp, what: string): Judge {
  return onText((text, value, place) =>
    text.includes('$') || pattern.test(text) ? [] : refuse(value, place, `${printable(text)} must be ${what}`),
  );
}

/** Text that must be written out, because the agent itself has to understand it. */
export function literal(pattern: RegExp, what: string): Judge {
  return onText((text, value, place) =>
    pattern.test(text) && !text.includes('$') ? [] : refuse(value, place, `${printable(text)} must be ${what}`),
  );
}

/** Text that is power over the host unless it matches; a variable never does. */
export function powerUnless(harmless: RegExp): Judge {
  return onText((text, value, place) => {
    if (text.includes('$')) return power(value, place, `${printable(text)} is decided by a variable`);
    return harmless.test(text) ? [] : power(value, place, printable(text));
  });
}

/** Options, as a mapping or as `name=value` items, that are power over the host unless their name matches. */
export function powerUnlessNamed(harmless: RegExp, judge: Judge = text): Judge {
  const judgeItem = onText((item, value, place) => {
    const [name = ''] = item.split('=', 1);
    return item.includes('=') && harmless.test(name) ? [] : power(value, place, printable(name));
  });
  const judgeEntries: Judge = (value, place) =>
    entriesOf(value).flatMap(([name, inner]) =>
      harmless.test(name) ? judge(inner, within(place, name)) : power(inner, place, printable(name)),
    );
  return either({ list: list(judgeItem), map: judgeEntries });
}

/** Anything but an empty list or mapping is power over the host. */
export const powerful: Judge = (value, place) => {
  if (value.kind === 'list') return value.items.flatMap((item) => powerful(item, place));
  if (value.kind === 'map') return value.entries.size === 0 ? [] : power(value, place, '');
  return power(value, place, printable(value.text));
};

/** Names with texts, as a mapping or as `NAME=text` items; `judgeName` may object to a name. */
export function pairs(judgeName: (name: string, value: Tree, place: Place) => Finding[]): Judge {
  return either({
    list: list(onText((item, value, place) => judgeName(item.split('=', 1)[0] ?? '', value, place))),
    map: (value, place) =>
      entriesOf(value).flatMap(([name, inner]) => [
        ...judgeName(name, inner, place),
        ...nullable(text)(inner, { ...place, key: `${place.key}.${printable(name)}` }),
      ]),
  });
}

/** What a bundle must not use at all. */
export function never(why: string): Judge {
  return (value, place) => refuse(value, place, `is refused: ${why}`);
}

export const text: Judge = plain(/^/, 'text');
export const flag: Judge = plain(/^(true|false|yes|no|on|off|y|n)$/i, 'true or false');
export const number: Judge = plain(/^[-+]?(\d[\d_]*(\.\d*)?|\.\d+|0x[\da-f]+|0o[0-7]+)$/i, 'a number');
export const textList: Judge = list(text);
export const texts: Judge = either({ scalar: text, list: textList });
/** What compose takes for the name of a service, network, volume, config or secret. */
export const isName = /^[a-zA-Z0-9._-]+$/;
/** Names by which the agent finds one part of a file from another. */
export const name: Judge = literal(isName, 'a literal name of letters, digits, ".", "_" and "-"');
/** What compose takes for "no"; everything else, a variable included, switches power on. */
export const off: Judge = powerUnless(/^(false|no|off|n)$/i);
