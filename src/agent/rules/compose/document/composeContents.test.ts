import { contentSources, envAndLabelFiles, composeContentsOf } from './composeContents.ts';
import { parseComposeFile } from './composeFile.ts';

function filesOf(...texts: string[]) {
  return texts.map((text, index) => {
    const parsed = parseComposeFile(`${index}.yaml`, text);
    if ('problems' in parsed) throw new Error(parsed.problems.join('\n'));
    return parsed.file;
  });
}

describe('services of a bundle', () => {
  it('have image, profiles and replicas, and later files take precedence', () => {
    const files = filesOf(
      'services: {a: {image: "x:${TAG}", deploy: {replicas: 2}}, b: {image: y, profiles: [p]}, c: {scale: 3}}',
      'services: {a: {image: z}, d: {image: y, scale: "${N}"}, e: {extends: a}}',
    );
    expect(composeContentsOf(files)).toEqual({
      services: [
        { name: 'a', image: 'z', profiles: [], replicas: 2 },
        { name: 'b', image: 'y', profiles: ['p'], replicas: 1 },
        { name: 'c', image: null, profiles: [], replicas: 3 },
        { name: 'd', image: 'y', profiles: [], replicas: null },
        { name: 'e', image: 'z', profiles: [], replicas: 1 },
      ],
      images: ['z', 'y'],
      volumes: [],
    });
  });

  it('inherit image and mounts from the service that they extend', () => {
    const files = filesOf('services: {a: {image: x, volumes: ["./conf:/c"]}, b: {extends: {service: a}}}');
    expect(composeContentsOf(files).services[1]?.image).toBe('x');
    expect(contentSources(files).get('b')?.files).toEqual(['conf']);
  });

  it('may extend each other in a cycle', () => {
    const files = filesOf('services: {a: {extends: b}, b: {extends: a}}');
    expect(composeContentsOf(files).services).toHaveLength(2);
  });
});

describe('volumes of a bundle', () => {
  it('have driver and options from all files, and external volumes are left out', () => {
    const files = filesOf(
      'volumes: {a: , b: {driver: local, driver_opts: {size: 1g}}, c: {external: true}}',
      'volumes: {b: {name: p_b, driver_opts: {size: 2g}}, d: {external: false}}',
    );
    expect(composeContentsOf(files).volumes).toEqual([
      { key: 'a', name: null, driver: 'local', driver_opts: {} },
      { key: 'b', name: 'p_b', driver: 'local', driver_opts: { size: '2g' } },
      { key: 'd', name: null, driver: 'local', driver_opts: {} },
    ]);
  });
});

describe('the content sources of a service', () => {
  it('are configs, secrets, binds of the bundle, env files and label files', () => {
    const files = filesOf(
      `
services:
  web:
    configs: [app, {source: made}, {source: named}]
    secrets: [tls, token]
    volumes: ["./conf/:/c", "data:/d", "/etc:/e", {type: bind, source: static, target: /s}, {type: volume, source: v, target: /v}]
    env_file: [./app.env, {path: more.env}]
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
  });
});
