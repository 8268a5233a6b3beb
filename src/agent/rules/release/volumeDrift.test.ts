import { judgeVolumes } from './volumeDrift.ts';

const declared = { key: 'data', name: null, driver: null, driver_opts: {} };
const found = { name: 'deployd-eu-1_data', driver: 'local', options: {} };

describe('a volume that would have to be made anew (spec §12.2)', () => {
  it('is fine when it is not there yet or the same', () => {
    expect(judgeVolumes([declared], [], 'deployd-eu-1')).toBeNull();
    expect(judgeVolumes([declared], [found], 'deployd-eu-1')).toBeNull();
  });

  it('diverges by driver or by options', () => {
    const other = { ...declared, key: 'logs', driver_opts: { type: 'tmpfs' } };
    const logs = { ...found, name: 'deployd-eu-1_logs' };
    const refusal = judgeVolumes([{ ...declared, driver: 'x' }, other], [found, logs], 'deployd-eu-1');
    expect(refusal?.code).toBe('VOLUME_DIVERGED');
    expect(refusal?.detail).toContain('volume data: driver is local, the bundle says x');
    expect(refusal?.detail).toContain('volume logs: driver options differ');
  });
});
