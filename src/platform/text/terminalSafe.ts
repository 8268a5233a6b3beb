/**
 * Text with each run of control characters replaced by a blank. Names and details may come from a bundle or a server; they
 * must not move the cursor or colour the terminal.
 */
export function terminalSafe(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ');
}
