/** A credential found by its pattern: `start` is where the pattern begins, `interval` the part to redact. */
interface TokenMatch {
  start: number;
  interval: Interval;
}

/** Tokens of the secretstore: service, batch and recovery tokens, in the old and the new format. */
const secretstoreToken = /(?:hv[sbr]|(?<![A-Za-z0-9_.-])[sbr])\.[A-Za-z0-9_-]{24,}(?:\.[A-Za-z0-9]{5,6})?/g;

/** A candidate for a JSON Web Token; `isJwt` decides. It is greedy, so that no text is scanned twice. */
const jwtCandidate = /eyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*)*/g;

const gitlabToken = /gl(?:dt|pat|cbt|ptt|rt)-[0-9A-Za-z_.-]{20,}/g;

/** A header with a credential, from its colon on; the next one or two words are redacted. */
const credentialHeader =
  /([:=](?<=(?:(?:x-vault|deploy|private|job)-token|authorization)["']?[ \t]{0,8}.)[ \t]{0,8})(?!\[REDACTED\])\S+(?:[ \t]+\S+)?/gi;

/** The credentials in `text` from `from` on, in no order; `open` means that the last word may continue. */
export function findTokens(text: string, from: number, open: boolean): TokenMatch[] {
  return [
    ...matchesFrom(secretstoreToken, text, from).map(tokenMatchOf),
    ...matchesFrom(gitlabToken, text, from).map(tokenMatchOf),
    ...matchesFrom(jwtCandidate, text, from)
      .filter((match) => isJwt(match[0]) || (open && match.index + match[0].length === text.length))
      .map(tokenMatchOf),
    ...matchesFrom(credentialHeader, text, from).map(tokenMatchOf),
  ];
}

function isJwt(dotted: string): boolean {
  return /\.[A-Za-z0-9_-]{10,}/.test(dotted);
}

function matchesFrom(pattern: RegExp, text: string, from: number): RegExpExecArray[] {
  const found = new RegExp(pattern);
  found.lastIndex = from;
  return [...text.matchAll(found)];
}

/** The first group of a pattern is not part of the credential. */
function tokenMatchOf({ index, 0: whole, 1: before = '' }: RegExpExecArray): TokenMatch {
  return { start: index, interval: [index + before.length, index + whole.length] };
}

/** A range of code units of a text; `end` is exclusive. */
export type Interval = readonly [start: number, end: number];
