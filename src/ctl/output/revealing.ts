import { usageError } from '../ctlError.ts';
import type { Session } from '../session.ts';

/** Options of a command whose answer holds a credential. */
export interface RevealOptions {
  output?: string;
  show?: boolean;
}

/**
 * Throws where a credential would come to a terminal, which keeps it in its scrollback. Called before the reveal, which
 * would cost the credential before.
 */
export function requireDestination({ io }: Session, { output, show = false }: RevealOptions): void {
  if (output !== undefined || show || !io.stdout.isTTY) return;
  throw usageError('TERMINAL', 'the answer holds a credential, and this is a terminal', 'add --output, or --show');
}
