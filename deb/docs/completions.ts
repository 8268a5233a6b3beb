import type { Command } from 'commander';
import { bashCompletion } from './bashCompletion.ts';
import { completionItemOf } from './completionItems.ts';
import { fishCompletion } from './fishCompletion.ts';
import { zshCompletion } from './zshCompletion.ts';

/** Completion scripts for the program's commands, groups of commands and options, by shell. */
export function completionsOf(program: Command): Record<'bash' | 'zsh' | 'fish', string> {
  const self = completionItemOf(program);
  return { bash: bashCompletion(self), zsh: zshCompletion(self), fish: fishCompletion(self) };
}
