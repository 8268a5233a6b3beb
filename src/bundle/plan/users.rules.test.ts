import { directoriesOf } from '../archive/archiveEntries.rules.ts';
import { parseComposeFile } from '../compose/composeFile.rules.ts';
import { ownedMountNotices } from './users.rules.ts';
import { composeProjectOf } from '../compose/composeProject.rules.ts';

const paths = ['app.cron', 'home/.ssh/id_ed25519', 'home/.profile', 'conf/app.conf', 'beat.yml', 'tls.key', 'keyfile'];
const releaseFiles = new Set([...paths, ...directoriesOf(paths)]);
const contents = `configs:
  jobs: {file: app.cron}
  text: {content: x}
secrets:
  server.key: {file: tls.key}
  variable: {environment: X}
`;

function noticesOf(keys: string): string[] {
  const parsed = parseComposeFile('compose.yaml', `services:\n  web: {image: a, ${keys}}\n${contents}`);
  if ('problems' in parsed) throw new Error(parsed.problems.map(({ text }) => text).join());
  const notices = ownedMountNotices({ project: composeProjectOf([parsed.file]), releaseFiles });
  expect(notices.every(({ cure }) => cure.startsWith('let the command copy it first'))).toBe(true);
  return notices.map(({ text }) => text);
}

it.each([
  ['volumes: ["./app.cron:/etc/cron.d/app:ro"]', '/etc/cron.d/app of the bundle: cron takes only files of root'],
  ['volumes: ["./app.cron:/var/spool/cron/crontabs/root:ro"]', 'cron takes only files of root'],
  ['volumes: [{type: bind, source: app.cron, target: /etc/logrotate.d/app, read_only: true}]', 'logrotate takes'],
  ['volumes: ["./app.cron:/etc/sudoers.d/app:ro"]', 'sudo takes only files of root'],
  ['volumes: ["./home:/root:ro"]', '/root/.ssh/id_ed25519 of the bundle: ssh takes only files of its own user'],
  ['volumes: ["./beat.yml:/usr/share/filebeat/filebeat.yml:ro"]', 'Beats take only files of root'],
  ['volumes: ["./keyfile:/data/mongo-keyfile:ro"]', 'MongoDB takes only key files'],
  ['configs: [{source: jobs, target: /etc/cron.d/jobs}]', 'cron takes only files of root'],
  ['secrets: [server.key]', '/run/secrets/server.key of the bundle: PostgreSQL takes only keys'],
])('names a file that a program does not take from a bundle: %s', (keys, text) => {
  expect(noticesOf(keys)).toEqual([expect.stringContaining(text)]);
});

it.each([
  'volumes: ["./conf:/etc/app:ro"]',
  'volumes: ["./conf/app.conf:/etc/nginx/nginx.conf:ro"]',
  'volumes: ["data:/etc/cron.d"]',
  'volumes: ["/etc/cron.d:/etc/cron.d:ro"]',
  'configs: [{source: text, target: /etc/cron.d/jobs}]',
  'secrets: [{source: variable, target: /root/.ssh/id}]',
])('has nothing to say of %s', (keys) => {
  expect(noticesOf(keys)).toEqual([]);
});
