/** How a text is meant; `plain` is as it is. */
export type PaintStyle = 'plain' | 'dim' | 'red' | 'yellow' | 'green';

/** Gives a text the colour of its meaning. */
export type Paint = (style: PaintStyle, text: string) => string;

/** No colours. */
export const unpainted: Paint = (_style, text) => text;
