const NEWLINE = 0x0a
const FROM = new TextEncoder().encode('From ')

/** The messages of a mailbox, without the line that begins each; `>From` in a text is `From` again. */
export function* messagesIn(bytes: Uint8Array): Generator<Uint8Array> {
  let start = -1
  let at = 0
  while (at < bytes.length) {
    const end = lineEnd(bytes, at)
    if (beginsMessage(bytes, at, end)) {
      if (start !== -1) yield unquoted(bytes.subarray(start, at))
      start = end
    }
    at = end
  }
  if (start !== -1) yield unquoted(bytes.subarray(start))
}

/** After the line feed. */
function lineEnd(bytes: Uint8Array, at: number): number {
  const end = bytes.indexOf(NEWLINE, at)
  return end === -1 ? bytes.length : end + 1
}

/** `From somebody@example.org Thu Jan  1 00:00:00 1970` after an empty line; a header follows. */
function beginsMessage(bytes: Uint8Array, at: number, end: number): boolean {
  if (!beginsWith(bytes, at, FROM) || !isAfterBlank(bytes, at)) return false
  const line = latin1(bytes.subarray(at, Math.min(end, at + 300)))
  if (!/^From .*\d/.test(line)) return false
  const next = latin1(bytes.subarray(end, Math.min(lineEnd(bytes, end), end + 300)))
  return /^(>From |[!-9;-~]+[ \t]*:)/.test(next)
}

function isAfterBlank(bytes: Uint8Array, at: number): boolean {
  if (at === 0) return true
  const before = bytes[at - 2] === 0x0d ? at - 3 : at - 2
  return before < 0 || bytes[before] === NEWLINE
}

function beginsWith(bytes: Uint8Array, at: number, begin: Uint8Array): boolean {
  return begin.every((byte, index) => bytes[at + index] === byte)
}

function latin1(bytes: Uint8Array): string {
  return new TextDecoder('latin1').decode(bytes)
}

/** Without one `>` before each `From ` that begins a line. */
function unquoted(message: Uint8Array): Uint8Array {
  const text = Buffer.from(message.buffer, message.byteOffset, message.byteLength)
  if (!text.includes('\n>From ') && !text.includes('\n>>From ')) return message
  return Buffer.from(text.toString('latin1').replace(/^>(>*From )/gm, '$1'), 'latin1')
}
