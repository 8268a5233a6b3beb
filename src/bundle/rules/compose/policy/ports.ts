import { printable } from '../../../../protocol/printable.ts';
import { refuse } from './finding.ts';
import { oneOfKinds, mappingOf, listOf, textValidator, text } from './validators.ts';

/** Literal ports after an address, which no variable in the address can change. */
const portsBehindAddress = /:[\d-]+:[\d-]+(?:\/\w+)?$/;

/** A port or a range. A range must be literal: compose expands it before the rendered model can be validated. */
const portOrRange = textValidator((written, value, location) => {
  const filledIn = written.replace(/(\$\{\w+):?(\?[^}]*|[-+])/g, '$1');
  const isOpen = written.includes('$') && filledIn.includes('-') && !portsBehindAddress.test(written);
  return isOpen
    ? refuse(value, location, {
        message: `${printable(written)} has a range that must be written out`,
        cure: 'write both ports',
      })
    : [];
});

const portKeys = mappingOf({
  app_protocol: text,
  host_ip: text,
  mode: text,
  name: text,
  protocol: text,
  published: portOrRange,
  target: portOrRange,
});

/** `ports` of a service. */
export const ports = listOf(oneOfKinds({ scalar: portOrRange, map: portKeys }));

/** `expose` of a service. */
export const exposedPorts = listOf(portOrRange);
