import { withCodeUnits } from './redaction/codeUnits.ts';
import { wipe } from './wipe.ts';

it('overwrites every buffer with zeros', () => {
  const buffers = [Buffer.from('first'), Buffer.from('second')];
  wipe(...buffers);
  expect(buffers).toEqual([Buffer.alloc(5), Buffer.alloc(6)]);
});

describe('the code units of a text', () => {
  it('are those of the string', () => {
    expect.assertions(1);
    withCodeUnits('aé😀', (units) => expect([...units]).toEqual([0x61, 0xe9, 0xd83d, 0xde00]));
  });

  it('are wiped after use, even if it failed', () => {
    let kept: Uint16Array | undefined;
    const use = (units: Uint16Array) => {
      kept = units;
      throw new Error('failed');
    };
    expect(() => withCodeUnits('secret', use)).toThrow('failed');
    expect(kept).toEqual(new Uint16Array(6));
  });
});
