import fc from 'fast-check';
import { seed } from '../../fixtures/world/sampling/seed.ts';
import { contentType, encodeFrame, type Frame, FrameReader, headerKey, int32, uint32 } from './frame.ts';

const none = Buffer.alloc(0);

/** Test vectors from other implementations of the protocol. */
const vectors: [string, Frame, string][] = [
  [
    'Data with a connection and FIN',
    {
      type: contentType.data,
      sequence: 7,
      headers: new Map([
        [headerKey.connId, uint32(5)],
        [headerKey.flags, uint32(1)],
      ]),
      body: none,
    },
    '0306090c72ed0000070000001800000000000000e80300000400000005000000f20300000400000001000000',
  ],
  [
    'Hello',
    {
      type: contentType.hello,
      sequence: -1,
      headers: new Map([[headerKey.sessionToken, Buffer.from('tok')]]),
      body: Buffer.from('deployd'),
    },
    '0306090c00000000ffffffff0b00000007000000ea03000003000000746f6b6465706c6f7964',
  ],
  [
    'Result',
    {
      type: contentType.result,
      sequence: -1,
      headers: new Map([
        [headerKey.replyFor, int32(-1)],
        [headerKey.resultSuccess, Buffer.from([1])],
      ]),
      body: none,
    },
    '0306090c02000000ffffffff15000000000000000100000004000000ffffffff020000000100000001',
  ],
];

function read(chunks: Buffer[]): Frame[] {
  const reader = new FrameReader();
  return chunks.flatMap((chunk) => [...reader.push(chunk)]);
}

describe('a frame', () => {
  it.each(vectors)('is encoded and decoded as in other implementations: %s', (_name, frame, hex) => {
    expect(encodeFrame(frame).toString('hex')).toBe(hex);
    expect(read([Buffer.from(hex, 'hex')])).toEqual([frame]);
  });

  it.each([
    ['another magic', '0306090a', /does not begin like a frame/],
    ['too many headers', '0306090c0000000000000000ffffff0000000000', /bytes of headers/],
    ['too large a body', '0306090c000000000000000000000000ffffff7f', /a body of/],
    ['a truncated header', '0306090c00000000000000000400000000000000e8030000', /a header that is cut off/],
    [
      'a header beyond the headers',
      '0306090c00000000000000000800000000000000e803000009000000',
      /ends beyond the others/,
    ],
  ])('with %s ends the channel', (_name, hex, words) => {
    expect(() => read([Buffer.from(hex.padEnd(40, '0'), 'hex')])).toThrow(words);
  });
});

const frames = fc.array(
  fc.record({
    type: fc.integer({ min: 0, max: 70_000 }),
    sequence: fc.integer({ min: -1, max: 2 ** 31 - 1 }),
    headers: fc
      .uniqueArray(fc.tuple(fc.nat(70_000), fc.uint8Array({ maxLength: 300 })), { selector: ([key]) => key })
      .map((pairs) => new Map(pairs.map(([key, value]) => [key, Buffer.from(value)]))),
    body: fc.uint8Array({ maxLength: 2000 }).map((bytes) => Buffer.from(bytes)),
  }),
  { maxLength: 5 },
);
const splits = fc.array(fc.nat(400), { maxLength: 60 });

describe('a stream of frames', () => {
  it(`is decoded unchanged, wherever it is split into chunks (SEED=${seed})`, () => {
    const property = fc.property(frames, splits, (sent, lengths) => {
      const bytes = Buffer.concat(sent.map(encodeFrame));
      expect(read(splitAt(bytes, lengths))).toEqual(sent);
    });
    fc.assert(property, { seed, numRuns: 500 });
  });

  it(`of random bytes is a protocol error or an incomplete frame (SEED=${seed})`, () => {
    const magic = Buffer.from('0306090c', 'hex');
    const property = fc.property(fc.uint8Array({ maxLength: 200 }), fc.boolean(), (garbage, isFramed) => {
      try {
        read([isFramed ? magic : none, Buffer.from(garbage)]);
      } catch (error) {
        expect(error).toMatchObject({ name: 'MeshError', kind: 'protocol' });
      }
    });
    fc.assert(property, { seed, numRuns: 2000 });
  });
});

function splitAt(bytes: Buffer, lengths: number[]): Buffer[] {
  const chunks: Buffer[] = [];
  let at = 0;
  for (const length of lengths) {
    chunks.push(bytes.subarray(at, at + length));
    at += length;
  }
  return [...chunks, bytes.subarray(at)];
}
