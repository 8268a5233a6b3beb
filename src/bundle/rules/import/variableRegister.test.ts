import type { ImportChoices } from './importReport.ts';
import { createVariableRegister } from './variableRegister.ts';

const none: ImportChoices = {
  ...{ name: 'shop', env: 'eu-1', envFile: '.env', profiles: { names: [], by: '' } },
  ...{ images: new Map(), secrets: new Set<string>(), variables: new Map() },
};
const registerOf = (values: Record<string, string> = {}, choices: Partial<ImportChoices> = {}) =>
  createVariableRegister(new Map(Object.entries(values)), { ...none, ...choices });

describe('the register of variables', () => {
  it.each<[string, string | null, boolean]>([
    ['DB_PASSWORD', 'x', true],
    ['DB_PASSWORD', null, true],
    ['DB_PASSWORD', '', true],
    ['DB_PASSWORD', 'yes', false],
    ['TAG', 'x', false],
    ['TAG', null, false],
    ['URL', 'redis://:hunter2@cache', true],
  ])('takes %s with the value %j for a secret: %j', (name, value, isSecret) => {
    expect(registerOf().isSecret(name, value)).toBe(isSecret);
  });

  it('believes what the operator says', () => {
    const choices = { secrets: new Set(['TAG']), variables: new Map([['DB_PASSWORD', null]]) };
    const register = registerOf({ TAG: '1', DB_PASSWORD: 'open' }, choices);
    expect([register.isSecret('TAG', '1'), register.isSecret('DB_PASSWORD', 'open')]).toEqual([true, false]);
    expect([register.openValueOf('TAG'), register.openValueOf('DB_PASSWORD')]).toEqual([null, 'open']);
  });

  it('shows only values that are no secrets', () => {
    const register = registerOf({ TAG: '1', TOKEN: 'abc' });
    expect(['TAG', 'TOKEN', 'NONE'].map(register.openValueOf)).toEqual(['1', null, null]);
    expect(register.values.get('TOKEN')).toBe('abc');
  });

  it('gives one variable to one value, and names others after their owner', () => {
    const register = registerOf();
    const variables = ['1', '1', '2', '3', '4'].map((value) => register.variableFor('KEY', 'WEB', value));
    expect(variables).toEqual(['KEY', 'KEY', 'WEB_KEY', 'WEB_KEY_2', 'WEB_KEY_3']);
    expect([...register.secrets]).toEqual([...new Set(variables)]);
  });

  it('tells apart names that are too long', () => {
    const register = registerOf();
    const variables = ['1', '2', '3', '4'].map((value) => register.variableFor('K'.repeat(300), 'WEB', value));
    const owned = `WEB_${'K'.repeat(300)}`;
    expect(variables).toEqual([
      'K'.repeat(200),
      owned.slice(0, 200),
      `${owned.slice(0, 190)}_2`,
      `${owned.slice(0, 190)}_3`,
    ]);
  });

  it('takes no name that has another value in .env, is used or is reserved', () => {
    const register = registerOf({ KEY: 'x', SAME: 'y' });
    register.takeNames(['USED', 'KEY']);
    expect(register.variableFor('KEY', 'WEB', 'z')).toBe('WEB_KEY');
    expect(register.variableFor('SAME', 'WEB', 'y')).toBe('SAME');
    expect(register.variableFor('USED', 'WEB', 'z')).toBe('WEB_USED');
    expect(register.variableFor('KEY', 'WEB', 'x')).toBe('KEY');
    expect(register.variableFor('HOME', 'WEB', 'z')).toBe('WEB_HOME');
  });

  it.each([
    ['my.key-x', 'my_key_x'],
    ['1KEY', '_KEY'],
    ['K'.repeat(201), 'K'.repeat(200)],
  ])('makes a name of %s', (name, expected) => {
    expect(registerOf().variableFor(name, 'WEB', 'v')).toBe(expected);
  });
});
