import type { Span } from './spans.ts';

/** What stands in the place of everything secret (spec §14). */
export const mark = '[REDACTED]';

/** Where a credential shows by its shape: the span to hide, and where that begins by which it shows. */
export interface Shape {
  start: number;
  span: Span;
}

/** Tokens of the secretstore: service, batch and recovery ones, old and new. */
const storeToken = /(?:hv[sbr]|(?<![A-Za-z0-9_.-])[sbr])\.[A-Za-z0-9_-]{24,}(?:\.[A-Za-z0-9]{5,6})?/g;

/** What may be a JSON Web Token; `isJwt` decides. It takes all it can, so that no text is looked at twice. */
const dottedJson = /eyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*)*/g;

const gitlabToken = /gl(?:dt|pat|cbt|ptt|rt)-[0-9A-Za-z_.-]{20,}/g;

/** A header that carries a credential, from its colon on: the one or two words after it go. */
const header =
  /([:=](?<=(?:(?:x-vault|deploy|private|job)-token|authorization)["']?[ \t]{0,8}.)[ \t]{0,8})(?!\[REDACTED\])\S+(?:[ \t]+\S+)?/gi;

/** The shapes of credentials in `text` from `from` on, in no order; `open` when more of the last word may follow. */
export function shapesIn(text: string, from: number, open: boolean): Shape[] {
  return [
    ...matches(storeToken, text, from).map(shapeOf),
    ...matches(gitlabToken, text, from).map(shapeOf),
    ...matches(dottedJson, text, from)
      .filter((match) => isJwt(match[0]) || (open && match.index + match[0].length === text.length))
      .map(shapeOf),
    ...matches(header, text, from).map(shapeOf),
  ];
}

function isJwt(dotted: string): boolean {
  return /\.[A-Za-z0-9_-]{10,}/.test(dotted);
}

function matches(shape: RegExp, text: string, from: number): RegExpExecArray[] {
  const found = new RegExp(shape);
  found.lastIndex = from;
  return [...text.matchAll(found)];
}

/** The first group is no part of the credential. */
function shapeOf({ index, 0: whole, 1: before = '' }: RegExpExecArray): Shape {
  return { start: index, span: [index + before.length, index + whole.length] };
}
