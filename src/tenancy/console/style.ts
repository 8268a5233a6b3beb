/** Where the pages load their style from. */
export const stylePath = '/console/style.css';

/** The style of every page. */
export const style = `:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
main { max-width: 42rem; margin: 3rem auto; padding: 0 1rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.25rem 1.5rem; }
dt { font-weight: 600; }
dd { margin: 0; overflow-wrap: anywhere; }
button, .button { font: inherit; padding: 0.5rem 1rem; }
`;
