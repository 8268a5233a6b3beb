import sodium from 'libsodium-wrappers';
import { createSeal } from './seal.ts';

const bytes = (first: number, length: number) => Buffer.from(Array.from({ length }, (_, index) => first + index));
const clientSeed = bytes(0x00, 32);
const hostSeed = bytes(0x20, 32);

beforeAll(() => sodium.ready);

/** The hosting side, as libsodium's server role has it. */
function hostOf(clientKey: Buffer) {
  const { publicKey, privateKey } = sodium.crypto_kx_seed_keypair(hostSeed);
  const keys = sodium.crypto_kx_server_session_keys(publicKey, privateKey, clientKey);
  return { publicKey: Buffer.from(publicKey), ...keys };
}

describe('end-to-end encryption', () => {
  it('has the keys that others compute (known answers)', async () => {
    const seal = await createSeal(clientSeed);
    expect(seal.publicKey.toString('hex')).toBe('0e0216223f147143d32615a91189c288c1728cba3cc5f9f621b1026e03d83129');
    const host = hostOf(seal.publicKey);
    expect(host.publicKey.toString('hex')).toBe('99f4674ecc87c0b8e712f192b8f49e7442a9376b4875967ababa28471019a93e');
    expect(Buffer.from(host.sharedTx).toString('hex')).toBe(
      '59f8af2a2061b2e35fd1cbfb708efd27a85c9924e6b83932e8a67c901a9998cb',
    );
  });

  it('opens what others sealed (known answers)', async () => {
    const seal = await createSeal(hostSeed);
    const key = Buffer.from('17821f6861b0f9ac897981c01cca46b711a0afd09010d3694895333903865af2', 'hex');
    const state = sodium.crypto_secretstream_xchacha20poly1305_init_pull(bytes(0xa0, 24), key);
    const sealed = ['3bd4fba09d011aa761583cf0358546b9b6e8aeff00ee', 'f93e3d6daf16fd137d5210ca4e54724083a7fa5331ba65'];
    const opened = sealed.map((hex) =>
      sodium.crypto_secretstream_xchacha20poly1305_pull(state, Buffer.from(hex, 'hex'), null),
    );
    expect(opened.map((each) => each && Buffer.from(each.message).toString())).toEqual(['hello', 'world!']);
    expect(seal.publicKey).toHaveLength(32);
  });

  it('carries messages both ways, the host beginning with its first message or without one', async () => {
    for (const isTogether of [true, false]) {
      const seal = await createSeal();
      const host = hostOf(seal.publicKey);
      expect(seal.agree(host.publicKey)).toBeNull();
      const inward = sodium.crypto_secretstream_xchacha20poly1305_init_pull(seal.begin(), host.sharedRx);
      const sent = seal.seal(Buffer.from('to the host'));
      const received = sodium.crypto_secretstream_xchacha20poly1305_pull(inward, sent, null);
      expect(received && Buffer.from(received.message).toString()).toBe('to the host');

      const { state, header } = sodium.crypto_secretstream_xchacha20poly1305_init_push(host.sharedTx);
      const answer = Buffer.from(sodium.crypto_secretstream_xchacha20poly1305_push(state, 'to us', null, 0));
      const first = isTogether ? Buffer.concat([header, answer]) : Buffer.from(header);
      const opened = seal.open(first) ?? seal.open(answer);
      expect(opened?.toString()).toBe('to us');
    }
  });

  it('ends the connection at a message that was changed, and at a key that is none', async () => {
    const seal = await createSeal();
    const host = hostOf(seal.publicKey);
    expect(seal.agree(Buffer.alloc(31))).toMatchObject({ kind: 'protocol' });
    expect(seal.agree(Buffer.alloc(32))).toMatchObject({ kind: 'protocol' });
    expect(seal.agree(host.publicKey)).toBeNull();
    const { state, header } = sodium.crypto_secretstream_xchacha20poly1305_init_push(host.sharedTx);
    const sealed = Buffer.from(sodium.crypto_secretstream_xchacha20poly1305_push(state, 'to us', null, 0));
    sealed[3]! ^= 1;
    expect(seal.open(Buffer.from(header))).toBeNull();
    expect(() => seal.open(sealed)).toThrow(/was changed on its way/);
    expect(() => seal.open(Buffer.from('short'))).toThrow(/was changed on its way/);
  });
});
