import type { RawDocument, ReadDocument } from '../../core/domain/ports/reading-ports.ts'
import { wholeDocument } from '../document-format.ts'
import { decodeText } from '../text-encoding.ts'

const TIMING = /^(\d+:)?\d+:\d\d[.,]\d+[ \t]*-->/

/** What is said (SRT, WebVTT), without numbers, times and tags; a line for each cue. */
export function* readSubtitles({ bytes, charset }: RawDocument): Generator<ReadDocument> {
  const cues = decodeText(bytes, charset).split(/\n[ \t]*\n/)
  const lines = cues.flatMap((cue) => {
    const rows = cue.split('\n')
    const timing = rows.findIndex((row) => TIMING.test(row.trim()))
    if (timing === -1) return []
    const said = rows.slice(timing + 1).join(' ')
    return [
      said
        .replace(/<[^>]{0,200}>|\{\\[^}]{0,200}\}/g, '')
        .replace(/\s+/g, ' ')
        .trim(),
    ]
  })
  const content = lines.filter((line) => line !== '').join('\n')
  yield wholeDocument({ content, title: null, syntax: 'text' })
}
