import { eachEnv, type RunForEnv } from './commandSettings.ts';

const files = ['/etc/deployd/config.yaml', '/etc/deployd-envs/shop/config.yaml', '/etc/deployd-envs/blog/config.yaml'];
const unusable = new Error('cannot be used');
let printed: string[];
let told: string[];
beforeEach(() => {
  [printed, told] = [[], []];
});

const run = (json: boolean, results: (number | Error)[]): Promise<number> => {
  const out = { log: (line: string) => printed.push(line), error: (line: string) => told.push(line) };
  const tell = (error: unknown) => (error === unusable ? { lines: [unusable.message], exit: 78 } : null);
  const command: RunForEnv = (file, { log }) => {
    const result = results[files.indexOf(file)];
    if (result instanceof Error) return Promise.reject(result);
    log(json ? JSON.stringify({ well: result === 0, file }, null, 2) : `of ${file}\n  exit ${result}`);
    return Promise.resolve(result ?? 0);
  };
  return eachEnv(files, { json, verdict: 'well', tell, out }, command);
};

it('shows all environments one below the other, and exits with the worst code', async () => {
  expect(await run(false, [0, 1, 0])).toBe(1);
  expect(printed.join('\n').split('\n')).toEqual([
    ...['deployd.service, /etc/deployd/config.yaml', 'of /etc/deployd/config.yaml', '  exit 0', ''],
    ...[
      'deployd@shop.service, /etc/deployd-envs/shop/config.yaml',
      'of /etc/deployd-envs/shop/config.yaml',
      '  exit 1',
    ],
    ...['', 'deployd@blog.service, /etc/deployd-envs/blog/config.yaml', 'of /etc/deployd-envs/blog/config.yaml'],
    '  exit 0',
  ]);
});

it('exits with 0 when all environments are ok', async () => {
  expect(await run(true, [0, 0, 0])).toBe(0);
  expect(JSON.parse(printed.join('\n'))).toEqual({
    well: true,
    envs: files.map((file) => ({ config: file, well: true, file })),
  });
});

it.each([true, false])('continues after an environment that cannot be shown (json: %s)', async (json) => {
  expect(await run(json, [unusable, 0, 1])).toBe(78);
  expect(told).toEqual(['cannot be used']);
  if (json)
    expect(JSON.parse(printed.join('\n'))).toMatchObject({
      well: false,
      envs: [{ config: files[0], well: false }, { well: true }, { well: false }],
    });
  else expect(printed).toHaveLength(3);
});

it('exits on a bug of the program', async () => {
  await expect(run(false, [0, new TypeError('a bug'), 0])).rejects.toThrow('a bug');
});
