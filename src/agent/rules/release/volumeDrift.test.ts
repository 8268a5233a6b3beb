import { validateVolumes } from './volumeDrift.ts';

const declared = { key: 'data', name: null, driver: null, driver_opts: {} };
const found = { name: 'deployd-eu-1_data', driver: 'local', options: {} };

describe('a volume that would have to be recreated (spec §12.2)', () => {
  it('is none when the volume does not exist or is equal', () => {
    expect(validateVolumes([declared], [], 'deployd-eu-1')).toBeNull();
    expect(validateVolumes([declared], [found], 'deployd-eu-1')).toBeNull();
  });

  it('diverges by driver or by options', () => {
    const other = { ...declared, key: 'logs', driver_opts: { type: 'tmpfs' } };
    const logs = { ...found, name: 'deployd-eu-1_logs' };
    const refusal = validateVolumes([{ ...declared, driver: 'x' }, other], [found, logs], 'deployd-eu-1');
    expect(refusal?.code).toBe('VOLUME_DIVERGED');
    expect(refusal?.detail).toContain('volume data: driver is local, the bundle says x');
    expect(refusal?.detail).toContain('volume logs: driver options differ');
  });
});
