import { refusalsOf, serviceWith } from '../../../../../fixtures/corpus/bundleRefusals.ts';

const refusalsOfLine = async (line: string) => refusalsOf({ compose: serviceWith(line) });
const refusalsOfTop = async (text: string) => refusalsOf({ compose: `services: {web: {image: app:1}}\n${text}\n` });
const held = 'holds a control character';
const named = 'has a key with a control character';

/** Findings of the control characters alone; a value may have more faults. */
const controlFindings = (refusals: { code: string; detail: string }[]) =>
  refusals
    .flatMap(({ code, detail }) => (code === 'COMPOSE_REFUSED' ? detail.split('; ') : []))
    .filter((finding) => finding.includes(' control character '));

describe('control characters from YAML escapes (spec §12.2)', () => {
  it.each([
    ['volumes: ["./conf/a\\0/../app.conf\\0/../../app.env:/t"]', `volumes ${held}`],
    ['hostname: "a\\nb"', `hostname ${held}`],
    ['user: "1000\\t"', `user ${held}`],
    ['working_dir: "/a\\x7fb"', `working_dir ${held}`],
    ['mem_limit: "1g\\x85"', `mem_limit ${held}`],
    ['networks: {n: {ipv4_address: "10.0.0.2\\n"}}', `networks.n.ipv4_address ${held}`],
    ['labels: {"a\\nb": c}', `labels ${named}`],
    ['environment: {"A\\x01": b}', `environment ${named}`],
    ['environment: ["A\\x1b=b"]', `environment ${held}`],
    ['environment: {A: "b\\0"}', `environment.A ${held}`],
    ...['\\0', '\\x08', '\\x0b', '\\x0c', '\\x0e', '\\x1f', '\\x7f', '\\x9f'].map((one) => [
      `command: ["a${one}"]`,
      `command ${held}`,
    ]),
    ['healthcheck: {test: "a\\e"}', `healthcheck.test ${held}`],
    ['healthcheck: {interval: "1s\\n"}', `healthcheck.interval ${held}`],
    ['dns_search: ["a\\u2028b"]', `dns_search ${held}`],
    ['dns_search: ["a\\u2029b"]', `dns_search ${held}`],
    ['hostname: "\\ufeffa"', `hostname ${held}`],
    ['x-a: {"b\\0": c}', `x-a ${named}`],
    ['x-a: "b\\0"', `x-a ${held}`],
    ['storage_opt: {size: "1\\n"}', `storage_opt.size ${held}`],
    ['deploy: {labels: {a: "\\0"}}', `deploy.labels.a ${held}`],
    ['logging: {options: {labels: "a\\n"}}', `logging.options.labels ${held}`],
    ['post_start: [{working_dir: "a\\n"}]', `post_start.working_dir ${held}`],
    ['ulimits: {command: {hard: "1\\n"}}', `ulimits.command.hard ${held}`],
  ])('are refused in a service: %s', async (line, finding) => {
    expect(controlFindings(await refusalsOfLine(line))).toMatchObject([`service web: ${finding} (compose.yaml:5)`]);
  });

  it('are refused as halves of a character', async () => {
    expect((await refusalsOfLine('hostname: "\\ud83d\\ude00"')).map(({ code }) => code)).toMatchObject([
      'COMPOSE_REFUSED',
    ]);
  });

  it.each([
    ['volumes: {data: {labels: {"a\\tb": c}}}', `volume data: labels ${named}`],
    ['volumes: {data: {driver: "a\\n"}}', `volume data: driver ${held}`],
    ['volumes: {"a\\nb": }', `file: volumes ${named}`],
    ['configs: {c: {content: "a\\0"}}', `config c: content ${held}`],
    ['secrets: {c: {name: "a\\n"}}', `secret c: name ${held}`],
    ['name: "deployd-eu-1\\n"', `file: name ${held}`],
    ['version: ["a\\n"]', `file: version ${held}`],
    ['"a\\n": {}', `file: ${named}`],
    ['x-a: "b\\0"', `file: x-a ${held}`],
    ['x-a: {"b\\0": "c\\0"}', `file: x-a ${named}`, `file: x-a.b\ufffd ${held}`],
  ])('are refused at the top level: %s', async (line, ...findings) => {
    const expected = findings.map((finding) => `${finding} (compose.yaml:2)`);
    expect(controlFindings(await refusalsOfTop(line))).toMatchObject(expected);
  });

  it.each([
    'command: ["sh", "-c", "a\\n\\tb\\r\\n"]',
    'command: |\n      a\n      b',
    'environment: {A: "b\\n\\tc"}',
    'environment: ["A=b\\nc"]',
    'healthcheck: {test: "a\\nb"}',
    'labels: {a: "b\\nc"}',
    'post_start: [{command: "a\\nb", environment: {A: "b\\n"}}]',
    'x-note: "a\\nb\\tc"',
    'deploy: {labels: {a: "b\\nc"}, x-a: {b: ["c\\n"]}}',
    'pre_stop: [{command: ["a\\nb"]}]\n    pre_start: [{command: "\\t"}]\n    entrypoint: "a\\n"',
  ])('are allowed in free text if they are line ends or tabs: %s', async (line) => {
    expect(await refusalsOfLine(line)).toMatchObject([]);
  });

  it.each([
    'configs: {c: {content: "a\\r\\n\\tb \\u2028\\n"}}',
    'secrets: {c: {content: "a\\n"}}\nnetworks: {a: {labels: {b: "\\t"}}}\nvolumes: {a: {labels: ["b=\\n"]}}',
    'x-a: {b: "c\\n"}\nx-b: ["\\t"]',
  ])('are allowed in content and labels if they are line ends or tabs: %s', async (text) => {
    expect(await refusalsOfTop(text)).toMatchObject([]);
  });
});
