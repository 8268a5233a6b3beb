/** A text without characters that nobody sees, or that turn the order of others around; line breaks and tabs stay. */
export function visible(text: string): string {
  return text.replace(/(?![\r\n\t])[\p{C}\u2028\u2029]/gu, '\ufffd');
}
