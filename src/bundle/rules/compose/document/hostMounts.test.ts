import { parseComposeFile } from './composeFile.ts';
import { hostMountSources } from './hostMounts.ts';

function sourcesOf(...texts: string[]): string[] {
  const read = texts.map((text) => parseComposeFile('compose.yaml', text));
  return hostMountSources(read.flatMap((one) => ('file' in one ? one.file : [])));
}

it('are the absolute sources of mounts and volumes of all files, each once', () => {
  const mounts = '"/srv/a:/a", "/srv/a:/b:ro", {type: bind, source: /srv/long, target: /l}';
  const web = `services: {web: {volumes: [${mounts}]}}\nvolumes: {v: {driver_opts: {device: /srv/device}}, w: {}}`;
  expect(sourcesOf(web, 'services: {db: {volumes: ["/srv/db:/c"]}}')).toEqual([
    ...['/srv/a', '/srv/long', '/srv/db', '/srv/device'],
  ]);
});

it('are none of a mount without a source, of a named volume or of a path in the release', () => {
  const mounts =
    '"/anonymous", "named:/x", "./site:/www", {type: tmpfs, target: /t}, {type: volume, source: v, target: /v}';
  expect(sourcesOf(`services: {web: {volumes: [${mounts}]}}`)).toEqual([]);
});
