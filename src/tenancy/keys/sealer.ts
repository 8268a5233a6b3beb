import { seal, unseal } from './keyRing.ts';

/** Encrypts by the key file what the store or a browser keeps and nobody is shown; `name` binds a text to its place. */
export interface Sealer {
  seal: (name: string, text: string) => string;
  /** Null for what was not sealed by this key file under this name. */
  unseal: (name: string, sealed: string) => string | null;
}

/** A sealer by a key file. */
export function createSealer(keyFile: Uint8Array): Sealer {
  return {
    seal: (name, text) => seal(keyFile, name, text),
    unseal: (name, sealed) => unseal(keyFile, name, sealed),
  };
}
