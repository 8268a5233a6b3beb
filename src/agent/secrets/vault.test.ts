import { format, inspect } from 'node:util';
import { Vault } from './vault.ts';

function fullVault(): Vault {
  const vault = new Vault();
  vault.holdToken('token-secret');
  vault.holdLease('lease-secret');
  vault.holdValue('DB_PASSWORD', 'value-secret');
  vault.guard('grant-secret');
  return vault;
}

describe('the vault', () => {
  it('gives back what it holds', () => {
    const vault = fullVault();
    expect(vault.hasToken()).toBe(true);
    expect(vault.token()).toBe('token-secret');
    expect(vault.lease()).toBe('lease-secret');
    expect(vault.value('DB_PASSWORD')).toBe('value-secret');
    expect(vault.value('OTHER')).toBeUndefined();
    expect([...vault.values()]).toEqual([['DB_PASSWORD', 'value-secret']]);
  });

  it('has no token before one is held', () => {
    const vault = new Vault();
    expect(vault.hasToken()).toBe(false);
    expect(() => vault.token()).toThrow('the vault holds no token');
    expect(vault.lease()).toBeNull();
  });

  it('redacts everything that it was ever given', () => {
    const vault = fullVault();
    vault.holdToken('newer-secret');
    const text = 'token-secret lease-secret value-secret grant-secret newer-secret';
    expect(vault.redactor().redact(text)).toBe(Array(5).fill('[REDACTED]').join(' '));
  });

  it('makes a new redactor only when something was added', () => {
    const vault = fullVault();
    const before = vault.redactor();
    vault.holdToken('token-secret');
    expect(vault.redactor()).toBe(before);
    vault.guard('another-secret');
    expect(vault.redactor()).not.toBe(before);
  });

  it('holds nothing after it forgot', () => {
    const vault = fullVault();
    vault.forget();
    expect(vault.hasToken()).toBe(false);
    expect(vault.lease()).toBeNull();
    expect(vault.values().size).toBe(0);
    expect(vault.redactor().redact('token-secret')).toBe('token-secret');
  });

  const token = (vault: Vault) => vault.holdToken('token');
  test.each<[string, boolean, ((vault: Vault) => void)[]]>([
    ['nothing', true, []],
    ['the token', true, [token, token]],
    ['a grant', false, [(vault) => vault.guard('grant')]],
    ['the token and a value', false, [token, (vault) => vault.holdValue('NAME', 'value')]],
    ['the token and a newer one', false, [token, (vault) => vault.holdToken('newer')]],
    ['the token and what it does not hold', false, [token, (vault) => vault.noteUnheld()]],
  ])('tells the sweep whether it was the token alone: %s', (_, isAlone, brings) => {
    const heard: boolean[] = [];
    const vault = new Vault((tokenAlone) => void heard.push(tokenAlone));
    for (const bring of brings) bring(vault);
    vault.forget();
    vault.forget();
    expect(heard).toEqual([isAlone, true]);
  });

  test.each([
    ['inspected', (vault: Vault) => inspect(vault, { showHidden: true, depth: null })],
    ['inspected inside something', (vault: Vault) => inspect({ deep: { vault } }, { showHidden: true, depth: null })],
    ['formatted', (vault: Vault) => format('%s %o %O %j %d', vault, vault, vault, vault, vault)],
    ['serialised', (vault: Vault) => JSON.stringify({ vault })],
    ['made a string', (vault: Vault) => String(vault)],
    ['copied', (vault: Vault) => inspect(structuredClone(Object.assign({}, vault)))],
    ['listed', (vault: Vault) => String(Reflect.ownKeys(vault).concat(Object.keys(vault)))],
  ])('shows nothing when it is %s', (_how, show) => {
    expect(show(fullVault())).not.toMatch(/secret/);
  });
});
