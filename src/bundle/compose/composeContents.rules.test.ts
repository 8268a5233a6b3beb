import {
  composeContentsOf,
  contentSources,
  envAndLabelFiles,
  envFilesOf,
  openedPaths,
  writablePaths,
  writtenImages,
} from './composeContents.rules.ts';
import { parseComposeFile } from './composeFile.rules.ts';

function filesOf(...texts: string[]) {
  return texts.map((text, index) => {
    const parsed = parseComposeFile(`${index}.yaml`, text);
    if ('problems' in parsed) throw new Error(parsed.problems.map(({ text }) => text).join('\n'));
    return parsed.file;
  });
}

describe('services of a bundle', () => {
  it('have the image that is written last, if any', () => {
    const files = filesOf(
      'services: {a: {image: "x:${TAG}"}, b: {build: .}}',
      'services: {a: {image: z}, c: {extends: a}}',
    );
    expect(writtenImages(files)).toEqual(
      new Map([
        ['a', 'z'],
        ['c', 'z'],
      ]),
    );
  });

  it('have image and replicas, and later files take precedence', () => {
    const files = filesOf(
      'services: {a: {image: "x:${TAG}", deploy: {replicas: 12}}, b: {image: y}, c: {scale: 3}}',
      'services: {a: {image: z}, d: {image: y, scale: "1${N}2"}, e: {extends: a, scale: "${N}2"}, f: {scale: 2x}}',
    );
    expect(composeContentsOf(files, [])).toEqual({
      services: [
        { name: 'a', image: 'z', replicas: 12 },
        { name: 'b', image: 'y', replicas: 1 },
        { name: 'c', image: null, replicas: 3 },
        { name: 'd', image: 'y', replicas: null },
        { name: 'e', image: 'z', replicas: null },
        { name: 'f', image: null, replicas: null },
      ],
      images: ['z', 'y'],
      volumes: [],
    });
  });

  it('inherit image and mounts from the service that they extend', () => {
    const files = filesOf('services: {a: {image: x, volumes: ["./conf:/c"]}, b: {extends: {service: a}}}');
    expect(composeContentsOf(files, []).services[1]?.image).toBe('x');
    expect(contentSources(files).get('b')?.files).toEqual(['conf']);
  });

  it('may extend each other in a cycle', () => {
    const files = filesOf('services: {a: {extends: b}, b: {extends: a}}');
    expect(composeContentsOf(files, []).services).toHaveLength(2);
  });

  it.each([
    [16, 'x'],
    [17, null],
  ])('inherit over a chain of %s: the image %s', (length, image) => {
    const extending = Array.from({ length }, (_, at) => `  s${at + 1}: {extends: s${at}}\n`);
    const [file] = filesOf(`services:\n  s0: {image: x}\n${extending.join('')}`);
    expect(composeContentsOf([file!], []).services.at(-1)).toMatchObject({ name: `s${length}`, image });
  });
});

describe('volumes of a bundle', () => {
  it('have driver and options from all files, and external volumes are left out', () => {
    const files = filesOf(
      'volumes: {a: , b: {driver: local, driver_opts: {size: 1g, o: }}, c: {external: true}, g: {external: {name: a}}}',
      'volumes: {b: {name: p_b, driver_opts: {size: 2g}}, d: {external: false}, e: {external: xno}, f: {external: nox}}',
      'volumes: {d: {driver: x}}',
    );
    expect(composeContentsOf(files, []).volumes).toEqual([
      { key: 'a', name: null, driver: 'local', driver_opts: {} },
      { key: 'b', name: 'p_b', driver: 'local', driver_opts: { size: '2g', o: '' } },
      { key: 'd', name: null, driver: 'x', driver_opts: {} },
    ]);
  });
});

describe('the content sources of a service', () => {
  it('are configs, secrets, binds of the bundle, env files and label files', () => {
    const files = filesOf(
      `
services:
  web:
    configs: [app, {source: made}, {source: named}, {target: other}, missing]
    secrets: [tls, token]
    volumes: ["./conf/:/c", "data:/d", "/etc:/e", {type: bind, source: static, target: /s}, {type: volume, source: v, target: /v}, ~, {type: bind}]
    env_file: [./app.env, {path: more.env, format: raw}, {required: true}, ~, "\${V}.env", ../out.env, /etc/a, ~/b, .]
    label_file: labels.txt
  db: {image: x}
`,
      `
configs: {app: {file: ./app.conf}, made: {content: "a \${ONE} \${TWO:-\${THREE}}"}, named: {environment: FOUR}, other: {file: other}}
secrets: {tls: {file: tls.pem}, token: {environment: FIVE}}
`,
    );
    expect(contentSources(files)).toEqual(
      new Map([
        [
          'web',
          {
            files: ['app.conf', 'app.env', 'conf', 'labels.txt', 'more.env', 'static', 'tls.pem'],
            texts: ['a ${ONE} ${TWO:-${THREE}}'],
            variables: ['FIVE', 'FOUR', 'ONE', 'THREE', 'TWO'],
          },
        ],
        ['db', { files: [], texts: [], variables: [] }],
      ]),
    );
    expect(envAndLabelFiles(files)).toEqual(['app.env', 'more.env', 'labels.txt']);
    expect(envFilesOf(files)).toEqual([
      { path: 'app.env', isRaw: false },
      { path: 'more.env', isRaw: true },
    ]);
    expect(openedPaths(files)).toEqual({
      all: ['app.conf', 'app.env', 'conf', 'labels.txt', 'more.env', 'static', 'tls.pem'],
      byCompose: ['app.env', 'more.env', 'labels.txt'],
    });
  });

  it('may be written to unless their mounts are read-only', () => {
    const files = filesOf(
      'services: {a: {volumes: ["./d:/1", "./b:/2:z", "./c:/3:ro", "v:/4", ./b/, {type: bind, source: a, read_only: no}]}}',
      'services: {b: {volumes: ["./e:/1:ro,rw", "./f:/2:z,ro", "./f:/ro", {type: bind, source: g, read_only: ON}]}}',
      'services: {c: {volumes: [{type: bind, source: h, read_only: xon}, {type: bind, source: i, read_only: ony}]}}',
    );
    expect(writablePaths(files)).toEqual(['a', 'b', 'd', 'e', 'f', 'h', 'i']);
    const replaced = filesOf(
      'services: {a: {volumes: ["./d:/a", "./e:/e"]}, b: {extends: a, volumes: ["./d:/a:ro"]}}',
      'services: {a: {volumes: [{type: bind, source: ./d, target: /a, read_only: true}]}}',
    );
    expect(writablePaths(replaced)).toEqual(['e']);
  });
});
