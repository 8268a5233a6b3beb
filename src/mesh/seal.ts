import { MeshTrouble } from './trouble.ts';

type Sodium = typeof import('libsodium-wrappers');

/** The end-to-end encryption of one connection: a key pair of its own, then one stream each way. */
export interface Seal {
  publicKey: Buffer;
  /** Takes the host's public key; gives what is wrong with it, null when nothing is. */
  agree: (hostKey: Buffer) => MeshTrouble | null;
  /** The 24 bytes that go ahead of everything else, in clear. */
  begin: () => Buffer;
  seal: (plain: Buffer) => Buffer;
  /** The first bytes from the host are its own 24; null for a message that was only these. */
  open: (sealed: Buffer) => Buffer | null;
}

const HEADER_BYTES = 24;

/** libsodium is loaded when the first encrypted service is dialled. */
export async function createSeal(seed?: Buffer): Promise<Seal> {
  const sodium = await loadSodium();
  const own = seed === undefined ? sodium.crypto_kx_keypair() : sodium.crypto_kx_seed_keypair(seed);
  let keys: { sharedRx: Uint8Array; sharedTx: Uint8Array } | null = null;
  let outward: ReturnType<Sodium['crypto_secretstream_xchacha20poly1305_init_pull']> | null = null;
  let inward: ReturnType<Sodium['crypto_secretstream_xchacha20poly1305_init_pull']> | null = null;
  return {
    publicKey: Buffer.from(own.publicKey),
    agree: (hostKey) => {
      try {
        keys = sodium.crypto_kx_client_session_keys(own.publicKey, own.privateKey, hostKey);
        return null;
      } catch {
        return sealBroken("the host's key is no usable one");
      }
    },
    begin: () => {
      const { state, header } = sodium.crypto_secretstream_xchacha20poly1305_init_push(agreed(keys).sharedTx);
      outward = state;
      return Buffer.from(header);
    },
    seal: (plain) => {
      if (outward === null) throw sealBroken('nothing was begun');
      return Buffer.from(sodium.crypto_secretstream_xchacha20poly1305_push(outward, plain, null, 0));
    },
    open: (sealed) => {
      if (inward === null) {
        if (sealed.length < HEADER_BYTES) throw sealBroken('its beginning is too short');
        const head = sealed.subarray(0, HEADER_BYTES);
        inward = sodium.crypto_secretstream_xchacha20poly1305_init_pull(head, agreed(keys).sharedRx);
        if (sealed.length === HEADER_BYTES) return null;
        sealed = sealed.subarray(HEADER_BYTES);
      }
      const opened = pull(sodium, inward, sealed);
      if (opened === false) throw sealBroken('a message was changed on its way');
      return Buffer.from(opened.message);
    },
  };
}

/** False for what is too short or was not sealed with this key. */
function pull(
  sodium: Sodium,
  state: Parameters<Sodium['crypto_secretstream_xchacha20poly1305_pull']>[0],
  sealed: Buffer,
) {
  try {
    return sodium.crypto_secretstream_xchacha20poly1305_pull(state, sealed, null);
  } catch {
    return false;
  }
}

async function loadSodium(): Promise<Sodium> {
  const { default: sodium } = await import('libsodium-wrappers');
  await sodium.ready;
  return sodium as unknown as Sodium;
}

function agreed<T>(keys: T | null): T {
  if (keys === null) throw sealBroken('no key was agreed on');
  return keys;
}

function sealBroken(why: string): MeshTrouble {
  return new MeshTrouble('protocol', `end-to-end encryption: ${why}`);
}
