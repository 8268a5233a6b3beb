const light = {
  ground: '#fbfaf8',
  ink: '#1d2530',
  soft: '#5b6673',
  line: '#8a95a1',
  fault: '#b3261e',
  box: '#eef1f5',
  edge: '#9aa6b2',
  good: ['#e2f3e7', '#1e7d34'],
  later: ['#fdf1cf', '#8f6400'],
  bad: ['#fce4e2', '#b3261e'],
};

const dark: typeof light = {
  ground: '#14181e',
  ink: '#e6eaf0',
  soft: '#a0abb8',
  line: '#6c7885',
  fault: '#f2867d',
  box: '#222a33',
  edge: '#4d5967',
  good: ['#14301d', '#6bc483'],
  later: ['#332a0e', '#e0b54a'],
  bad: ['#3a1a18', '#f2867d'],
};

/** Styles of a standalone SVG, with literal colours because not every viewer supports CSS variables. */
export const stylesheet = `
text{font:11px ui-sans-serif,system-ui,"Helvetica Neue",Arial,sans-serif}
.name{font-size:13px;font-weight:600}
.service{font-family:ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace}
.label{font-style:italic}
.road path{fill:none;stroke-width:1.4}
.fault path{stroke-dasharray:4 3}
.road path.head{stroke:none}
.state rect{stroke-width:1.2}
.ending rect{stroke-width:1.8}
.passing rect{stroke-dasharray:1.5 2.5;stroke-linecap:round}
${formatColours(light)}
@media (prefers-color-scheme:dark){
${formatColours(dark)}
}
`;

function formatColours({ ground, ink, soft, line, fault, box, edge, ...exitClasses }: typeof light): string {
  return [
    `.ground{fill:${ground}}`,
    `.name{fill:${ink}}`,
    `.label,.service{fill:${soft}}`,
    `.start,.road .head{fill:${line}}`,
    `.road path{stroke:${line}}`,
    `.fault .head{fill:${fault}}`,
    `.fault path{stroke:${fault}}`,
    `.state rect{fill:${box};stroke:${edge}}`,
    `.frame{fill:none;stroke:${edge}}`,
    ...Object.entries(exitClasses).map(([name, [fill, stroke]]) => `.${name} rect{fill:${fill};stroke:${stroke}}`),
  ].join('\n');
}
