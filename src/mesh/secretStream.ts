import { MeshError } from './meshError.ts';

type Sodium = typeof import('libsodium-wrappers');

/** End-to-end encryption of one connection: a key pair, then one encrypted stream each way. */
export interface SecretStream {
  publicKey: Buffer;
  /** Derives the session keys from the host's public key; returns the error, null on success. */
  deriveKeys: (hostKey: Buffer) => MeshError | null;
  /** The 24-byte stream header, sent in clear before everything else. */
  createHeader: () => Buffer;
  encrypt: (plaintext: Buffer) => Buffer;
  /**
   * Decrypts a message. The first one starts with the host's 24-byte stream header; null when it contains nothing else.
   */
  decrypt: (ciphertext: Buffer) => Buffer | null;
}

const HEADER_BYTES = 24;

/** Loads libsodium at the first encrypted service. */
export async function createSecretStream(seed?: Buffer): Promise<SecretStream> {
  const sodium = await loadSodium();
  const keyPair = seed === undefined ? sodium.crypto_kx_keypair() : sodium.crypto_kx_seed_keypair(seed);
  let keys: { sharedRx: Uint8Array; sharedTx: Uint8Array } | null = null;
  let sendState: ReturnType<Sodium['crypto_secretstream_xchacha20poly1305_init_pull']> | null = null;
  let receiveState: ReturnType<Sodium['crypto_secretstream_xchacha20poly1305_init_pull']> | null = null;
  return {
    publicKey: Buffer.from(keyPair.publicKey),
    deriveKeys: (hostKey) => {
      try {
        keys = sodium.crypto_kx_client_session_keys(keyPair.publicKey, keyPair.privateKey, hostKey);
        return null;
      } catch {
        return encryptionError("the host's key cannot be used");
      }
    },
    createHeader: () => {
      const { state, header } = sodium.crypto_secretstream_xchacha20poly1305_init_push(requireKeys(keys).sharedTx);
      sendState = state;
      return Buffer.from(header);
    },
    encrypt: (plaintext) => {
      if (sendState === null) throw encryptionError('nothing was begun');
      return Buffer.from(sodium.crypto_secretstream_xchacha20poly1305_push(sendState, plaintext, null, 0));
    },
    decrypt: (ciphertext) => {
      if (receiveState === null) {
        if (ciphertext.length < HEADER_BYTES) throw encryptionError('its beginning is too short');
        const header = ciphertext.subarray(0, HEADER_BYTES);
        receiveState = sodium.crypto_secretstream_xchacha20poly1305_init_pull(header, requireKeys(keys).sharedRx);
        if (ciphertext.length === HEADER_BYTES) return null;
        ciphertext = ciphertext.subarray(HEADER_BYTES);
      }
      const message = pull(sodium, receiveState, ciphertext);
      if (message === false) throw encryptionError('a message was changed on its way');
      return Buffer.from(message.message);
    },
  };
}

/** False for a message that is too short or not encrypted with this key. */
function pull(
  sodium: Sodium,
  state: Parameters<Sodium['crypto_secretstream_xchacha20poly1305_pull']>[0],
  ciphertext: Buffer,
) {
  try {
    return sodium.crypto_secretstream_xchacha20poly1305_pull(state, ciphertext, null);
  } catch {
    return false;
  }
}

async function loadSodium(): Promise<Sodium> {
  const { default: sodium } = await import('libsodium-wrappers');
  await sodium.ready;
  return sodium as unknown as Sodium;
}

function requireKeys<T>(keys: T | null): T {
  if (keys === null) throw encryptionError('no key was agreed on');
  return keys;
}

function encryptionError(problem: string): MeshError {
  return new MeshError('protocol', `end-to-end encryption: ${problem}`);
}
