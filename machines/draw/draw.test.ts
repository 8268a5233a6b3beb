import { createMachine } from 'xstate';
import { tick } from '../tick.ts';
import { dotOf } from './dot.ts';
import { graphOf, type Arrow } from './graph.ts';
import { lanesOf } from './lanes.ts';
import { mermaidOf } from './mermaid.ts';
import { edgesOf } from './edges.ts';
import { stylesheet } from './stylesheet.ts';
import { inlineSvgOf, svgOf } from './svg.ts';
import { textOf } from './text.ts';

const lamp = createMachine({
  id: 'lamp',
  initial: 'lighting',
  on: { STOP: { actions: ['note', 'greet'] } },
  states: {
    lighting: {
      description: 'Lights it: "now" & <here>.',
      entry: 'greet',
      invoke: {
        id: 'light',
        src: 'light',
        onDone: { target: 'glowing', actions: 'note' },
        onError: [{ guard: 'isSmashed', target: 'smashed' }, 'judging'],
      },
    },
    glowing: { after: { evening: 'judging' }, on: { BLOW: 'judging', STOP: { actions: ['note', 'greet'] } } },
    judging: { always: [{ guard: { type: 'is', params: 'late' }, target: 'dark', description: 'no light' }, 'lit'] },
    lit: { type: 'final', meta: { exit: 0, report: 'lit' } },
    dark: { type: 'final', meta: { exit: 75 } },
    smashed: { type: 'final', meta: { exit: 1 } },
  },
});

it('converts the states of a machine to boxes', () => {
  const { id, initial, boxes, anywhere } = graphOf(lamp);
  expect([id, initial, anywhere]).toEqual(['lamp', 'lighting', [{ on: 'STOP', actions: ['note', 'greet'] }]]);
  expect(boxes.map(({ name, kind, invokes, exit }) => [name, kind, invokes, exit])).toEqual([
    ['lighting', 'working', 'light', null],
    ['glowing', 'waiting', null, null],
    ['judging', 'passing', null, null],
    ['lit', 'ending', null, 0],
    ['dark', 'ending', null, 75],
    ['smashed', 'ending', null, 1],
  ]);
  expect(boxes[0]).toMatchObject({ description: 'Lights it: "now" & <here>.', entry: ['greet'], report: null });
});

it('converts the transitions of a machine to arrows', () => {
  const arrows = graphOf(lamp).arrows.map(({ from, on, guard, actions, to, fault }) => [
    from,
    on,
    guard,
    actions,
    to,
    fault,
  ]);
  expect(arrows).toEqual([
    ['lighting', 'light done', null, ['note'], 'glowing', false],
    ['lighting', 'light failed', 'isSmashed', [], 'smashed', true],
    ['lighting', 'light failed', null, [], 'judging', true],
    ['glowing', 'BLOW', null, [], 'judging', false],
    ['glowing', 'STOP', null, ['note', 'greet'], 'glowing', false],
    ['glowing', 'after evening', null, [], 'judging', false],
    ['judging', '', 'is late', [], 'dark', false],
    ['judging', '', null, [], 'lit', false],
  ]);
});

it('prints a graph as a Mermaid diagram', () => {
  expect(mermaidOf(graphOf(lamp)).split('\n  ')).toEqual([
    'stateDiagram-v2',
    'state "lighting\\n⚙ light" as lighting',
    'state "glowing" as glowing',
    'state "judging" as judging',
    'state "lit\\nexit 0" as lit',
    'state "dark\\nexit 75" as dark',
    'state "smashed\\nexit 1" as smashed',
    '[*] --> lighting',
    'lighting --> glowing: light done',
    'lighting --> smashed: light failed [isSmashed]',
    'lighting --> judging: light failed',
    'glowing --> judging: BLOW\\nafter evening',
    'glowing --> glowing: STOP',
    'judging --> dark: [is late]',
    'judging --> lit',
    'classDef good fill:#e6f4ea,stroke:#1e7d34,color:#12351b',
    'class lit good',
    'classDef later fill:#fff4d6,stroke:#9a6b00,color:#3d2b00',
    'class dark later',
    'classDef bad fill:#fde7e7,stroke:#b3261e,color:#410e0b',
    'class smashed bad',
  ]);
});

