/** Length in UTF-8. */
export function byteSize(text: string): number {
  return Buffer.byteLength(text, 'utf8')
}

/** The first `chars` code units, one less where that would cut a character in two. */
export function firstChars(text: string, chars: number): string {
  return text.slice(0, chars).toWellFormed() === text.slice(0, chars)
    ? text.slice(0, chars)
    : text.slice(0, chars - 1)
}

/**
 * The longest beginning of a text that has at most `bytesMax` bytes in UTF-8 and ends with a whole
 * character.
 */
export function firstBytes(text: string, bytesMax: number): string {
  if (byteSize(text) <= bytesMax) return text
  const room = new Uint8Array(bytesMax)
  const { read } = new TextEncoder().encodeInto(text, room)
  return text.slice(0, read)
}
