import { format, inspect } from 'node:util';
import { Vault } from './vault.ts';

function fullVault(): Vault {
  const vault = new Vault();
  vault.setToken('token-secret');
  vault.setCandidate({ token: 'candidate-secret', ttlS: 60, renewable: true, issuedAt: new Date() });
  vault.setLeaseToken('lease-secret');
  vault.setValue('DB_PASSWORD', 'value-secret');
  vault.registerForRedaction('grant-secret');
  return vault;
}

describe('the vault', () => {
  it('returns the secrets that were set', () => {
    const vault = fullVault();
    expect(vault.hasToken()).toBe(true);
    expect(vault.token()).toBe('token-secret');
    expect(vault.candidate()?.token).toBe('candidate-secret');
    expect(vault.leaseToken()).toBe('lease-secret');
    expect(vault.value('DB_PASSWORD')).toBe('value-secret');
    expect(vault.value('OTHER')).toBeUndefined();
    expect([...vault.valuesOf(['DB_PASSWORD', 'OTHER'])]).toEqual([['DB_PASSWORD', 'value-secret']]);
  });

  it('conceals only texts that contain a secret, and reveals them until it is cleared', () => {
    const vault = fullVault();
    const [plain, hidden] = [vault.conceal('registry/app:1'), vault.conceal('registry/value-secret:1')];
    expect([plain, hidden]).toEqual(['registry/app:1', '[concealed 1]']);
    expect(vault.conceal('registry/value-secret:1')).toBe(hidden);
    expect([vault.reveal(plain), vault.reveal(hidden)]).toEqual(['registry/app:1', 'registry/value-secret:1']);
    vault.clear();
    expect(vault.reveal(hidden)).toBe('[concealed 1]');
  });

  it('has no token before one is set', () => {
    const vault = new Vault();
    expect(vault.hasToken()).toBe(false);
    expect(() => vault.token()).toThrow('the vault holds no token');
    expect(vault.leaseToken()).toBeNull();
  });

  it('redacts every secret that was ever set', () => {
    const vault = fullVault();
    vault.setToken('newer-secret');
    vault.setCandidate(null);
    expect(vault.candidate()).toBeNull();
    const text = 'token-secret candidate-secret lease-secret value-secret grant-secret newer-secret';
    expect(vault.redactor().redact(text)).toBe(Array(6).fill('[REDACTED]').join(' '));
  });

  it('creates a new redactor only after another secret was registered', () => {
    const vault = fullVault();
    const before = vault.redactor();
    vault.setToken('token-secret');
    expect(vault.redactor()).toBe(before);
    vault.registerForRedaction('another-secret');
    expect(vault.redactor()).not.toBe(before);
  });

  it('holds nothing after clear', () => {
    const vault = fullVault();
    vault.clear();
    expect(vault.hasToken()).toBe(false);
    expect(vault.candidate()).toBeNull();
    expect(vault.leaseToken()).toBeNull();
    expect(vault.valuesOf(['DB_PASSWORD']).size).toBe(0);
    expect(vault.redactor().redact('token-secret')).toBe('token-secret');
  });

  const token = (vault: Vault) => vault.setToken('token');
  test.each<[string, boolean, ((vault: Vault) => void)[]]>([
    ['nothing', true, []],
    ['the token', true, [token, token]],
    ['a grant', false, [(vault) => vault.registerForRedaction('grant')]],
    ['the token and a value', false, [token, (vault) => vault.setValue('NAME', 'value')]],
    ['the token and a newer one', false, [token, (vault) => vault.setToken('newer')]],
    ['the token and untracked secrets', false, [token, (vault) => vault.noteUntrackedSecrets()]],
  ])('reports to the sweep whether it held only the token: %s', (_, isTokenOnly, steps) => {
    const sweeps: boolean[] = [];
    const vault = new Vault((tokenOnly) => void sweeps.push(tokenOnly));
    for (const step of steps) step(vault);
    vault.clear();
    vault.clear();
    expect(sweeps).toEqual([isTokenOnly, true]);
  });

  it('is printed as its name', () => {
    const vault = fullVault();
    expect([String(vault), JSON.stringify(vault), inspect(vault)]).toEqual(['[Vault]', '"[Vault]"', '[Vault]']);
  });

  test.each([
    ['inspected', (vault: Vault) => inspect(vault, { showHidden: true, depth: null })],
    ['inspected inside an object', (vault: Vault) => inspect({ deep: { vault } }, { showHidden: true, depth: null })],
    ['formatted', (vault: Vault) => format('%s %o %O %j %d', vault, vault, vault, vault, vault)],
    ['serialised', (vault: Vault) => JSON.stringify({ vault })],
    ['converted to a string', (vault: Vault) => String(vault)],
    ['copied', (vault: Vault) => inspect(structuredClone(Object.assign({}, vault)))],
    ['listed', (vault: Vault) => String(Reflect.ownKeys(vault).concat(Object.keys(vault)))],
  ])('reveals nothing when it is %s', (_how, show) => {
    expect(show(fullVault())).not.toMatch(/secret/);
  });
});
