import { quoteEnvValue } from '../rules/bundle/envFile.ts';
import { dumps, urls, type Writer } from './byteForms.ts';
import { entities, shells } from './markupForms.ts';
import { jsons, outers, reprs, yamls } from './quotedForms.ts';
import { wipe } from './wipe.ts';

/** Widths in which base64 tools break their lines: PEM and MIME. */
const base64Widths = [64, 76];

/** Fewest characters of a base64 text, or of dumped bytes, that tell a value apart from chance. */
const shortestFragment = 4;

/** Which of the styles a text is looked for in; each costs time and memory by the text's length. */
export interface Styles {
  /** Of the text as it is, with doubled dollars and as in `.env`. */
  quotes: readonly Writer[];
  /** Of what these give but for `.env`. */
  outers: readonly Writer[];
  /** Of the text as it is and with doubled dollars. */
  yamls: readonly Writer[];
  /** Of the text as it is. */
  others: readonly Writer[];
  urls: readonly Writer[];
  dumps: readonly Writer[];
}

/** Every style there is. */
export const allStyles: Styles = {
  quotes: Object.values(jsons),
  outers,
  yamls: Object.values(yamls),
  others: [reprs, shells, entities].flatMap((named) => Object.values(named)),
  urls: Object.values(urls).flat(),
  dumps: Object.values(dumps),
};

/** For long values and their lines. */
export const commonStyles: Styles = {
  quotes: allStyles.quotes.slice(0, 3),
  outers: outers.slice(0, 1),
  yamls: allStyles.yamls.slice(0, 1),
  others: namedOf(shells, ['shell between single quotes']).concat(
    namedOf(reprs, ['repr of Python']),
    namedOf(entities, ['HTML of Go', 'HTML of JavaScript']),
  ),
  urls: allStyles.urls.slice(0, 6),
  dumps: allStyles.dumps.slice(0, 1),
};

function namedOf(styles: Readonly<Record<string, Writer>>, names: string[]): Writer[] {
  return Object.entries(styles).flatMap(([name, write]) => (names.includes(name) ? [write] : []));
}

const doubleDollars: Writer = (text) => text.replace(/\$/g, '$$$$');

/** Every form in which compose, the engine or a library may print the texts, the plain ones among them; never empty ones. */
export function formsOf(texts: readonly string[], styles = allStyles): string[] {
  const forms = texts.map((): Set<string> => new Set());
  const add = (form: string, at: number) => void forms[at]?.add(form);
  const write = (from: readonly string[], writer: Writer): readonly string[] => {
    const made = written(from, writer);
    made.forEach(add);
    return made;
  };
  const dollars = write(texts, doubleDollars);
  texts.forEach(add);
  const env = write(texts, quoteEnvValue);
  for (const quote of styles.quotes) {
    write(env, quote);
    for (const base of [texts, dollars]) {
      const quoted = write(base, quote);
      for (const outer of styles.outers) write(quoted, outer);
    }
  }
  for (const base of [texts, dollars]) for (const yaml of styles.yamls) write(base, yaml);
  for (const other of styles.others) write(texts, other);
  for (const url of styles.urls)
    write(texts, url)
      .map((form) => form.replaceAll('%20', '+'))
      .forEach(add);
  for (const dump of styles.dumps)
    written(texts, dump)
      .map((form) => form.replace(/(?:[ :]|, ?)$/, ''))
      .forEach((form, at) => form.length < shortestFragment || add(form, at));
  return [...forms.flatMap((each) => [...each]), ...texts.flatMap(base64Forms)].filter((form) => form !== '');
}

/** Stands between texts that are written all at once, which is much faster; a random one that hardly any text holds. */
const separator = String.fromCharCode(0xa000 + Math.floor(1000 * Math.random()));

/** The texts in a style. */
function written(texts: readonly string[], write: Writer): readonly string[] {
  if (texts.length <= 1) return texts.map(write);
  const forms = write(texts.join(separator)).split(write(separator));
  return forms.length === texts.length ? forms : texts.map(write);
}

/** The value alone, with and without padding or line breaks, and what of it shows inside the base64 of a longer text. */
function base64Forms(text: string): string[] {
  const bytes = Buffer.from(`\0\0${text}`);
  const whole = bytes.toString('base64', 2);
  const fragments = [0, 1, 2].map((shift) => base64Fragment(bytes.subarray(2 - shift), shift));
  wipe(bytes);
  const lines = base64Widths.flatMap((width) => (fragments[0] ?? '').match(new RegExp(`.{1,${width}}`, 'g')) ?? []);
  const forms = [
    whole,
    whole.replace(/=+$/, ''),
    ...[...fragments, ...lines].filter((form) => form.length >= shortestFragment),
  ];
  return forms.flatMap((form) => (/[+/]/.test(form) ? [form, form.replaceAll('+', '-').replaceAll('/', '_')] : [form]));
}

/** The characters that only the bytes after the first `shift` ones decide. */
function base64Fragment(bytes: Buffer, shift: number): string {
  return bytes.toString('base64').slice(Math.ceil((shift * 8) / 6), Math.floor((bytes.length * 8) / 6));
}
