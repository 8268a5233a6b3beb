import sodium from 'libsodium-wrappers';
import { createSecretStream } from './secretStream.ts';

const bytes = (first: number, length: number) => Buffer.from(Array.from({ length }, (_, index) => first + index));
const clientSeed = bytes(0x00, 32);
const hostSeed = bytes(0x20, 32);

beforeAll(() => sodium.ready);

/** The host's side: libsodium's server role. */
function hostOf(clientKey: Buffer) {
  const { publicKey, privateKey } = sodium.crypto_kx_seed_keypair(hostSeed);
  const keys = sodium.crypto_kx_server_session_keys(publicKey, privateKey, clientKey);
  return { publicKey: Buffer.from(publicKey), ...keys };
}

describe('end-to-end encryption', () => {
  it('derives the keys of other implementations (test vectors)', async () => {
    const secretStream = await createSecretStream(clientSeed);
    expect(secretStream.publicKey.toString('hex')).toBe(
      '0e0216223f147143d32615a91189c288c1728cba3cc5f9f621b1026e03d83129',
    );
    const host = hostOf(secretStream.publicKey);
    expect(host.publicKey.toString('hex')).toBe('99f4674ecc87c0b8e712f192b8f49e7442a9376b4875967ababa28471019a93e');
    expect(Buffer.from(host.sharedTx).toString('hex')).toBe(
      '59f8af2a2061b2e35fd1cbfb708efd27a85c9924e6b83932e8a67c901a9998cb',
    );
  });

  it('decrypts messages of other implementations (test vectors)', async () => {
    const secretStream = await createSecretStream(hostSeed);
    const key = Buffer.from('17821f6861b0f9ac897981c01cca46b711a0afd09010d3694895333903865af2', 'hex');
    const state = sodium.crypto_secretstream_xchacha20poly1305_init_pull(bytes(0xa0, 24), key);
    const ciphertext = [
      '3bd4fba09d011aa761583cf0358546b9b6e8aeff00ee',
      'f93e3d6daf16fd137d5210ca4e54724083a7fa5331ba65',
    ];
    const message = ciphertext.map((hex) =>
      sodium.crypto_secretstream_xchacha20poly1305_pull(state, Buffer.from(hex, 'hex'), null),
    );
    expect(message.map((each) => each && Buffer.from(each.message).toString())).toEqual(['hello', 'world!']);
    expect(secretStream.publicKey).toHaveLength(32);
  });

  it('carries messages both ways, with or without a message after the header of the host', async () => {
    for (const isTogether of [true, false]) {
      const secretStream = await createSecretStream();
      const host = hostOf(secretStream.publicKey);
      expect(secretStream.deriveKeys(host.publicKey)).toBeNull();
      const receiveState = sodium.crypto_secretstream_xchacha20poly1305_init_pull(
        secretStream.createHeader(),
        host.sharedRx,
      );
      const sent = secretStream.encrypt(Buffer.from('to the host'));
      const received = sodium.crypto_secretstream_xchacha20poly1305_pull(receiveState, sent, null);
      expect(received && Buffer.from(received.message).toString()).toBe('to the host');

      const { state, header } = sodium.crypto_secretstream_xchacha20poly1305_init_push(host.sharedTx);
      const answer = Buffer.from(sodium.crypto_secretstream_xchacha20poly1305_push(state, 'to us', null, 0));
      const first = isTogether ? Buffer.concat([header, answer]) : Buffer.from(header);
      const message = secretStream.decrypt(first) ?? secretStream.decrypt(answer);
      expect(message?.toString()).toBe('to us');
    }
  });

  it('fails for a modified message, and for an invalid key', async () => {
    const secretStream = await createSecretStream();
    const host = hostOf(secretStream.publicKey);
    expect(secretStream.deriveKeys(Buffer.alloc(31))).toMatchObject({ kind: 'protocol' });
    expect(secretStream.deriveKeys(Buffer.alloc(32))).toMatchObject({ kind: 'protocol' });
    expect(secretStream.deriveKeys(host.publicKey)).toBeNull();
    const { state, header } = sodium.crypto_secretstream_xchacha20poly1305_init_push(host.sharedTx);
    const ciphertext = Buffer.from(sodium.crypto_secretstream_xchacha20poly1305_push(state, 'to us', null, 0));
    ciphertext[3]! ^= 1;
    expect(secretStream.decrypt(Buffer.from(header))).toBeNull();
    expect(() => secretStream.decrypt(ciphertext)).toThrow(/was changed on its way/);
    expect(() => secretStream.decrypt(Buffer.from('short'))).toThrow(/was changed on its way/);
  });
});
