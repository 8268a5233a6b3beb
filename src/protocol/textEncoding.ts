/** What to do about a text in another encoding. */
export const saveAsUtf8 = 'save it as UTF-8';

/** In which encoding a text is, which was decoded as UTF-8; null where nothing contradicts UTF-8. */
export function encodingFault(text: string): string | null {
  if (/^(\ufffd\ufffd\0\0|\0\0\ufffd\ufffd|[^\0]\0\0\0[^\0]\0\0\0|\0\0\0[^\0]\0\0\0[^\0])/.test(text))
    return 'is UTF-32';
  if (/^(\ufffd\ufffd[^]?\0|[^\0]\0[^\0]\0|\0[^\0]\0[^\0])/.test(text)) return 'is UTF-16';
  return text.includes('\ufffd') ? 'is not UTF-8' : null;
}