it('prints a graph for Graphviz', () => {
  const font = 'fontname="Helvetica,Arial,sans-serif"';
  expect(dotOf(graphOf(lamp)).split('\n  ')).toEqual([
    'digraph "lamp" {',
    `graph [${font}, nodesep="0.3", ranksep="0.4"]`,
    `node [${font}, shape="box", style="rounded,filled", fillcolor="#eef2f7", color="#4a5a6a"]`,
    `edge [${font}, fontsize="11", color="#4a5a6a"]`,
    '"●" [shape="point", width="0.15"]',
    String.raw`"lighting" [label="lighting\n⚙ light", tooltip="Lights it: \"now\" & <here>."]`,
    '"glowing" [label="glowing"]',
    '"judging" [label="judging"]',
    String.raw`"lit" [label="lit\nexit 0", peripheries="2", fillcolor="#e6f4ea", color="#1e7d34"]`,
    String.raw`"dark" [label="dark\nexit 75", peripheries="2", fillcolor="#fff4d6", color="#9a6b00"]`,
    String.raw`"smashed" [label="smashed\nexit 1", peripheries="2", fillcolor="#fde7e7", color="#b3261e"]`,
    '"●" -> "lighting"',
    '"lighting" -> "glowing"',
    '"lighting" -> "smashed" [label="isSmashed", style="dashed", color="#b3261e", fontcolor="#b3261e"]',
    '"lighting" -> "judging" [style="dashed", color="#b3261e", fontcolor="#b3261e"]',
    String.raw`"glowing" -> "judging" [label="BLOW\nafter evening"]`,
    '"glowing" -> "glowing" [label="STOP"]',
    '"judging" -> "dark" [label="is late"]',
    '"judging" -> "lit"\n}',
  ]);
});

it('draws a graph with styles of its own, or without for a page that has them', () => {
  const inline = inlineSvgOf(graphOf(lamp));
  expect(inline).toContain('<title>Lights it: "now" &amp; &lt;here&gt;.</title>');
  expect(svgOf(graphOf(lamp)).replace(`<style>${stylesheet}</style>\n`, '')).toBe(inline);
});

it('joins parallel arrows to one edge and omits labels that the picture implies', () => {
  const edgesFrom = (machine: Parameters<typeof graphOf>[0], from: string) =>
    edgesOf(graphOf(machine))
      .filter((edge) => edge.from === from)
      .map(({ to, labels, fault, isFanOut }) => [to, labels.join(' or '), fault, isFanOut]);
  expect(edgesFrom(lamp, 'lighting')).toEqual([
    ['glowing', '', false, false],
    ['smashed', 'isSmashed', true, false],
    ['judging', '', true, false],
  ]);
  expect(edgesFrom(lamp, 'glowing')).toEqual([
    ['judging', 'BLOW or after evening', false, false],
    ['glowing', 'STOP', false, false],
  ]);
  expect(edgesFrom(tick, 'selectingCredential')[0]).toEqual([
    'bootstrapping',
    'wantsBootstrapOnly or hasGrant',
    false,
    false,
  ]);
  expect(edgesFrom(tick, 'selectingEnding')[0]).toEqual(['applied', '', false, true]);
});

it('prints a graph as text', () => {
  expect(textOf(graphOf(lamp)).split('\n')).toEqual([
    'machine lamp',
    '',
    '  lighting  ⚙ light',
    '    Lights it: "now" & <here>.',
    '    → glowing',
    '    → smashed  (failed, isSmashed)',
    '    → judging  (failed)',
    '',
    '  glowing',
    '    → judging  (BLOW or after evening)',
    '    → glowing  (STOP)',
    '',
    '  judging',
    '    → dark  (is late)',
    '    → lit',
    '',
    'STOP, wherever it is: note, greet',
    '',
    'endings',
    '  lit      exit 0   ',
    '  dark     exit 75  ',
    '  smashed  exit 1   ',
  ]);
});

it('prints the choice of the ending as one line of the text', () => {
  expect(textOf(graphOf(tick)).split('\n\n')).toContain('  selectingEnding\n    → the ending of the outcome');
});

it('draws and prints a machine that never ends', () => {
  const states = { on: { after: { pause: 'off' } }, off: { after: { pause: 'on' } } };
  const blink = graphOf(createMachine({ id: 'blink', initial: 'on', states }));
  expect(textOf(blink)).toBe('machine blink\n\n  on\n    → off  (after pause)\n\n  off\n    → on  (after pause)');
  expect(inlineSvgOf(blink)).toContain('id="blink.off.on"');
});

it('takes an edge for a choice of the ending only if every guard names the target', () => {
  const [arrow] = graphOf(lamp).arrows as [Arrow];
  const arrows = [{ ...arrow, guard: 'endsAs glowing' }, arrow];
  expect(edgesOf({ ...graphOf(lamp), arrows })).toMatchObject([{ to: 'glowing', labels: [], isFanOut: false }]);
});

it('draws edges that meet at a state beside each other', () => {
  const edgeOf = (from: string, to: string) => ({ from, to, labels: [], fault: false, isFanOut: false });
  const lanes = lanesOf([edgeOf('lighting', 'judging'), edgeOf('judging', 'lit')], graphOf(lamp).boxes);
  expect(lanes.map(({ to, track }) => [to, track])).toEqual([
    ['lit', 0],
    ['judging', 1],
  ]);
});
