import { html, nothing, type TemplateResult } from 'lit-html';
import type { HeldEnv, HeldHost, UnknownArchive } from '../api/types.ts';
import { type Column, table } from '../components/lists.ts';
import { emptyState, type Page, type Visit } from '../components/page.ts';
import { digest, facts, fullTime, timeAgo, toneBadge } from '../components/words.ts';
import { hostsThat, type Tone } from '../core/backends.rules.ts';
import { hrefOf, may } from '../core/pages.rules.ts';

type HostChange = HeldHost['change'];

const bundleText = 'a bundle that the restored service does not know';
const unknownBundle: [string, string] = [`runs ${bundleText}`, `run ${bundleText}`];

/** Changes that the release of an environment makes on a host. */
const changes: Record<HostChange, { tone: Tone; name: string; meaning: [one: string, many: string] }> = {
  back: {
    tone: 'bad',
    name: 'goes back',
    meaning: ['would get an older bundle than it runs', 'would get an older bundle than they run'],
  },
  unknown: { tone: 'bad', name: 'unknown bundle', meaning: unknownBundle },
  down: {
    tone: 'bad',
    name: 'taken down',
    meaning: ['would be taken down: it is retiring', 'would be taken down: they are retiring'],
  },
  apply: {
    tone: 'later',
    name: 'applies',
    meaning: ['would get a newer bundle, or its first one', 'would get a newer bundle, or their first one'],
  },
  locked: { tone: 'idle', name: 'locked', meaning: ['is locked and gets no orders', 'are locked and get no orders'] },
  none: { tone: 'good', name: 'no change', meaning: ['would not change', 'would not change'] },
};
const silence = ['has not checked in since the restore', 'have not checked in since the restore'] as const;
const order = Object.keys(changes) as HostChange[];

/** The review after a restore: what the release of each held environment changes, and archives without a bundle. */
export const restorePage: Page = async (visit) => {
  const { envs, archives, more_archives: more } = await visit.api.restore();
  return {
    title: 'Restore',
    topics: ['backends', 'envs', 'bundles'],
    body: (now) =>
      html`<h1>Restore</h1>
        ${
          envs.length === 0
            ? emptyState('No environment is held. The same in a shell:', 'deployctl restore review')
            : html`<p class="lead">
                The store was restored. The hosts of these environments keep what they run, and get nothing else, until
                an administrator releases the environment.
              </p>`
        }
        ${envs.map((held) => heldSection(held, visit, now))} ${archiveSection(archives, more, { visit, now })}`,
  };
};

/** Links to the review, for pages that show environments. */
export function heldNotice(
  envs: readonly { name: string; held_since: string | null }[],
): TemplateResult | typeof nothing {
  const held = envs.filter(({ held_since }) => held_since !== null);
  if (held.length === 0) return nothing;
  return html`<div class="notice bad" role="status">
    <p>
      Held since a restore: ${held.map(({ name }) => name).join(', ')}. Hosts get no orders.
      <a href=${hrefOf('restore')}>Review what would change</a>
    </p>
  </div>`;
}

function heldSection(held: HeldEnv, visit: Visit, now: number): TemplateResult {
  const { env, held_since, desired_sha, desired_sequence, silent, changes: numbers } = held;
  const named = order.filter((change) => (numbers[change] ?? 0) > 0);
  return html`<section aria-labelledby=${`held-${env}`}>
    <div class="heading">
      <h2 id=${`held-${env}`}>${env}</h2>
      <div class="actions">${may(visit.caller, 'admin', env) ? releaseButton(held, visit) : nothing}</div>
    </div>
    ${facts([
      ['Held', fullTime(held_since, now)],
      [
        'Desired bundle',
        desired_sha === null ? 'none' : html`${digest(desired_sha)} sequence ${desired_sequence ?? '–'}`,
      ],
      ...named.map(
        (change) => [changes[change].name, hostsThat(numbers[change] ?? 0, ...changes[change].meaning)] as const,
      ),
      ...(silent === 0 ? [] : [['Silent', hostsThat(silent, ...silence)] as const]),
    ])}
    ${hostTable(held)}
  </section>`;
}

function hostTable({ env, hosts }: HeldEnv): TemplateResult {
  const columns: Column<HeldHost>[] = [
    { heading: 'Host', cell: ({ id, host, site }) => html`<a href=${hrefOf('backend', { id })}>${host ?? site}</a>` },
    { heading: 'Site', cell: ({ site }) => site },
    { heading: 'Change', cell: ({ change }) => toneBadge(changes[change].tone, changes[change].name) },
    { heading: 'Runs', cell: ({ applied_sha }) => digest(applied_sha) },
    { heading: 'Sequence', isNumber: true, cell: ({ applied_sequence }) => applied_sequence ?? '–' },
    { heading: 'Desired', cell: ({ desired_sha }) => digest(desired_sha) },
    { heading: 'Checked in since', cell: ({ has_checked_in }) => (has_checked_in ? 'yes' : 'no') },
  ];
  const empty = emptyState('It has no hosts.');
  return table({ caption: `Hosts of ${env}`, columns, rows: hosts, keyOf: ({ id }) => id, empty });
}

function releaseButton({ env, desired_sha, changes: numbers }: HeldEnv, { ask, api }: Visit): TemplateResult {
  const risky = order.slice(0, 3).filter((change) => (numbers[change] ?? 0) > 0);
  const release = () =>
    ask({
      title: `Release ${env}?`,
      body: html`<p>Its hosts get orders again from their next check-in on.</p>
        ${risky.map((change) => html`<p>${hostsThat(numbers[change] ?? 0, ...changes[change].meaning)}.</p>`)}`,
      confirm: 'Release',
      isDangerous: risky.length > 0,
      typed: env,
      done: `${env} is released.`,
      work: () => api.releaseEnv(env, desired_sha),
    });
  return html`<button @click=${release}>Release</button>`;
}

function archiveSection(
  archives: readonly UnknownArchive[],
  more: number,
  { visit, now }: { visit: Visit; now: number },
): TemplateResult | typeof nothing {
  if (archives.length === 0) return nothing;
  const columns: Column<UnknownArchive>[] = [
    { heading: 'Archive', cell: ({ sha256 }) => digest(sha256) },
    { heading: 'Env', cell: ({ env }) => env ?? 'unreadable' },
    { heading: 'Bundle', cell: ({ name, version }) => (name === null ? '–' : `${name} ${version}`) },
    { heading: 'Sequence', isNumber: true, cell: ({ sequence }) => sequence ?? '–' },
    { heading: 'Stored', cell: ({ stored_at }) => timeAgo(stored_at, now) },
    { heading: 'Action', cell: (archive) => adoptButton(archive, visit) },
  ];
  return html`<h2>Archives without a bundle</h2>
    <p class="hint">They were pushed after the backup. Adopt those that hosts run or that are to run.</p>
    ${table({ caption: 'Archives', columns, rows: archives, keyOf: ({ sha256 }) => sha256, empty: emptyState('') })}
    ${more === 0 ? nothing : html`<p class="hint">There are ${more} older ones.</p>`}`;
}

function adoptButton({ sha256, env, name, version }: UnknownArchive, visit: Visit): TemplateResult | typeof nothing {
  if (env === null || !may(visit.caller, 'deployer', env)) return nothing;
  const adopt = () => void visit.act(`${name} ${version} is a bundle of ${env}.`, () => visit.api.adoptArchive(sha256));
  return html`<button aria-label=${`Adopt ${name} ${version}`} @click=${adopt}>Adopt</button>`;
}
