/**
 * Bytes as text, by the first of these that holds: a byte order mark, the encoding that was declared, UTF-8 without an
 * error, windows-1252 (which has none). Line ends become `\n`.
 */
export function decodeText(bytes: Uint8Array, declared: string | null): string {
  const text = markedText(bytes) ?? declaredText(bytes, declared) ?? guessedText(bytes)
  return text.replaceAll('\r\n', '\n').toWellFormed()
}

function markedText(bytes: Uint8Array): string | null {
  const [first, second, third] = bytes
  if (first === 0xef && second === 0xbb && third === 0xbf) return decoded(bytes, 'utf-8')
  if (first === 0xff && second === 0xfe) return decoded(bytes, 'utf-16le')
  if (first === 0xfe && second === 0xff) return decoded(bytes, 'utf-16be')
  return null
}

/** null: no encoding has that name, or it is UTF-8, which is tried next. */
function declaredText(bytes: Uint8Array, name: string | null): string | null {
  if (name === null) return null
  try {
    const decoder = new TextDecoder(name)
    return decoder.encoding === 'utf-8' ? null : decoder.decode(bytes)
  } catch {
    return null
  }
}

function guessedText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return decoded(bytes, 'windows-1252')
  }
}

function decoded(bytes: Uint8Array, encoding: Bun.Encoding): string {
  return new TextDecoder(encoding).decode(bytes)
}
