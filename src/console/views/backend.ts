import { html } from 'lit-html';
import { conditionBadge } from '../components/badge.ts';
import { digestChange } from '../components/digest.ts';
import { facts } from '../components/facts.ts';
import { labelList } from '../components/labels.ts';
import { fullTime } from '../components/time.ts';
import type { Page } from '../page.ts';
import { conditionOf } from '../rules/condition.ts';
import { hrefOf } from '../rules/routes.ts';

/** One host. */
export const backendPage: Page = async ({ api, params: { id = '' } }) => {
  const backend = await api.backend(id);
  return {
    title: backend.site,
    topics: ['backends'],
    body: (now) =>
      html`<h1>${backend.site}</h1>
        <p class="lead">${conditionBadge(conditionOf(backend))} ${conditionOf(backend).meaning}</p>
        ${facts([
          ['Env', html`<a href=${hrefOf('env', { env: backend.env })}>${backend.env}</a>`],
          ['Bundle', digestChange(backend.applied_sha, backend.desired_sha)],
          ['Labels', labelList(backend.labels)],
          ['Last seen', fullTime(backend.last_seen_at, now)],
          ['Id', html`<code>${backend.id}</code>`],
        ])}`,
  };
};
