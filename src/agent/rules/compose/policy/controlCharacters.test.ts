import { refusalsOf, serviceWith } from '../../../../../fixtures/corpus/bundleRefusals.ts';

const codesOf = async (line: string) => (await refusalsOf({ compose: serviceWith(line) })).map(({ code }) => code);
const ofFile = async (text: string) =>
  (await refusalsOf({ compose: `services: {web: {image: app:1}}\n${text}\n` })).map(({ code }) => code);

describe('control characters from YAML escapes (spec §12.2)', () => {
  it.each([
    'volumes: ["./conf/a\\0/../app.conf\\0/../../app.env:/t"]',
    'hostname: "a\\nb"',
    'user: "1000\\t"',
    'working_dir: "/a\\x7fb"',
    'mem_limit: "1g\\x85"',
    'networks: {n: {ipv4_address: "10.0.0.2\\n"}}',
    'labels: {"a\\nb": c}',
    'environment: {"A\\x01": b}',
    'environment: ["A\\x1b=b"]',
    'environment: {A: "b\\0"}',
    'command: ["a\\0"]',
    'command: ["a\\x08"]',
    'healthcheck: {test: "a\\e"}',
    'healthcheck: {interval: "1s\\n"}',
    'dns_search: ["a\\u2028b"]',
    'hostname: "\\ufeffa"',
    'hostname: "\\ud83d\\ude00"',
    'x-a: {"b\\0": c}',
  ])('are refused in a service: %s', async (line) => {
    expect(await codesOf(line)).toEqual(['COMPOSE_REFUSED']);
  });

  it.each(['volumes: {data: {labels: {"a\\tb": c}}}', 'configs: {c: {content: "a\\0"}}'])(
    'are refused at the top level: %s',
    async (line) => {
      expect(await ofFile(line)).toEqual(['COMPOSE_REFUSED']);
    },
  );

  it.each([
    'command: ["sh", "-c", "a\\n\\tb\\r\\n"]',
    'command: |\n      a\n      b',
    'environment: {A: "b\\n\\tc"}',
    'environment: ["A=b\\nc"]',
    'healthcheck: {test: "a\\nb"}',
    'labels: {a: "b\\nc"}',
    'post_start: [{command: "a\\nb", environment: {A: "b\\n"}}]',
    'x-note: "a\\nb\\tc"',
  ])('are allowed in free text if they are line ends or tabs: %s', async (line) => {
    expect(await codesOf(line)).toEqual([]);
  });

  it('are allowed in a config if they are line ends or tabs', async () => {
    expect(await ofFile('configs: {c: {content: "a\\r\\n\\tb \\u2028\\n"}}')).toEqual([]);
  });
});
