import { parseProjectFile, type ProjectDocument } from './projectDocument.rules.ts';
import * as services from './services.rules.ts';
import { newScalar, setValue, textAt } from './yamlNodes.rules.ts';

function documentsOf(...texts: string[]): ProjectDocument[] {
  return texts.flatMap((text) => {
    const read = parseProjectFile('compose.yaml', text);
    if ('problems' in read) throw new Error(read.problems.join('\n'));
    return read.documents;
  });
}

const shared = 'x-a: &a {image: x}\nservices: {a: *a, b: {<<: *a, user: "1"}, c: , d: text, e: {<<: [*a, *a]}}\n';

it('each mapping that services have is one part, which names them', () => {
  const parts = services.servicePartsOf(documentsOf(shared, 'services: {a: {tty: true}}\n'));
  expect(parts.map(({ owner, names }) => [owner, names])).toEqual([
    ['services a, b, e', ['a', 'b', 'e']],
    ['service b', ['b']],
    ['service e', ['e']],
    ['service a', ['a']],
  ]);
  expect(services.serviceNamesOf(documentsOf(shared, 'services: {b: {}, f: {}}\n'))).toEqual(['a', 'b', 'e', 'f']);
});

describe('the value that takes effect', () => {
  const valueOf = (key: string, ...texts: string[]) => {
    const found = services.effectiveOf(documentsOf(...texts), 'a', key);
    return found === null ? null : textAt(found.value, found.document);
  };

  it.each<[string, string[]]>([
    ['x', ['services: {a: {image: x}}']],
    ['y', ['services: {a: {image: x}}', 'services: {a: {image: y}}']],
    ['x', ['services: {a: {image: x}}', 'services: {a: {user: y}, b: {image: z}}']],
    ['x', ['services: {b: {image: x}, a: {extends: b}}']],
    ['x', ['services: {b: {image: x}, a: {extends: {service: b}}}']],
    ['y', ['services: {b: {image: x}, a: {extends: b, image: y}}']],
    ['x', ['services: {c: {image: x}, b: {extends: c}, a: {extends: b}}']],
    ['x', ['services: {a: {image: x}}', 'services: {a: {extends: b}, b: {user: y}}']],
  ])('is %s', (expected, texts) => {
    expect(valueOf('image', ...texts)).toBe(expected);
  });

  it.each([
    ['services: {a: {user: y}, b: {image: x}}'],
    ['services: {a: {extends: a}}'],
    ['services: {a: {extends: none}}'],
  ])('is none: %s', (text) => {
    expect(valueOf('image', text)).toBeNull();
  });
});

it('an own mapping keeps what it shares', () => {
  const [document] = documentsOf('x-a: &a {image: x}\nservices: {a: *a, b: {user: "1"}, c: {}}\n');
  const own = services.servicesOf(document!).map((service) => services.ownMapOf(service));
  for (const map of own) setValue(map, 'tty', newScalar('t'));
  expect(own.map((map) => map.toJSON() as object)).toMatchObject([{ tty: 't' }, { user: '1', tty: 't' }, { tty: 't' }]);
  expect(document!.document.toString()).toContain('a: { <<: *a, tty: t }');
});

it.each([
  ['services: {}', 'services: {}\nvolumes: { v: x }'],
  ['volumes: {w: y}', 'volumes: { w: y, v: x }'],
  ['volumes:', 'volumes: { v: x }'],
])('a section is made where it is missing: %s', (text, expected) => {
  const [document] = documentsOf(`${text}\n`);
  setValue(services.sectionOf(document!, 'volumes'), 'v', newScalar('x'));
  const flat = document!.document.toString().replace(/\n {2,}/g, ' ');
  expect(flat.replace('volumes: v: x', 'volumes: { v: x }').trim()).toBe(expected);
});
