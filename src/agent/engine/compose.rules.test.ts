import { composeRangeOf, type ComposeVersion, isInRange, PullProgress } from './compose.rules.ts';

const [a, b] = ['73cbe64c5a73', 'a8dac55432e2'];
/** A pull that printed these lines, one a second. */
function pullWith(lines: string[]): PullProgress {
  const progress = new PullProgress(0);
  lines.forEach((line, index) => progress.read(line, (index + 1) * 1000));
  return progress;
}

it.each([
  [' web Pulling ', false],
  [` ${a} Pulling fs layer `, true],
  [` ${a} Pulling fs layer 0B`, true],
  [` ${b} Downloading [=>      ]  97.89kB/3.001MB`, true],
  [` ${a} Retrying in 4 seconds `, true],
  ['Error response from daemon: manifest unknown', false],
])('recognises a line about a layer: %s', (line, expected) => {
  expect(new PullProgress(0).read(line, 0)).toBe(expected);
});

it.each<[string, string[], number]>([
  ['before the registry answers', [' web Pulling '], 60],
  ['when bytes stop', [` ${a} Downloading [>]  1MB/3MB`], 59],
  ['when lines repeat themselves', [` ${a} Downloading [>]  1MB/3MB`, ` ${a} Downloading [>]  1MB/3MB`], 59],
  [
    'while the engine only tries again',
    [` ${a} Downloading 1MB`, ` ${a} Retrying in 2 seconds `, ` ${a} Retrying in 1 second `],
    59,
  ],
  ['while another layer waits', [` ${a} Download complete `, ` ${b} Waiting `], 59],
  ['not while a layer is unpacked', [` ${b} Downloading [>]  1MB/3MB`, ` ${a} Extracting [=>]  1MB/1MB`], 0],
  ['not while a layer is verified', [` ${b} Pulling fs layer `, ` ${a} Verifying Checksum `], 0],
  ['not when all layers are here', [` ${a} Download complete `, ` ${b} Already exists `], 0],
])('stalls %s', (_when, lines, seconds) => {
  expect(pullWith(lines).stalledMs(60_000)).toBe(seconds * 1000);
});

it.each<[string, string[], string]>([
  ['nothing', [], '0.0 MiB arrived after 60s, at 0.0 KiB/s'],
  [
    'layers of known sizes',
    [` ${a} Pulling fs layer `, ` ${b} Already exists `, ` ${a} Downloading [>]  1.049MB/4.194MB`],
    '1.0 MiB of 4.0 MiB arrived after 60s, at 341.5 KiB/s',
  ],
  [
    'a layer that is complete',
    [` ${a} Downloading [>]  1MB/2.098MB`, ` ${a} Download complete `],
    '2.0 MiB of 2.1 MiB arrived after 60s, at 1024.4 KiB/s',
  ],
  [
    'layers without sizes, as of compose 5',
    [` ${a} Downloading 1.049MB`, ` ${b} Downloading 524.3kB`],
    '1.5 MiB arrived after 60s, at 768.2 KiB/s',
  ],
])('describes the received data: %s', (_what, lines, expected) => {
  expect(pullWith(lines).describe(60_000)).toBe(expected);
});

it.each<[podman: string | null, compose: ComposeVersion, works: boolean]>([
  [null, [2, 19], false],
  [null, [1, 29], false],
  [null, [2, 20], true],
  [null, [2, 31], true],
  [null, [5, 6], true],
  ['4.3.1', [2, 19], false],
  ['4.3.1', [2, 20], true],
  ['4.3.1', [2, 30], true],
  ['4.3.1', [2, 31], false],
  ['4.9.5', [5, 6], false],
  ['5.3.2', [2, 31], false],
  ['5.4.0-rc1', [2, 31], true],
  ['5.4.2', [5, 6], true],
  ['6.0.0', [5, 6], true],
  ['6.0.0', [2, 19], false],
])('with Podman %s compose %j works: %s', (podman, compose, works) => {
  expect(isInRange(compose, composeRangeOf(podman))).toBe(works);
});

it('describes the supported versions', () => {
  expect(composeRangeOf('5.4.2').requirement).toBe('compose 2.20 or newer is needed');
  expect(composeRangeOf('4.3.1').requirement).toBe(
    'compose 2.20 to 2.30 is needed with Podman 4.3.1, or Podman 5.4 or newer',
  );
});
