import { html } from 'lit-html';
import { digest } from '../components/digest.ts';
import { facts } from '../components/facts.ts';
import type { Page } from '../page.ts';

/** One env: what is desired of its hosts. */
export const envPage: Page = async ({ api, params: { env = '' } }) => {
  const details = await api.env(env);
  return {
    title: env,
    topics: ['envs', 'rollouts', 'bundles'],
    body: () =>
      html`<h1>${env}</h1>
        ${facts([
          ['Desired bundle', digest(details.desired_sha)],
          ['Last sequence', details.last_sequence],
        ])}`,
  };
};
